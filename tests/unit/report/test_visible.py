"""Text of a trace, shown and not obeyed."""

import pytest

from butfor.report.visible import compact, cut, one_line, readable, visible
from butfor.runs import Value


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("\x1b[2J", r"\x1b[2J"),
        ("a\u202eb", r"a\u202eb"),
        ("\ud800", r"\ud800"),
        ("\U000e0041", r"\U000e0041"),
        ("a\u200bb", r"a\u200bb"),
        ("one\r\ntwo\tthree", "one\ntwo\tthree"),
        ("overwrites\rthis", r"overwrites\x0dthis"),
        ("naïve 漢字 α − 🙂", "naïve 漢字 α − 🙂"),
    ],
)
def test_acting_characters_are_written_out(text, shown):
    assert shown == visible(text)
    assert shown == visible(visible(text))


def test_a_long_text_says_how_much_is_left_out():
    assert "[… 900 characters left out …]" in cut("x" * 1000, 100)
    assert cut("x" * 100, 100) == "x" * 100


def test_one_line_has_no_break_and_no_more_than_its_limit():
    assert one_line("a\n\n b", 10) == "a b"
    assert len(one_line("x" * 50, 10)) == 10


def test_values_that_json_cannot_print_are_shown():
    deep: object = 1
    for _ in range(5000):
        deep = [deep]
    assert readable(Value.of(deep)).startswith("[[[[")
    assert "NaN" in readable(Value.of(float("nan")))
    assert compact(Value.of({"a": 1}), 20) == '{"a": 1}'
