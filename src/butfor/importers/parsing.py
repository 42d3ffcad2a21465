"""JSON from strangers: bounded in depth, told apart from what is not JSON."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from butfor.canonical import Json

DEPTH = 200
"""Deepest nesting that is read; the deepest trace in our samples has 20 levels, text inside strings included."""

_STRING = re.compile(rb'"(?:[^"\\]|\\.)*"', re.DOTALL)
_NOT_BRACKETS = bytes(set(range(256)) - set(b"[]{}"))


def parse(text: bytes) -> Json:
    """Read one JSON value.

    Raises:
        ValueError: The text is not JSON, or nested deeper than `DEPTH`; the message says which and where.
    """
    if text.count(b"[") + text.count(b"{") > DEPTH and _is_deep(text):
        raise ValueError(f"nested deeper than {DEPTH} levels")
    try:
        return json.loads(text)
    except RecursionError:
        raise ValueError(f"nested deeper than {DEPTH} levels") from None
    except UnicodeDecodeError as error:
        raise ValueError(f"not UTF-8 at byte {error.start + 1}") from None
    except json.JSONDecodeError as error:
        ended = error.pos >= len(error.doc.rstrip()) or error.msg.startswith("Unterminated string")
        what = "cut off" if ended else f"not JSON at character {error.pos + 1}"
        raise ValueError(f"{what} ({error.msg})") from None


def _is_deep(text: bytes) -> bool:
    """Say whether brackets nest deeper than `DEPTH`, by taking away innermost pairs (in C)."""
    brackets = _STRING.sub(b"", text).translate(None, _NOT_BRACKETS)
    for _ in range(DEPTH):
        if not brackets:
            return False
        inner = brackets.replace(b"[]", b"").replace(b"{}", b"")
        if inner == brackets:  # unbalanced: the parser says where, unless what is left is deep in itself
            return max(brackets.count(b"["), brackets.count(b"{")) > DEPTH
        brackets = inner
    return bool(brackets)


def unpacked(value: Json) -> Json:
    """Return what a string of JSON says where it is an object or list, else the value itself."""
    if not isinstance(value, str) or value.lstrip()[:1] not in ("{", "["):
        return value
    try:
        return parse(value.encode("utf-8", "surrogatepass"))
    except ValueError:
        return value
