"""Reads MessagePack as data. Extension types become plain objects: nothing is constructed, nothing is imported."""

from __future__ import annotations

import struct
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from butfor.canonical import Json

DEPTH: Final = 100
_SCALARS = {
    0xCA: ">f",
    0xCB: ">d",
    0xCC: ">B",
    0xCD: ">H",
    0xCE: ">I",
    0xCF: ">Q",
    0xD0: ">b",
    0xD1: ">h",
    0xD2: ">i",
    0xD3: ">q",
}
_LENGTHS = {0xC4: 1, 0xC5: 2, 0xC6: 4, 0xD9: 1, 0xDA: 2, 0xDB: 4, 0xDC: 2, 0xDD: 4, 0xDE: 2, 0xDF: 4}
_FIXED_EXT = {0xD4: 1, 0xD5: 2, 0xD6: 4, 0xD7: 8, 0xD8: 16}
_EXT = {0xC7: 1, 0xC8: 2, 0xC9: 4}


def unpack(data: bytes) -> Json:
    """Read one value.

    An extension whose payload names a class, as LangGraph writes them, becomes
    ``{"type": "constructor", "id": [module…, class], "kwargs": …}``; any other ``{"ext": code, "bytes": count}``.

    Raises:
        ValueError: The bytes are cut off, malformed or nested too deeply.
    """
    reader = _Reader(data, 0)
    value = reader.value()
    if reader.position != len(data):
        raise ValueError(f"bytes left over after byte {reader.position}")
    return value


class _Reader:
    def __init__(self, data: bytes, depth: int) -> None:
        self.data = data
        self.position = 0
        self._depth = depth

    def take(self, count: int) -> bytes:
        """Return the next bytes."""
        end = self.position + count
        if end > len(self.data):
            raise ValueError(f"cut off at byte {len(self.data)}")
        chunk = self.data[self.position : end]
        self.position = end
        return chunk

    def value(self) -> Json:
        """Read the next value."""
        self._depth += 1
        if self._depth > DEPTH:
            raise ValueError(f"nested deeper than {DEPTH} levels")
        read = self._value(self.take(1)[0])
        self._depth -= 1
        return read

    def _value(self, code: int) -> Json:
        if code <= 0x7F:
            return code
        if code >= 0xE0:
            return code - 256
        if code in (0xC0, 0xC2, 0xC3):
            return {0xC0: None, 0xC2: False, 0xC3: True}[code]
        if code in _SCALARS:
            layout = _SCALARS[code]
            return struct.unpack(layout, self.take(struct.calcsize(layout)))[0]
        if code in _FIXED_EXT or code in _EXT:
            count = _FIXED_EXT[code] if code in _FIXED_EXT else int.from_bytes(self.take(_EXT[code]), "big")
            return self._extension(self.take(1)[0], count)
        return self._sized(code)

    def _sized(self, code: int) -> Json:
        if code in _LENGTHS:
            count = int.from_bytes(self.take(_LENGTHS[code]), "big")
        elif code <= 0x9F:
            count = code & 0x0F
        elif code <= 0xBF:
            count = code & 0x1F
        else:
            raise ValueError(f"unknown code {code:#x} at byte {self.position - 1}")
        if code <= 0x8F or code in (0xDE, 0xDF):
            return self._mapping(count)
        if code <= 0x9F or code in (0xDC, 0xDD):
            return [self.value() for _ in range(count)]
        raw = self.take(count)
        return raw.hex() if code in (0xC4, 0xC5, 0xC6) else raw.decode("utf-8", "backslashreplace")

    def _mapping(self, count: int) -> Json:
        pairs = [(self.value(), self.value()) for _ in range(count)]
        return {key if isinstance(key, str) else repr(key): value for key, value in pairs}

    def _extension(self, code: int, count: int) -> Json:
        payload = self.take(count)
        try:
            inner = _Reader(payload, self._depth).value()
        except ValueError:
            return {"ext": code, "bytes": count}
        named = isinstance(inner, list) and len(inner) >= 2 and all(isinstance(each, str) for each in inner[:2])
        if not named:
            return {"ext": code, "bytes": count}
        held = inner[2] if len(inner) > 2 else None
        constructor = {"type": "constructor", "id": [*inner[0].split("."), inner[1]]}
        return constructor | ({"kwargs": held} if isinstance(held, dict) else {"args": held})
