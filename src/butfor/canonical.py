"""JSON text that loses nothing, and tagged hashes of it.

Two forms of one value:

* `encode` keeps the order of keys, so that an agent that prints a served dictionary prints what it printed before.
* `canonical` sorts keys, so that equal values have equal text and `digest` names a value.

Both are ASCII. What JSON cannot say is written as an object with one reserved key::

    {"$float": "nan"}   {"$int": "0x…"} (beyond Python's decimal limit)   {"$bytes": "base64"}
    {"$tuple": […]}     {"$map": [[key, value], …]} (keys that are not strings)
    {"$esc": {…}}       an object of the user's that has a reserved key itself

The C encoder and decoder of the standard library do the ordinary work; the iterative ones below take over for the
reserved forms and for nesting beyond the recursion limit.
"""

from __future__ import annotations

import base64
import json
import math
import re
from hashlib import sha256
from json.encoder import c_make_encoder, encode_basestring_ascii  # type: ignore[attr-defined]
from typing import TYPE_CHECKING, Any, TypeAlias

from butfor.errors import CorruptRecord, NotRecordable

if TYPE_CHECKING:
    from collections.abc import Callable

Json: TypeAlias = Any
"""Any JSON value: None, bool, int, float, str, list or dict with string keys."""

SCHEME = "sha256"

_RESERVED = frozenset({"$float", "$int", "$bytes", "$tuple", "$map", "$esc"})
_MARK = '"$'
# Python refuses to print integers of more than 4,300 digits; far below it, decimal is still the readable form.
_DECIMAL_BITS = 4096


def _encoder(*, sort: bool) -> Callable[[Json], str]:
    plain = json.JSONEncoder(allow_nan=False, separators=(",", ":"), sort_keys=sort)
    if c_make_encoder is None:
        return plain.encode
    # JSONEncoder.encode builds its C encoder anew at each call, which costs more than encoding a small request. This
    # one looks for no cycles: they end in RecursionError, and the slow encoder then names them.
    chunks = c_make_encoder(
        None, plain.default, encode_basestring_ascii, None, ":", ",", sort, plain.skipkeys, plain.allow_nan
    )
    return lambda value: "".join(chunks(value, 0))


quote: Callable[[str], str] = encode_basestring_ascii
"""Writes one string; `encode` gives the same text."""

_ordered = _encoder(sort=False)
_sorted = _encoder(sort=True)


def encode(value: Json) -> str:
    """Write a value as JSON text, keys in their own order.

    Tuples and non-string keys are written as JSON would (a list, the key's text); `encode_exact` keeps them.

    Raises:
        NotRecordable: The value has no JSON form.
    """
    try:
        text = _ordered(value)
    except (ValueError, RecursionError, TypeError):
        return _encode_slowly(value, sort=False)
    return text if _MARK not in text else _encode_slowly(value, sort=False)


def encode_exact(value: Json) -> str:
    """Write a value so that `decode` gives back an equal one, tuples and non-string keys included.

    Raises:
        NotRecordable: The value has no JSON form.
    """
    text = encode(value)
    try:
        same = bool(decode(text) == value)
    except Exception:  # noqa: BLE001  a user's __eq__ may raise anything; the slow path then decides by type
        same = False
    return text if same else _encode_slowly(value, sort=False)


def encode_and_copy(value: Json) -> tuple[str, Json]:
    """Write a value like `encode_exact`, and return with the text the fresh value that `decode` would read from it.

    Raises:
        NotRecordable: The value has no JSON form.
    """
    # Immutable scalars are their own copy; a bool is an int, and NaN and huge integers take the long way.
    if value is None or (type(value) is str and _MARK[1] not in value):
        return _ordered(value), value
    text = encode(value)
    copy = decode(text)
    try:
        same = bool(copy == value)
    except Exception:  # noqa: BLE001  a user's __eq__ may raise anything; the slow path then decides by type
        same = False
    if same:
        return text, copy
    text = _encode_slowly(value, sort=False)
    return text, decode(text)


def canonical(value: Json) -> str:
    """Write a value as JSON text with sorted keys: equal values, equal text.

    Raises:
        NotRecordable: The value has no JSON form.
    """
    try:
        text = _sorted(value)
    except (ValueError, RecursionError, TypeError):
        return _encode_slowly(value, sort=True)
    return text if _MARK not in text else _encode_slowly(value, sort=True)


def decode(text: str | bytes) -> Json:
    """Read what `encode`, `encode_exact` or `canonical` wrote.

    Raises:
        CorruptRecord: The text is not JSON, or a reserved form in it is malformed.
    """
    if isinstance(text, bytes):
        try:
            text = text.decode("utf-8")
        except UnicodeDecodeError as error:
            raise CorruptRecord("stored text is not UTF-8", where=f"byte {error.start}") from None
    try:
        value = json.loads(text)
    except RecursionError:
        value = _parse_deep(text)
    except ValueError as error:
        raise CorruptRecord(f"stored text is not JSON ({error})") from None
    return _untag(value) if _MARK in text else value


def digest_text(text: str | bytes) -> str:
    """Return the tagged SHA-256 of text: ``sha256:`` and 64 hexadecimal digits."""
    return f"{SCHEME}:{sha256(text.encode('utf-8') if isinstance(text, str) else text).hexdigest()}"


def digest(value: Json) -> str:
    """Return the tagged SHA-256 of a value's canonical text."""
    return digest_text(canonical(value))


def first_difference(a: Json, b: Json) -> tuple[str, Json, Json] | None:
    """Find the first place where two values differ.

    Returns:
        (JSON path, value in a, value in b), or None where they are equal. A key or element on one side only shows
        as `MISSING` on the other.
    """
    stack: list[tuple[str, Json, Json]] = [("$", a, b)]
    while stack:
        path, left, right = stack.pop()
        if isinstance(left, dict) and isinstance(right, dict):
            keys = [*left, *(key for key in right if key not in left)]
            stack.extend((f"{path}.{key}", left.get(key, MISSING), right.get(key, MISSING)) for key in reversed(keys))
        elif isinstance(left, list | tuple) and type(left) is type(right):
            longest = max(len(left), len(right))
            stack.extend(
                (
                    f"{path}[{i}]",
                    left[i] if i < len(left) else MISSING,
                    right[i] if i < len(right) else MISSING,
                )
                for i in reversed(range(longest))
            )
        elif not _same_leaf(left, right):
            return path, left, right
    return None


class _Missing:
    def __repr__(self) -> str:
        return "(absent)"


MISSING = _Missing()
"""Stands for a key or element that one side does not have."""


def _same_leaf(left: Json, right: Json) -> bool:
    if type(left) is not type(right):
        return False
    if isinstance(left, float):
        return (math.isnan(left) and math.isnan(right)) or (
            left == right and math.copysign(1.0, left) == math.copysign(1.0, right)
        )
    return bool(left == right)


def _encode_slowly(value: Json, *, sort: bool) -> str:
    """Encode with an explicit stack, with the reserved forms."""
    out: list[str] = []
    # A str on the stack is text to write, an int the identity of a container that ends here; values are wrapped in a
    # 1-tuple, so that values and text differ.
    stack: list[str | int | tuple[Json]] = [(value,)]
    inside: set[int] = set()
    while stack:
        item = stack.pop()
        if isinstance(item, str):
            out.append(item)
            continue
        if isinstance(item, int):
            inside.discard(item)
            continue
        (node,) = item
        kind = type(node)
        if isinstance(node, list | tuple | dict):
            if id(node) in inside:
                raise NotRecordable("a value that contains itself has no JSON form")
            inside.add(id(node))
            stack.append(id(node))
        if kind is str or node is None or kind is bool:
            out.append(_ordered(node))
        elif isinstance(node, int):
            out.append(str(int(node)) if node.bit_length() <= _DECIMAL_BITS else f'{{"$int":"{hex(int(node))}"}}')
        elif isinstance(node, float):
            out.append(float.__repr__(node) if math.isfinite(node) else f'{{"$float":"{float.__repr__(node)}"}}')
        elif isinstance(node, str):
            out.append(_ordered(str(node)))
        elif isinstance(node, bytes):
            out.append(f'{{"$bytes":"{base64.b64encode(node).decode("ascii")}"}}')
        elif isinstance(node, tuple):
            out.append('{"$tuple":[')
            stack.append("]}")
            _push_items(stack, [[(element,)] for element in node])
        elif isinstance(node, list):
            out.append("[")
            stack.append("]")
            _push_items(stack, [[(element,)] for element in node])
        elif isinstance(node, dict):
            _open_object(node, out, stack, sort=sort)
        else:
            raise NotRecordable(
                f"a value of type {kind.__module__}.{kind.__qualname__} has no JSON form",
                fix="return plain JSON values, a dataclass or a pydantic model from what crosses a boundary",
            )
    return "".join(out)


def _open_object(node: dict[Any, Json], out: list[str], stack: list[str | int | tuple[Json]], *, sort: bool) -> None:
    if all(isinstance(key, str) for key in node):
        escaped = len(node) == 1 and next(iter(node)) in _RESERVED
        out.append('{"$esc":{' if escaped else "{")
        stack.append("}}" if escaped else "}")
        keys = sorted(node) if sort else list(node)
        _push_items(stack, [[_ordered(str(key)) + ":", (node[key],)] for key in keys])
    else:
        pairs = [(_encode_slowly(key, sort=sort), value) for key, value in node.items()]
        if sort:
            pairs.sort(key=lambda pair: pair[0])
        out.append('{"$map":[')
        stack.append("]}")
        _push_items(stack, [["[" + key + ",", (value,), "]"] for key, value in pairs])


def _push_items(stack: list[str | int | tuple[Json]], items: list[list[str | tuple[Json]]]) -> None:
    for i in reversed(range(len(items))):
        stack.extend(reversed(items[i]))
        if i:
            stack.append(",")


def _untag(root: Json) -> Json:
    """Resolve the reserved forms, children first, with an explicit stack."""
    holder = [root]
    # Each entry is a container and the key of the child to resolve; `open_` marks the second visit.
    stack: list[tuple[Any, Any, bool]] = [(holder, 0, False)]
    while stack:
        container, key, opened = stack.pop()
        node = container[key]
        if not opened and isinstance(node, dict | list):
            stack.append((container, key, True))
            if isinstance(node, dict) and len(node) == 1 and "$esc" in node and isinstance(node["$esc"], dict):
                inner = node["$esc"]
                stack.extend((inner, k, False) for k in inner)
            else:
                stack.extend((node, k, False) for k in (node if isinstance(node, dict) else range(len(node))))
        elif opened and isinstance(node, dict) and len(node) == 1:
            tag, body = next(iter(node.items()))
            if tag in _RESERVED:
                container[key] = _resolve(tag, body)
    return holder[0]


def _resolve(tag: str, body: Json) -> Json:
    try:
        if tag == "$float":
            return float(body)
        if tag == "$int":
            return int(body, 16)
        if tag == "$bytes":
            return base64.b64decode(body, validate=True)
        if tag == "$tuple":
            return tuple(body)
        if tag == "$map":
            return {key: value for key, value in body}  # noqa: C416  a malformed pair must raise here
        if isinstance(body, dict):
            return body
    except (ValueError, TypeError) as error:
        raise CorruptRecord(f"a stored {tag} form is malformed ({error})") from None
    raise CorruptRecord(f"a stored {tag} form is malformed")


_SPACE = re.compile(r"[ \t\n\r]*")
_SCALAR = re.compile(
    r'"(?:[^"\\\x00-\x1f]|\\.)*"|-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][-+]?\d+)?|true|false|null|NaN|-?Infinity'
)


def _parse_deep(text: str) -> Json:
    """Parse JSON of any depth; called only where the standard parser met its recursion limit."""
    done: list[Json] = []
    stack: list[tuple[Any, str | None]] = []  # open containers, each with the key that waits for a value
    pos = 0
    expect_value = True
    while True:
        pos = _skip(text, pos)
        if pos >= len(text):
            break
        char = text[pos]
        if expect_value and char in "[{":
            stack.append(([] if char == "[" else {}, None))
            pos = _skip(text, pos + 1)
            if char == "{" and text[pos : pos + 1] != "}":
                pos = _read_key(text, pos, stack)
            elif text[pos : pos + 1] in "]}" and text[pos : pos + 1]:
                expect_value = False
            continue
        if expect_value:
            match = _SCALAR.match(text, pos)
            if not match:
                raise CorruptRecord("stored text is not JSON", where=f"character {pos}")
            value, pos = json.loads(match.group()), match.end()
        elif char in "]}" and stack and (char == "]") == isinstance(stack[-1][0], list):
            value, pos = stack.pop()[0], pos + 1
        elif char == "," and stack:
            pos = _skip(text, pos + 1)
            if isinstance(stack[-1][0], dict):
                pos = _read_key(text, pos, stack)
            expect_value = True
            continue
        else:
            raise CorruptRecord("stored text is not JSON", where=f"character {pos}")
        expect_value = False
        if not stack:
            done.append(value)
        elif isinstance(stack[-1][0], list):
            stack[-1][0].append(value)
        else:
            stack[-1][0][stack[-1][1]] = value
    if stack or len(done) != 1:
        raise CorruptRecord("stored text is not JSON", where="its end")
    return done[0]


def _skip(text: str, pos: int) -> int:
    match = _SPACE.match(text, pos)
    assert match is not None
    return match.end()


def _read_key(text: str, pos: int, stack: list[tuple[Any, str | None]]) -> int:
    match = _SCALAR.match(text, pos)
    if not match or not match.group().startswith('"'):
        raise CorruptRecord("stored text is not JSON", where=f"character {pos}")
    colon = _skip(text, match.end())
    if text[colon : colon + 1] != ":":
        raise CorruptRecord("stored text is not JSON", where=f"character {colon}")
    stack[-1] = (stack[-1][0], json.loads(match.group()))
    return colon + 1
