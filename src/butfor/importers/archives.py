"""Members of an Inspect ``.eval`` archive, zstd included, which Python's own zipfile reads from 3.14 on."""

from __future__ import annotations

import io
import zipfile
import zlib
from typing import IO, TYPE_CHECKING, Final

from butfor.errors import InputError
from butfor.importers.compression import MIB, Bounded, Frames, Limits
from butfor.importers.parsing import parse
from butfor.importers.records import unheard

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from butfor.canonical import Json
    from butfor.importers.compression import Readable
    from butfor.importers.inputs import Source
    from butfor.importers.records import Record

_STORED: Final = 0
_DEFLATED: Final = 8
_ZSTD: Final = 93
_LOCAL_HEADER = 30


class ArchiveRecords:
    """One record for each sample of a log, with the log's header around it.

    Args:
        source: The bytes and how they are opened.
    """

    def __init__(self, source: Source) -> None:
        self.digest: str | None = source.digest
        self._source = source
        self._expanded = 0

    def each(self, problem: Callable[[InputError], None] = unheard) -> Iterator[Record]:
        """Read from the start.

        Raises:
            InputError: This is no Inspect log, or its header cannot be read.
        """
        self._expanded = 0
        with self._source.opened() as stream:
            members = self._members(stream)
            header = self._header(stream, members)
            samples = sorted(name for name in members if name.startswith("samples/") and name.endswith(".json"))
            whole = [name for name in samples if name.count("/") == 1]
            if len(whole) < len(samples):
                problem(
                    InputError(
                        "the log keeps its samples in chunks, which are not read",
                        where=self._source.name,
                        fix="convert it: inspect log convert --to json FILE",
                    )
                )
            if not whole:
                yield self._source.record(header | {"samples": []}, part="header.json")
            for name in whole:
                try:
                    sample = self._read(stream, members[name])
                except InputError as error:
                    problem(error)
                    continue
                yield self._source.record(header | {"samples": [sample]}, part=name)

    def _members(self, stream: IO[bytes]) -> dict[str, zipfile.ZipInfo]:
        try:
            return {info.filename: info for info in zipfile.ZipFile(stream).infolist()}
        except (zipfile.BadZipFile, ValueError, NotImplementedError, UnicodeError) as error:
            raise InputError(
                f"the archive is cut off or damaged ({str(error)[:80]})", where=self._source.name, fix="export it again"
            ) from None

    def _header(self, stream: IO[bytes], members: dict[str, zipfile.ZipInfo]) -> dict[str, Json]:
        """Read the header; a log that was never finished has the journal's start only."""
        for name in ("header.json", "_journal/start.json"):
            if name in members:
                header = self._read(stream, members[name])
                if isinstance(header, dict):
                    return header
        raise InputError(
            "this archive is no Inspect log (it has no header.json)",
            where=self._source.name,
            fix="unpack it and import the files in it",
        )

    def _read(self, stream: IO[bytes], info: zipfile.ZipInfo) -> Json:
        """Read one member within the limits and check its checksum.

        Raises:
            InputError: The member is damaged, too large or not JSON.
        """
        where = f"{self._source.name}, {info.filename[:200]}"
        limits = self._source.limits
        stream.seek(info.header_offset)
        local = stream.read(_LOCAL_HEADER)
        if local[:4] != b"PK\x03\x04" or info.flag_bits & 1:
            raise InputError("the archive member is damaged or encrypted", where=where, fix="export the log again")
        stream.seek(int.from_bytes(local[26:28], "little") + int.from_bytes(local[28:30], "little"), io.SEEK_CUR)
        packed = stream.read(min(info.compress_size, limits.document + 1))
        self._source.progress(len(packed))
        try:
            plain = _unpacked(packed, info.compress_type, where, limits)
        except (zlib.error, EOFError) as error:
            raise InputError(f"the archive member is damaged ({str(error)[:80]})", where=where) from None
        self._expanded += len(plain)
        if len(plain) > limits.document or self._expanded > limits.expanded:
            most = limits.document // MIB
            raise InputError(f"the archive member is larger than {most} MiB", where=where, fix="split the log")
        if zlib.crc32(plain) != info.CRC:
            raise InputError("the archive member does not match its checksum", where=where, fix="export the log again")
        try:
            return parse(plain)
        except ValueError as error:
            raise InputError(f"the archive member is {error}", where=where, fix="export the log again") from None


def _unpacked(packed: bytes, method: int, where: str, limits: Limits) -> bytes:
    if method == _STORED:
        return packed
    opened: Readable
    if method == _ZSTD:
        opened = Frames(io.BytesIO(packed))
    elif method == _DEFLATED:
        opened = _Inflated(packed)
    else:
        raise InputError(f"the archive member is compressed by method {method}", where=where, fix="use .json logs")
    bounded = Bounded(opened, where, len(packed), limits)
    parts: list[bytes] = []
    size = 0
    while (chunk := bounded.read(MIB)) and size <= limits.document:
        parts.append(chunk)
        size += len(chunk)
    return b"".join(parts)


class _Inflated:
    """Raw deflate, a little at a time."""

    def __init__(self, packed: bytes) -> None:
        self._engine = zlib.decompressobj(-zlib.MAX_WBITS)
        self._left = packed

    def read(self, count: int = -1, /) -> bytes:
        if self._engine.eof:
            return b""
        chunk = self._engine.decompress(self._left, count if count > 0 else MIB)
        self._left = self._engine.unconsumed_tail
        if not chunk and not self._engine.eof:
            raise EOFError("the end came too early")
        return chunk
