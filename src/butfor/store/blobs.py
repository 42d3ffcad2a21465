"""Content-addressed, compressed text: equal texts are stored once, and a text that changed is noticed."""

from __future__ import annotations

import dataclasses

import zstandard

from butfor import canonical
from butfor.errors import CorruptRecord

# Measured on journals of 19 KB: level 1 takes 60 µs and leaves 24%, level 3 takes 80 µs and leaves 23%.
_LEVEL = 1


@dataclasses.dataclass(frozen=True, slots=True)
class Blob:
    """A text as it is stored.

    Attributes:
        digest: Tagged SHA-256 of the text's bytes.
        size: Their number.
        body: The bytes as one Zstandard frame.
    """

    digest: str
    size: int
    body: bytes


def to_bytes(text: str) -> bytes:
    """Return the bytes of any text; half a surrogate pair, which JSON text may hold, survives."""
    return text.encode("utf-8", "surrogatepass")


def to_text(raw: bytes) -> str:
    """Undo `to_bytes`."""
    return raw.decode("utf-8", "surrogatepass")


class Packer:
    """Compresses texts; not for two threads at once."""

    def __init__(self) -> None:
        self._compressor = zstandard.ZstdCompressor(level=_LEVEL)

    def pack(self, text: str) -> Blob:
        """Compress a text and name it."""
        return self.pack_bytes(to_bytes(text))

    def pack_bytes(self, raw: bytes) -> Blob:
        """Compress bytes and name them."""
        return Blob(canonical.digest_text(raw), len(raw), self._compressor.compress(raw))


def unpack(digest: str, size: int, body: bytes) -> str:
    """Return the text of a blob.

    Raises:
        CorruptRecord: The bytes do not give a text of that size and digest.
    """
    return to_text(unpack_bytes(digest, size, body))


def unpack_bytes(digest: str, size: int, body: bytes) -> bytes:
    """Return the bytes of a blob.

    Raises:
        CorruptRecord: They have not that size and digest.
    """
    try:
        # The size in the frame decides how much memory is taken, so it is checked before.
        if zstandard.frame_content_size(body) != size:
            raise CorruptRecord("a stored text has another size than was stored", where=digest)
        raw = zstandard.ZstdDecompressor().decompress(body) if size else b""
    except zstandard.ZstdError:
        raise CorruptRecord("a stored text cannot be decompressed", where=digest) from None
    if canonical.digest_text(raw) != digest:
        raise CorruptRecord("a stored text does not match its digest", where=digest)
    return raw
