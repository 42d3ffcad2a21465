"""Compressed bytes, opened as they come and stopped where they grow like a bomb."""

from __future__ import annotations

import dataclasses
import gzip
from typing import BinaryIO, Protocol

import zstandard

from butfor.errors import InputError

MIB = 1 << 20


class Readable(Protocol):
    """What bytes are read from."""

    def read(self, count: int = -1, /) -> bytes:
        """Read at most so many bytes; b"" at the end."""
        ...


@dataclasses.dataclass(frozen=True, kw_only=True)
class Limits:
    """What a file may ask of this machine.

    Attributes:
        document: Largest single JSON value, in bytes: a line, an archive member or a whole document.
        expanded: Most bytes that a compressed file may become.
        ratio: Most bytes out for one byte in, beyond the first 16 MiB. Ten thousand steps that
            differ in numbers only reach 53 (OTLP, zstd at level 19).
    """

    document: int = 512 * MIB
    expanded: int = 64 * 1024 * MIB
    ratio: int = 1000


def decompressed(raw: BinaryIO, name: str, size: int, limits: Limits) -> Readable:
    """Return the stream, opened where it is gzip or zstd; it refuses to grow beyond the limits."""
    head = raw.read(4)
    raw.seek(0)
    if head.startswith(b"\x1f\x8b"):
        return Bounded(_Gunzipped(raw), name, size, limits)
    if head == b"\x28\xb5\x2f\xfd":
        return Bounded(Frames(raw), name, size, limits)
    return raw


class _Gunzipped:
    """Decompressed gzip, handed over as it comes: what stands before a cut is worth having."""

    def __init__(self, packed: BinaryIO) -> None:
        self._stream = gzip.GzipFile(fileobj=packed)

    def read(self, count: int = -1, /) -> bytes:
        return self._stream.read1(count)


class Frames:
    """Decompressed zstd frames; a frame that is damaged or does not end shows as EOFError, as it does for gzip."""

    # A block of 4 bytes can become 128 KiB: so much at a time is at most 8 MiB, whoever wrote the file.
    _SLICE = 256

    def __init__(self, packed: Readable) -> None:
        self._packed = packed
        self._frame = zstandard.ZstdDecompressor().decompressobj()
        self._inside = False
        self._plain = b""

    def read(self, count: int = -1, /) -> bytes:
        """Read some bytes."""
        while not self._plain:
            packed = self._packed.read(self._SLICE)
            if not packed:
                if self._inside:
                    raise EOFError("the last zstd frame does not end")
                return b""
            self._plain = self._unpack(packed)
        chunk = self._plain if count < 0 else self._plain[:count]
        self._plain = self._plain[len(chunk) :]
        return chunk

    def _unpack(self, packed: bytes) -> bytes:
        parts: list[bytes] = []
        try:
            while packed:
                parts.append(self._frame.decompress(packed))
                self._inside = not self._frame.eof
                packed = self._frame.unused_data if self._frame.eof else b""
                if self._frame.eof:
                    self._frame = zstandard.ZstdDecompressor().decompressobj()
        except zstandard.ZstdError as error:
            raise EOFError(str(error)) from None
        return b"".join(parts)


class Bounded:
    """A decompressed stream that stops a bomb.

    Args:
        stream: The decompressed bytes.
        name: The file's name.
        size: Compressed bytes.
        limits: The limits.
    """

    def __init__(self, stream: Readable, name: str, size: int, limits: Limits) -> None:
        self._stream = stream
        self._name = name
        self._most = min(limits.expanded, max(16 * MIB, size * limits.ratio))
        self._read = 0

    def read(self, count: int = -1, /) -> bytes:
        """Read some bytes.

        Raises:
            InputError: More came out than the limits allow.
        """
        chunk = self._stream.read(min(count, 1 << 20) if count >= 0 else self._most - self._read + 1)
        self._read += len(chunk)
        if self._read > self._most:
            raise InputError(
                f"the compressed content grows beyond {self._most // MIB} MiB, like a decompression bomb",
                where=self._name,
                fix="decompress it yourself if you trust it, then import the result",
            )
        return chunk
