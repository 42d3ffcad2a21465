"""Every example in the pages on graphs and identification runs, and every file in them reads."""

import re
from pathlib import Path

import pytest

from butfor.graphs import read

DOCS = Path(__file__).parents[2] / "docs"
PAGES = ("graphs.md", "identification.md")


def blocks(page, language):
    return re.findall(rf"```{language}\n(.*?)```", (DOCS / page).read_text(encoding="utf-8"), re.DOTALL)


@pytest.mark.parametrize("page", PAGES)
def test_the_python_of_a_page_runs_from_top_to_bottom(page):
    scope: dict[str, object] = {}
    for block in blocks(page, "python"):
        exec(compile(block, page, "exec"), scope)  # our own page


def test_the_graph_files_of_the_page_say_the_same():
    (yaml_text,) = blocks("graphs.md", "yaml")
    dagitty, dot, _ = blocks("graphs.md", "text")
    assert read(yaml_text) == read(dagitty)
    assert set(read(dot).names) == {"restart", "errors", "load"}


@pytest.mark.parametrize("page", PAGES)
def test_the_tables_name_files_that_exist(page):
    root = DOCS.parent
    for path in re.findall(r"`((?:graphs|identification)/\w+\.py)`", (DOCS / page).read_text(encoding="utf-8")):
        assert (root / "src/butfor" / path).exists(), path
    for path in re.findall(r"`((?:unit|property)/[\w/]+\.py)`", (DOCS / page).read_text(encoding="utf-8")):
        assert (root / "tests" / path).exists(), path
