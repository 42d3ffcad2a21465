"""The page on repair runs as it is printed, and names tests that exist."""

import re
import shlex
from pathlib import Path

from butfor.cli.repair import command

PAGE = Path(__file__).parents[2] / "docs" / "repair.md"
TEXT = PAGE.read_text(encoding="utf-8")


def test_every_block_runs(capsys):
    blocks = re.findall(r"```python\n(.*?)```", TEXT, re.DOTALL)
    assert len(blocks) == 2
    names: dict[str, object] = {}
    for block in blocks:
        exec(compile(block, str(PAGE), "exec"), names)
    printed = capsys.readouterr().out
    assert "Step 1 is repaired" in printed
    assert "Rescued at step" in printed


def test_every_test_it_names_exists():
    named = re.findall(r"`(tests/[\w/]+\.py)`", TEXT)
    assert len(named) >= 8
    for path in named:
        assert (PAGE.parents[1] / path).exists(), path


def test_every_option_it_names_exists():
    options = {option for parameter in command.params for option in parameter.opts}
    for named in re.findall(r"`(--[\w-]+)", TEXT):
        assert named in options, named
    for line in re.findall(r"^butfor repair (.*)$", TEXT, re.MULTILINE):
        assert {word for word in shlex.split(line) if word.startswith("--")} <= options
