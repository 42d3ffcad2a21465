"""Counter-based randomness: a key of plain values gives a seed, always the same one.

There is no global generator. Every draw names its key, so that a decision does not depend on how many draws were
made before it, on which worker made them, or in which order they finished.
"""

from __future__ import annotations

import random
from hashlib import blake2b
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import numpy as np

Key = str | int | bytes


def digest_of(*key: Key) -> bytes:
    """Hash a key to 16 bytes; distinct keys collide with probability 2⁻¹²⁸.

    Args:
        key: Strings, integers and bytes. Parts are length-prefixed, so ("ab", "c") and ("a", "bc") differ; a member of
            an enumeration counts as its value.

    Raises:
        TypeError: A part is of another type, such as a NumPy integer.
    """
    hasher = blake2b(digest_size=16)
    for part in key:
        tag, raw = _tagged(part)
        hasher.update(b"%s%d:" % (tag, len(raw)))
        hasher.update(raw)
    return hasher.digest()


def _tagged(part: Key) -> tuple[bytes, bytes]:
    if isinstance(part, str):
        return b"s", str.encode(part, "utf-8", "surrogatepass")
    if isinstance(part, bool):
        return b"i", repr(part).encode()
    if isinstance(part, int):
        return b"i", int.__repr__(part).encode()
    if isinstance(part, bytes):
        return b"b", part
    raise TypeError(f"a key is made of str, int and bytes, not {type(part).__name__}; convert it")


def seed_of(*key: Key) -> int:
    """Return a seed in [0, 2³¹ − 1): the range that every provider and library accepts."""
    return int.from_bytes(digest_of(*key)[:8], "big") % (2**31 - 1)


def generator(*key: Key) -> random.Random:
    """Return a standard-library generator for this key."""
    return random.Random(int.from_bytes(digest_of(*key), "big"))


def numpy_generator(*key: Key) -> np.random.Generator:
    """Return a NumPy generator (Philox, 128-bit key) for this key."""
    import numpy as np

    return np.random.Generator(np.random.Philox(key=int.from_bytes(digest_of(*key), "big")))
