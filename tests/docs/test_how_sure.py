"""The page on confidence runs as it is printed."""

import re
from pathlib import Path

PAGE = Path(__file__).parents[2] / "docs" / "how-sure-is-how-sure.md"


def test_every_block_runs():
    blocks = re.findall(r"```python\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL)
    assert len(blocks) == 3
    names: dict[str, object] = {}
    for block in blocks:
        exec(compile(block, str(PAGE), "exec"), names)


def test_every_test_it_names_exists():
    for path in re.findall(r"`(tests/[\w/]+\.py)`", PAGE.read_text(encoding="utf-8")):
        assert (PAGE.parents[1] / path).exists(), path
