"""The page on importing runs as it is printed, and names what there is."""

import re
from pathlib import Path

from butfor.importers import FORMATS

PAGE = Path(__file__).parents[2] / "docs" / "how-do-i-use-the-traces-i-have.md"
TEXT = PAGE.read_text(encoding="utf-8")


def test_every_block_runs():
    blocks = re.findall(r"```python\n(.*?)```", TEXT, re.DOTALL)
    assert len(blocks) == 1
    for block in blocks:
        exec(compile(block, str(PAGE), "exec"), {})


def test_every_format_is_in_the_table():
    table = TEXT.split("## What can be read")[1].split("##")[0]
    rows = [line for line in table.splitlines() if line.startswith("| `")]
    assert set(re.findall(r"`(\w+)`", " ".join(row.split("|")[1] for row in rows))) == set(FORMATS)


def test_every_option_it_shows_exists():
    from butfor.cli import attribute, import_

    known = {
        option for command in (import_.command, attribute.command) for each in command.params for option in each.opts
    }
    assert set(re.findall(r"--[a-z][a-z-]+", TEXT)) <= known
