"""Where a value, or a text, is not JSON that can be signed. Only who refused something asks, so it may be slow."""

from __future__ import annotations

import math
import re
from json.decoder import scanstring  # type: ignore[attr-defined]
from typing import TYPE_CHECKING, Any

from butfor.errors import InputError

if TYPE_CHECKING:
    from butfor.canonical import Json

SAFE = (1 << 53) - 1
"""The largest integer such that it and its neighbours are different doubles."""
MOST_DEEP = 100
"""Arrays and objects inside one another."""

Fault = tuple[str, str, str]
"""JSON path, what is wrong, what to do."""

_SPACE = re.compile(r"[ \t\n\r]*")
_NUMBER = re.compile(r"-?(?:0|[1-9]\d*)(\.\d+)?([eE][-+]?\d+)?")
_WORDS = {"true": True, "false": False, "null": None}


def value_fault(value: Json) -> Fault:
    """Return the first fault of a value, in depth-first order."""
    stack: list[tuple[str, Json, int]] = [("$", value, 0)]
    while stack:
        path, node, depth = stack.pop()
        if isinstance(node, dict | list | tuple):
            if depth >= MOST_DEEP:
                return path, f"it is nested more than {MOST_DEEP} deep", "flatten it, or give it as text"
            if isinstance(node, dict):
                for key in node:
                    fault = _key_fault(key)
                    if fault is not None:
                        return path, *fault
                inside = [(f"{path}.{key}", item, depth + 1) for key, item in node.items()]
            else:
                inside = [(f"{path}[{i}]", item, depth + 1) for i, item in enumerate(node)]
            stack.extend(reversed(inside))
            continue
        fault = _leaf_fault(node)
        if fault is not None:
            return path, *fault
    return "$", "it has no canonical JSON form", "give plain JSON values"


def _key_fault(key: object) -> tuple[str, str] | None:
    if not isinstance(key, str):
        return f"the key {key!r} is not text", "write it as text, since JSON has no other keys"
    return ("a key has half a surrogate pair", "mend the text") if _is_broken(key) else None


def _leaf_fault(node: object) -> tuple[str, str] | None:
    if node is None or isinstance(node, bool):
        return None
    if isinstance(node, str):
        return ("the text has half a surrogate pair", "mend the text") if _is_broken(node) else None
    if isinstance(node, int | float):
        return _number_fault(node)
    return f"a {type(node).__name__} has no JSON form", "give plain JSON values"


def _number_fault(value: float) -> tuple[str, str] | None:
    if isinstance(value, float):
        if not math.isfinite(value):
            return f"{value!r} is not a JSON number", "leave the field out, or give it as text"
        if abs(value) >= 1e21:
            return None
    if not -SAFE <= value <= SAFE:
        return "a whole number beyond ±(2^53 − 1) shares its double with others", "give it as text"
    return None


def _is_broken(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:
        return True
    return False


def reading_fault(data: bytes) -> InputError:
    """Say where text is not JSON that can be signed: line, column and path of the first fault."""
    try:
        text = data.decode()
    except UnicodeDecodeError as error:
        return InputError("the bytes are not UTF-8", where=f"byte {error.start}", fix="write JSON as UTF-8")
    reader = _Reader(text)
    try:
        reader.document()
    except _Found as found:
        line = text.count("\n", 0, found.position) + 1
        column = found.position - text.rfind("\n", 0, found.position)
        where = f"line {line}, column {column}, {found.path}"
        return InputError(found.what, where=where, fix=found.fix)
    return InputError("the text is not JSON", fix="write JSON as RFC 8259 has it")


class _Found(Exception):
    def __init__(self, position: int, path: str, what: str, fix: str = "mend it there") -> None:
        self.position, self.path, self.what, self.fix = position, path, what, fix
        super().__init__(what)


class _Reader:
    """A JSON reader that keeps the place; its depth is bounded, so it may recurse."""

    def __init__(self, text: str) -> None:
        self.text = text

    def document(self) -> None:
        end = self.space(self.value(self.space(0), "$", 0))
        if end < len(self.text):
            raise _Found(end, "$", "something follows the JSON value")

    def space(self, i: int) -> int:
        found = _SPACE.match(self.text, i)
        assert found is not None
        return found.end()

    def value(self, i: int, path: str, depth: int) -> int:
        first = self.text[i : i + 1]
        if first in ("{", "["):
            if depth >= MOST_DEEP:
                raise _Found(i, path, f"it is nested more than {MOST_DEEP} deep", "flatten it, or give it as text")
            inside = self.members if first == "{" else self.elements
            return inside(self.space(i + 1), path, depth + 1)
        if first == '"':
            return self.string(i, path)[1]
        for word in _WORDS:
            if self.text.startswith(word, i):
                return i + len(word)
        return self.number(i, path)

    def members(self, i: int, path: str, depth: int) -> int:
        if self.text[i : i + 1] == "}":
            return i + 1
        keys: set[str] = set()
        while True:
            if self.text[i : i + 1] != '"':
                raise _Found(i, path, "a key in quotes is expected")
            key, end = self.string(i, path)
            if key in keys:
                raise _Found(i, f"{path}.{key}", f"the key {key!r} is there twice", "keep one of the two")
            keys.add(key)
            i = self.space(end)
            if self.text[i : i + 1] != ":":
                raise _Found(i, f"{path}.{key}", "a colon is expected")
            i = self.space(self.value(self.space(i + 1), f"{path}.{key}", depth))
            if self.text[i : i + 1] == "}":
                return i + 1
            i = self.comma(i, path)

    def elements(self, i: int, path: str, depth: int) -> int:
        if self.text[i : i + 1] == "]":
            return i + 1
        place = 0
        while True:
            i = self.space(self.value(i, f"{path}[{place}]", depth))
            if self.text[i : i + 1] == "]":
                return i + 1
            i, place = self.comma(i, path), place + 1

    def comma(self, i: int, path: str) -> int:
        if self.text[i : i + 1] != ",":
            raise _Found(i, path, "a comma or the end is expected")
        return self.space(i + 1)

    def string(self, i: int, path: str) -> tuple[str, int]:
        try:
            found: tuple[str, int] = scanstring(self.text, i + 1, True)
        except ValueError as error:
            raise _Found(getattr(error, "pos", i), path, f"the text is malformed ({_reason(error)})") from None
        if _is_broken(found[0]):
            raise _Found(i, path, "the text has half a surrogate pair", "mend the text")
        return found

    def number(self, i: int, path: str) -> int:
        found = _NUMBER.match(self.text, i)
        if found is None:
            raise _Found(i, path, "a JSON value is expected")
        digits = found.group()
        is_float = found.group(1) or found.group(2)
        # Python refuses to read integers of more than 4,300 digits; 400 are far outside already.
        fault = _number_fault(float(digits) if is_float or len(digits) > 400 else int(digits))
        if fault is not None:
            raise _Found(i, path, *fault)
        return found.end()


def _reason(error: Any) -> str:
    return str(getattr(error, "msg", error)).lower()
