"""Dagitty text and DOT have one body: what is told of one is told of the other."""

import pytest

from butfor.errors import InputError
from butfor.graphs import Graph, read_dagitty, read_dot

READERS = [(read_dagitty, "dag"), (read_dot, "digraph")]


@pytest.mark.parametrize(("read", "word"), READERS, ids=["dagitty", "dot"])
@pytest.mark.parametrize("body", ["{ T -> Y }", "g { T -> Y }", '"a name" {;; T -> Y; ; }'])
def test_a_name_and_empty_statements_change_nothing(read, word, body):
    assert read(f"{word} {body}") == Graph.of(directed=[("T", "Y")])


@pytest.mark.parametrize(("read", "word"), READERS, ids=["dagitty", "dot"])
@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ("{ T -> Y } more", "expected the end of the text"),
        ("T -> Y }", r"expected '{'"),
        ("{ T -> Y", "found the end of the text"),
    ],
)
def test_a_body_that_does_not_end_or_goes_on_is_refused(read, word, body, expected):
    with pytest.raises(InputError, match=expected):
        read(f"{word} {body}")
