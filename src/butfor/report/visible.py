"""Trace text made fit to be shown: what would act on a page or a terminal is written out instead."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING

from butfor import canonical

if TYPE_CHECKING:
    from butfor.canonical import Json
    from butfor.runs import Value

LONGEST = 20_000
"""Characters of one text that a page shows; what is longer is cut, and the cut says how much is missing."""

# Control characters move a terminal's cursor or recolour it, direction marks reorder what a reader sees
# ("Trojan Source", arXiv 2111.00169), zero-width and tag characters hide words in plain sight from the reader but not
# from the model, and half a surrogate pair cannot be written to a file.
_ACTING = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u00ad\u061c\u180e\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb"
    "\ud800-\udfff\U000e0000-\U000e007f]"
)


def visible(text: str) -> str:
    r"""Write out every character that acts or hides instead of showing, such as ``\x1b`` or ``\u202e``."""
    return _ACTING.sub(_written, text.replace("\r\n", "\n"))


def _written(match: re.Match[str]) -> str:
    code = ord(match[0])
    return f"\\x{code:02x}" if code < 0x100 else f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"


def cut(text: str, limit: int = LONGEST) -> str:
    """Shorten a text in the middle, saying how many characters are left out."""
    if len(text) <= limit:
        return text
    head = limit * 2 // 3
    tail = limit - head
    return f"{text[:head]}\n[… {len(text) - limit:,} characters left out …]\n{text[-tail:]}"


def one_line(text: str, limit: int) -> str:
    """Show a text on one line of at most `limit` characters."""
    line = " ".join(visible(text[: 4 * limit + 200]).split())
    return line if len(line) <= limit else line[: limit - 1] + "…"


def readable(value: Value) -> str:
    """Show a JSON value: a string as itself, anything else as indented JSON."""
    return readable_json(value.get())


def readable_json(value: Json, *, indent: int | None = 2) -> str:
    """Show a JSON value that is already read."""
    if isinstance(value, str):
        return visible(value)
    try:
        text = json.dumps(value, indent=indent, ensure_ascii=False, default=repr)
    except (RecursionError, TypeError, ValueError):
        # Too deep for the printer, or keys that are no strings: shown as it is kept.
        text = canonical.encode_exact(value)
    return visible(text)


def compact(value: Value, limit: int) -> str:
    """Show a JSON value on one line."""
    return one_line(readable_json(value.get(), indent=None), limit)
