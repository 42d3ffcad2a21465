"""The page of the command line is what the command line says."""

from pathlib import Path

from butfor.cli.help_pages import pages
from butfor.cli.main import EXIT_CODES, VERBS

PAGE = Path(__file__).parents[2] / "docs" / "cli.md"


def test_the_page_is_current():
    assert PAGE.read_text(encoding="utf-8") == pages(), "`make docs` writes the page again"


def test_the_page_has_every_verb_and_the_exit_codes():
    page = pages()
    for verb in VERBS:
        assert f"## `butfor {verb}`" in page
    assert " ".join(EXIT_CODES.split()) in " ".join(page.split())


def test_the_page_does_not_depend_on_the_terminal(monkeypatch):
    first = pages()
    monkeypatch.setenv("COLUMNS", "40")
    assert pages() == first
