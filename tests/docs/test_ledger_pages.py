"""Every example in the pages on the ledger runs, and what they name exists."""

import re
from pathlib import Path

import click
import pytest

from butfor.cli.main import cli

DOCS = Path(__file__).parents[2] / "docs"
PAGES = ("ledger.md", "error-budget.md")


@pytest.mark.parametrize("page", PAGES)
def test_the_python_of_a_page_runs_from_top_to_bottom(page):
    scope: dict[str, object] = {}
    blocks = re.findall(r"```python\n(.*?)```", (DOCS / page).read_text(encoding="utf-8"), re.DOTALL)
    assert blocks
    for block in blocks:
        exec(compile(block, page, "exec"), scope)  # our own page


@pytest.mark.parametrize("page", PAGES)
def test_a_page_names_only_what_exists(page):
    text = (DOCS / page).read_text(encoding="utf-8")
    for path in re.findall(r"`(tests/[\w/]+\.py)`", text):
        assert (DOCS.parent / path).exists(), path
    for path in re.findall(r"\]\(([\w-]+\.md)\)", text):
        assert (DOCS / path).exists(), path


@pytest.mark.parametrize("page", PAGES)
def test_every_command_of_a_page_is_one(page):
    lines = re.findall(r"^butfor (.*)$", (DOCS / page).read_text(encoding="utf-8"), re.MULTILINE)
    assert lines
    for line in lines:
        command: click.Command = cli
        known: set[str] = set()
        for word in line.split():
            inner = command.get_command(click.Context(command), word) if isinstance(command, click.Group) else None
            command = inner or command
            known |= {option for each in command.params for option in (*each.opts, *each.secondary_opts)}
            assert not word.startswith("--") or word in known, f"{page}: {line}: {word}"
