"""The braced body that dagitty text and DOT share: an optional name, then statements until the closing brace."""

from __future__ import annotations

from typing import TYPE_CHECKING

from butfor.graphs.admg import Graph
from butfor.graphs.draft import Draft

if TYPE_CHECKING:
    from collections.abc import Callable

    from butfor.graphs.formats.tokens import Tokens


def read_body(tokens: Tokens, statement: Callable[[Tokens, Draft], None]) -> Graph:
    """Read ``name { statements }`` to the end of the text; a semicolon alone is an empty statement.

    Raises:
        InputError: Something else stands there, or the statements make no ADMG.
    """
    if tokens.next.kind in {"word", "text"}:
        tokens.take()
    tokens.expect("{")
    draft = Draft(declare_all=False)
    while not tokens.take_mark("}"):
        if not tokens.take_mark(";"):
            statement(tokens, draft)
    if tokens.next.kind != "end":
        raise tokens.wrong("the end of the text")
    return Graph.built(draft)
