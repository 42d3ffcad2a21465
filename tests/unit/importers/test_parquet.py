"""Parquet rows are the rows of the JSON Lines export."""

import importlib
import json
from pathlib import Path
from typing import Any

import pytest

from butfor import importers
from butfor.errors import InputError

ROWS = Path(__file__).parents[2] / "golden" / "importers" / "inputs" / "langfuse_export.jsonl"


def test_without_pyarrow_the_message_says_what_to_do():
    try:
        importlib.import_module("pyarrow")
    except ImportError:
        with pytest.raises(InputError, match="pip install pyarrow, or export"):
            importers.import_input(importers.from_bytes(b"PAR1....", "t"))
    else:
        with pytest.raises(InputError, match="cut off or damaged"):
            importers.import_input(importers.from_bytes(b"PAR1....", "t"))


def test_a_table_is_the_same_run(tmp_path):
    pyarrow: Any = pytest.importorskip("pyarrow", reason="needs pyarrow, which is not in the lock: pip install pyarrow")
    parquet: Any = importlib.import_module("pyarrow.parquet")
    rows = [json.loads(line) for line in ROWS.read_text().splitlines()]
    keys = sorted({key for row in rows for key in row})
    texts = [{key: row.get(key) for key in keys} for row in rows]
    packed = [
        {key: json.dumps(value) if isinstance(value, dict | list) else value for key, value in row.items()}
        for row in texts
    ]
    path = tmp_path / "rows.parquet"
    parquet.write_table(pyarrow.Table.from_pylist(packed), path)

    def steps(file: Path) -> list[Any]:
        return [
            step.model_copy(update={"source": None}) for run in importers.import_file(file).runs for step in run.steps
        ]

    assert steps(path) == steps(ROWS)
