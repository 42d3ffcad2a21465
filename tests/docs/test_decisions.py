"""Every decision has its date, so that a reader can tell what it knew."""

import re
from pathlib import Path

PAGE = Path(__file__).parents[2] / "docs" / "design" / "decisions.md"


def test_every_decision_is_dated():
    headings = re.findall(r"^## (.*)$", PAGE.read_text(encoding="utf-8"), re.MULTILINE)
    assert headings
    assert [each for each in headings if not re.match(r"\d{4}-\d\d-\d\d · ", each)] == []
