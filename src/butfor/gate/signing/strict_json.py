"""JSON that is signed: RFC 8785 bytes, and a reader that rounds nothing and overlooks nothing.

Run storage keeps every JSON value by a tagged encoding (`butfor.canonical`). What is hashed for an approval or signed
must instead mean the same to every reader, so here a value that two readers could take differently is refused: integers
that share a double, NaN, a key twice, half a surrogate pair.

RFC 8785 writes object keys in the order of UTF-16 units, numbers as ECMAScript does, text unescaped where it may be.
The C encoder of the standard library does most of it, one walk refuses what it lets pass, and `_as_ecmascript` rewrites
the few numbers that Python prints otherwise. Keys outside the basic plane take the slow writer. A certificate of 3.5 kB
takes 118 µs of CPU where the reference writer takes 286 and `json.dumps` alone 96 (two busy cores; on the same ones
``sum(range(1000))`` takes 14).
"""

from __future__ import annotations

import json
import math
import re
from json.encoder import c_make_encoder, encode_basestring  # type: ignore[attr-defined]
from typing import TYPE_CHECKING, Any, TypeAlias

from butfor.canonical import digest_text
from butfor.errors import InputError, NotRecordable
from butfor.gate.signing.json_faults import MOST_DEEP, SAFE, reading_fault, value_fault

if TYPE_CHECKING:
    from collections.abc import Callable

Json: TypeAlias = Any
"""Any JSON value: None, bool, int, float, str, list or dict with string keys."""

_LEAVES = frozenset({str, bool, type(None)})
_WHOLE = ((".0,", ","), (".0}", "}"), (".0]", "]"))
_PRINTED_OTHERWISE = re.compile(r"-?[0-9.]+(?:\.0(?=[,\]}]|$)|e[+-][0-9]+)")


def canonical_bytes(value: Json) -> bytes:
    """Write a value as RFC 8785 bytes: equal values, equal bytes. Tuples are written as arrays.

    Raises:
        NotRecordable: It holds a number beyond ±(2^53 − 1) that is written as an integer, NaN or infinity, a key that
            is not text, half a surrogate pair, nesting of more than `MOST_DEEP`, or no JSON. The path is named.
    """
    try:
        text = _encode(value)
        whole, exponents = _walk(value)
        if whole or exponents:
            text = _as_ecmascript(text, whole, exponents=exponents)
        data = text.encode()
    except (ValueError, TypeError, RecursionError):
        raise _refusal(value) from None
    # In UTF-16 a pair of surrogates (D800-DFFF) sorts before U+E000-U+FFFF, by code point after it. Counting units
    # finds pairs in 5 µs where max(text) takes 300.
    paired = not text.isascii() and len(text.encode("utf-16-le")) > 2 * len(text)
    return _slowly(value).encode() if paired else data


def digest(value: Json) -> str:
    """Return the tagged SHA-256 of a value's canonical bytes.

    Raises:
        NotRecordable: See `canonical_bytes`.
    """
    return digest_text(canonical_bytes(value))


def parse_strict(data: bytes) -> Json:
    """Read JSON whose every value is kept exactly; `canonical_bytes` can write whatever is returned.

    Raises:
        InputError: It is not UTF-8 or not JSON, has a key twice, or holds what `canonical_bytes` refuses; the place is
            named by line, column and path.
    """
    try:
        value = _DECODER.decode(data.decode())
        canonical_bytes(value)
    except (ValueError, RecursionError):
        raise reading_fault(data) from None
    return value


def parse_canonical(data: bytes) -> Json:
    """Read JSON that is its own canonical bytes.

    Raises:
        InputError: It cannot be read (see `parse_strict`), or its bytes are not the canonical ones.
    """
    value = parse_strict(data)
    expected = canonical_bytes(value)
    if data != expected:
        place = next((i for i, (a, b) in enumerate(zip(data, expected, strict=False)) if a != b), len(expected))
        raise InputError(
            "the bytes are not canonical (RFC 8785)",
            where=f"byte {place}",
            fix="use the file as it was written; do not format, re-encode or end it with a line break",
        )
    return value


def number(value: float) -> str:
    """Write a finite number as ECMAScript's Number::toString does.

    Reference: ECMA-262, 6.1.6.1.20.
    """
    if value == 0:
        return "0"
    sign = "-" if value < 0 else ""
    mantissa, _, power = repr(abs(value)).partition("e")
    whole, _, part = mantissa.partition(".")
    digits = (whole + ("" if part == "0" else part)).lstrip("0")
    # n: the value is 0.digits × 10^n.
    n = (len(whole) if whole != "0" else len(digits) - len(part)) + int(power or 0)
    digits = digits.rstrip("0")
    k = len(digits)
    if k <= n <= 21:
        return sign + digits.ljust(n, "0")
    if 0 < n <= 21:
        return f"{sign}{digits[:n]}.{digits[n:]}"
    if -6 < n <= 0:
        return f"{sign}0.{'0' * -n}{digits}"
    point = f"{digits[0]}.{digits[1:]}" if k > 1 else digits
    return f"{sign}{point}e{'+' if n > 0 else '-'}{abs(n - 1)}"


def _encoder() -> Callable[[Json], str]:
    plain = json.JSONEncoder(ensure_ascii=False, allow_nan=False, separators=(",", ":"), sort_keys=True)
    if c_make_encoder is None:
        return plain.encode
    # As in butfor.canonical: JSONEncoder.encode builds its C encoder anew at each call.
    chunks = c_make_encoder(None, plain.default, encode_basestring, None, ":", ",", True, False, False)
    return lambda value: "".join(chunks(value, 0))


_encode = _encoder()


def _walk(value: Json) -> tuple[int, bool]:
    """Refuse what the C encoder lets pass; return how many floats are whole, and whether one is printed with "e"."""
    whole, exponents = 0, False
    level = [value]
    for _ in range(MOST_DEEP + 1):
        deeper: list[Json] = []
        for node in level:
            kind = type(node)
            if kind in _LEAVES:
                continue
            if kind is float:
                if node.is_integer():
                    whole += 1
                    if not -SAFE <= node <= SAFE:
                        if -1e21 < node < 1e21:
                            raise ValueError
                        exponents = True
                elif -1e-4 < node < 1e-4:
                    exponents = True
            elif isinstance(node, dict):
                "".join(node)  # refuses a key that is not text, in C
                deeper += node.values()
            elif isinstance(node, list | tuple):
                deeper += node
            elif isinstance(node, int) and not -SAFE <= node <= SAFE:
                raise ValueError
            elif isinstance(node, float):
                deeper.append(float(node))
        if not deeper:
            return whole, exponents
        level = deeper
    raise RecursionError


def _as_ecmascript(text: str, whole: int, *, exponents: bool) -> str:
    """Rewrite the numbers that Python prints otherwise than ECMAScript; what stands in strings is left alone.

    Most are whole numbers with ".0". Where the text has as many of these as there are, none is in a string, and three
    replacements do (10 µs in 8 kB, where finding every number takes 170).
    """
    ordinary = not exponents and not any(f"-0{old}" in text for old, _ in _WHOLE)
    if ordinary and sum(text.count(old) for old, _ in _WHOLE) == whole:
        for old, new in _WHOLE:
            text = text.replace(old, new)
        return text
    # Raw control characters never occur in JSON text, so they can stand for what would confuse the split at quotes.
    hidden = text.replace("\\\\", "\x01").replace('\\"', "\x02")
    parts = hidden.split('"')
    parts[::2] = _PRINTED_OTHERWISE.sub(_rewrite, "\x03".join(parts[::2])).split("\x03")
    return '"'.join(parts).replace("\x02", '\\"').replace("\x01", "\\\\")


def _rewrite(match: re.Match[str]) -> str:
    return number(float(match.group()))


def _slowly(value: Json) -> str:
    """Write a value that has been checked, with keys in the order of UTF-16 units."""
    if isinstance(value, dict):
        # Lone surrogates were refused before, so every key encodes.
        keys = sorted(value, key=lambda key: key.encode("utf-16-be"))
        return "{" + ",".join(f"{encode_basestring(key)}:{_slowly(value[key])}" for key in keys) + "}"
    if isinstance(value, list | tuple):
        return "[" + ",".join(map(_slowly, value)) + "]"
    return number(value) if isinstance(value, float) else _encode(value)


def _refusal(value: Json) -> NotRecordable:
    path, sentence, fix = value_fault(value)
    return NotRecordable(sentence, where=path, fix=fix)


def _object(pairs: list[tuple[str, Json]]) -> dict[str, Json]:
    found = dict(pairs)
    if len(found) < len(pairs):
        raise ValueError
    return found


def _integer(digits: str) -> int:
    if len(digits) > 17 or not -SAFE <= (found := int(digits)) <= SAFE:
        raise ValueError
    return found


def _constant(name: str) -> Json:
    raise ValueError(name)


def _float(digits: str) -> float:
    found = float(digits)
    if not math.isfinite(found):
        raise ValueError
    return found


_DECODER = json.JSONDecoder(object_pairs_hook=_object, parse_int=_integer, parse_float=_float, parse_constant=_constant)
