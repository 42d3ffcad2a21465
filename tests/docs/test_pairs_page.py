"""The page on pairs and skills runs as it is printed, and names options and tests that exist."""

import re
from pathlib import Path

from butfor.cli import pairs, skills
from butfor.cli.pairs import FORMATS

PAGE = Path(__file__).parents[2] / "docs" / "pairs-and-skills.md"
TEXT = PAGE.read_text(encoding="utf-8")


def test_every_block_runs(capsys):
    (block,) = re.findall(r"```python\n(.*?)```", TEXT, re.DOTALL)
    exec(compile(block, str(PAGE), "exec"), {})
    assert capsys.readouterr().out == "no pair: no repair is stored\n"


def test_every_test_it_names_exists():
    named = re.findall(r"`(tests/[\w/]+\.py)`", TEXT)
    assert len(named) >= 8
    for path in named:
        assert (PAGE.parents[1] / path).exists(), path


def test_every_option_and_format_it_names_exists():
    commands = [pairs.export, pairs.check, skills.command]
    known = {option for command in commands for parameter in command.params for option in parameter.opts}
    for line in re.findall(r"^butfor (?:pairs|skills)(.*)$", TEXT, re.MULTILINE):
        assert set(re.findall(r"--[\w-]+", line)) <= known, line
    for named in re.findall(r"`(--[\w-]+)`", TEXT):
        assert named in known, named
    assert re.findall(r"^\| `([a-z][\w-]*)` \|", TEXT, re.MULTILINE) == list(FORMATS)
