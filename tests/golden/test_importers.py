"""Every format and dialect against a run that was read by eye once.

After a wanted change: ``BUTFOR_UPDATE_GOLDEN=1 pytest tests/golden/test_importers.py``, then read the difference.
"""

import os
from pathlib import Path

import pytest

from butfor import importers, runs

HERE = Path(__file__).parent / "importers"
INPUTS = sorted((HERE / "inputs").iterdir())


def imported(path: Path) -> str:
    """Return the runs of a file as JSON Lines; what was counted is part of their provenance."""
    opened = importers.import_input(importers.from_bytes(path.read_bytes(), path.name))
    return "".join(runs.to_text(run) + "\n" for run in opened.runs)


@pytest.mark.parametrize("path", INPUTS, ids=lambda path: path.name)
def test_a_format_is_read_as_it_was(path):
    expected = HERE / "runs" / f"{path.name}.jsonl"
    text = imported(path)
    if os.environ.get("BUTFOR_UPDATE_GOLDEN"):
        expected.write_text(text, encoding="utf-8")
    assert text == expected.read_text(encoding="utf-8")


def test_every_format_has_a_golden_file():
    read = {importers.import_input(importers.from_bytes(path.read_bytes(), path.name)).format for path in INPUTS}
    assert read == set(importers.FORMATS)
