"""Opens a file as records: JSON, JSON Lines, gzip or zstd of them, in any Unicode encoding, within limits."""

from __future__ import annotations

import codecs
import io
import zlib
from typing import TYPE_CHECKING

from butfor.errors import InputError
from butfor.importers.compression import MIB
from butfor.importers.inputs import HEAD
from butfor.importers.parsing import parse
from butfor.importers.records import Record, raise_or_tell, unheard

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from _typeshed import WriteableBuffer

    from butfor.canonical import Json
    from butfor.importers.compression import Readable
    from butfor.importers.inputs import Source

_BOMS = ((codecs.BOM_UTF32_LE, "utf-32"), (codecs.BOM_UTF32_BE, "utf-32"), (codecs.BOM_UTF16_LE, "utf-16"))


class TextRecords:
    """Records of a JSON document or of JSON Lines.

    Args:
        source: The bytes and how they are opened.
    """

    def __init__(self, source: Source) -> None:
        self.digest: str | None = source.digest
        self._source = source
        self._document: list[Record] | None = None

    def each(self, problem: Callable[[InputError], None] = unheard) -> Iterator[Record]:
        """Read from the start."""
        if self._document is None and not self._is_lines():
            self._document = list(self._whole())
        yield from self._lines(problem) if self._document is None else self._document

    def _is_lines(self) -> bool:
        """Say whether every line is a value of its own; a pretty-printed document indents its lines."""
        head = b"".join(self._raw_lines(unheard, most=HEAD))
        lines = [line for line in head.splitlines() if line.strip()]
        if len(lines) < 2:
            return False
        return any(line[:1] in (b"{", b"[") and _parses(line) for line in lines[:50]) or (
            lines[0][:1] == b"{" and len(lines[0].strip()) > 1 and lines[1][:1] == b"{"
        )

    def _lines(self, problem: Callable[[InputError], None]) -> Iterator[Record]:
        for number, line in enumerate(self._raw_lines(problem), start=1):
            if not line.strip():
                continue
            where = f"{self._source.name}:{number}"
            if len(line) > self._source.limits.document:
                problem(InputError(f"the line is longer than {self._source.limits.document // MIB} MiB", where=where))
                continue
            try:
                value = parse(line)
            except ValueError as error:
                problem(InputError(f"the line is {error}", where=where, fix="export the file again"))
                continue
            yield self._source.record(value, line=number)

    def _whole(self) -> Iterator[Record]:
        text = self._read_whole()
        try:
            value = self._source.cleaned(parse(text))
        except ValueError as error:
            hint = " (NUL bytes: UTF-16 without a byte-order mark?)" if b"\0" in text[:HEAD] else ""
            fix = "export the file again, as UTF-8 JSON"
            if text.lstrip()[:1] not in (b"{", b"["):
                fix = "import reads JSON, JSON Lines, .eval archives, OTLP protobuf and LangGraph SQLite files"
            raise InputError(f"the document is {error}{hint}", where=self._source.name, fix=fix) from None
        yield from split(value, self._source.name)

    def _read_whole(self) -> bytes:
        parts: list[bytes] = []
        size = 0
        for line in self._raw_lines(unheard):
            size += len(line)
            if size > self._source.limits.document:
                raise InputError(
                    f"the document is larger than {self._source.limits.document // MIB} MiB",
                    where=self._source.name,
                    fix="turn it into JSON Lines, which are streamed: jq -c '.[]' FILE > FILE.jsonl",
                )
            parts.append(line)
        return b"".join(parts)

    def _raw_lines(self, problem: Callable[[InputError], None], *, most: int | None = None) -> Iterator[bytes]:
        """Yield lines as UTF-8; a line beyond the limit is cut to just over it."""
        read = 0
        with self._source.decompressed() as stream:
            try:
                for line in _utf8_lines(stream, self._source.limits.document):
                    yield line
                    read += len(line)
                    self._source.progress(len(line))
                    if most is not None and read >= most:
                        return
            except (OSError, EOFError, zlib.error, UnicodeError) as error:
                broken = InputError(
                    f"the file is cut off or damaged ({str(error)[:80]})",
                    where=self._source.name,
                    fix="what came before was read; export the file again for the rest",
                )
                raise_or_tell(broken, problem, nothing_read=not read)


def split(value: Json, file: str, part: str | None = None) -> Iterator[Record]:
    """Yield a document as one record, or the elements of a list of records.

    A list of messages is one record: its elements mean nothing alone.
    """
    if isinstance(value, list) and value and not _is_conversation(value):
        for position, element in enumerate(value):
            yield Record(value=element, file=file, part=f"{part or ''}[{position}]")
    else:
        yield Record(value=value, file=file, part=part)


def _is_conversation(values: list[Json]) -> bool:
    first = values[0]
    return isinstance(first, dict) and (isinstance(first.get("role"), str) or _is_langchain(first))


def _is_langchain(value: dict[str, Json]) -> bool:
    return value.get("type") in ("human", "ai", "system", "constructor") and ("content" in value or "data" in value)


def _parses(line: bytes) -> bool:
    try:
        return isinstance(parse(line), dict | list)
    except ValueError:
        return False


def _utf8_lines(stream: Readable, most: int) -> Iterator[bytes]:
    head = stream.read(4)
    wide = next((name for bom, name in _BOMS if head.startswith(bom)), None)
    wide = wide or ("utf-16" if head.startswith(codecs.BOM_UTF16_BE) else None)
    rejoined = _Rejoined(head.removeprefix(codecs.BOM_UTF8), stream)
    if wide is not None:
        text = io.TextIOWrapper(io.BufferedReader(rejoined), encoding=wide)
        while chunk := text.readline(most + 1):
            yield chunk.encode("utf-8", "surrogatepass")
        return
    buffered = io.BufferedReader(rejoined, buffer_size=1 << 18)
    while line := buffered.readline(most + 1):
        yield line
        while len(line) > most and not line.endswith(b"\n"):  # pass over the rest of a line beyond the limit
            line = buffered.readline(most + 1)


class _Rejoined(io.RawIOBase):
    """A stream with the bytes that were looked at put back."""

    def __init__(self, head: bytes, stream: Readable) -> None:
        self._head = head
        self._stream = stream

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: WriteableBuffer, /) -> int:
        view = memoryview(buffer)
        chunk = self._head[: len(view)] or self._stream.read(len(view))
        self._head = self._head[len(view) :] if self._head else b""
        view[: len(chunk)] = chunk
        return len(chunk)
