"""Every example in the pages on evidence runs, and every file in them exists."""

import re
from pathlib import Path

import pytest

DOCS = Path(__file__).parents[2] / "docs"
PAGES = (
    "evidence.md",
    "what-if-a-cause-is-hidden.md",
    "real-tables.md",
    *(f"real-tables/{name}.md" for name in ("lalonde", "acic-2016", "nhefs", "open-bandit")),
)


@pytest.mark.parametrize("page", PAGES)
def test_the_python_of_a_page_runs_from_top_to_bottom(page):
    scope: dict[str, object] = {}
    for block in re.findall(r"```python\n(.*?)```", (DOCS / page).read_text(encoding="utf-8"), re.DOTALL):
        exec(compile(block, page, "exec"), scope)  # our own page


@pytest.mark.parametrize("page", PAGES)
def test_a_page_names_only_what_exists(page):
    text = (DOCS / page).read_text(encoding="utf-8")
    for path in re.findall(r"`((?:estimation|benchmarks)/\w+\.py)`", text):
        assert (DOCS.parent / "src/butfor" / path).exists(), path
    for path in re.findall(r"\]\(([\w/-]+\.(?:md|svg))\)", text):
        assert (DOCS / page).parent.joinpath(path).exists(), path
