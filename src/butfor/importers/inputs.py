"""The bytes of a file, how they are opened, and the two together: what every reader of a container is given."""

from __future__ import annotations

import contextlib
import dataclasses
import hashlib
import io
from typing import IO, TYPE_CHECKING, BinaryIO

from butfor.canonical import SCHEME
from butfor.errors import InputError
from butfor.importers.compression import MIB, Limits, decompressed
from butfor.importers.records import Record

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from butfor.canonical import Json
    from butfor.importers.compression import Readable

HEAD = 1 << 16
"""Bytes that are looked at before a file is read."""


@dataclasses.dataclass(frozen=True, kw_only=True)
class Input:
    """Bytes that can be opened as often as asked.

    Attributes:
        name: File name, ``-`` for standard input.
        size: In bytes.
        digest: Tagged SHA-256.
    """

    name: str
    opened: Callable[[], BinaryIO]
    size: int
    digest: str

    def head(self, count: int = HEAD) -> bytes:
        """Return the first bytes."""
        with self.opened() as stream:
            return stream.read(count)


def from_path(path: Path) -> Input:
    """Return a file as input.

    Raises:
        InputError: The file cannot be read.
    """
    try:
        with path.open("rb") as stream:
            digest = hashlib.file_digest(stream, "sha256").hexdigest()
        size = path.stat().st_size
    except OSError as error:
        raise InputError(
            f"the file cannot be read ({error.strerror})", where=str(path), fix="check its name and permissions"
        ) from None
    return Input(name=str(path), opened=lambda: path.open("rb"), size=size, digest=f"{SCHEME}:{digest}")


def from_stream(stream: IO[bytes], name: str, limits: Limits) -> Input:
    """Return a stream as input; it is held in memory, since it is read more than once.

    Raises:
        InputError: It is longer than `limits.document`.
    """
    data = stream.read(limits.document + 1)
    if len(data) > limits.document:
        raise InputError(
            f"standard input is longer than {limits.document // MIB} MiB",
            where=name,
            fix="save it to a file and import the file, which is then streamed",
        )
    return from_bytes(data, name)


def from_bytes(data: bytes, name: str) -> Input:
    """Return bytes as input."""
    digest = f"{SCHEME}:{hashlib.sha256(data).hexdigest()}"
    return Input(name=name, opened=lambda: io.BytesIO(data), size=len(data), digest=digest)


@dataclasses.dataclass(frozen=True, kw_only=True)
class Opening:
    """How files are opened.

    Attributes:
        limits: What a file may ask of this machine.
        cleaned: Applied to every value before an importer sees it (redaction).
        progress: Told how many bytes were read.
    """

    limits: Limits = dataclasses.field(default_factory=Limits)
    cleaned: Callable[[Json], Json] = lambda value: value
    progress: Callable[[int], None] = lambda count: None


class Source:
    """An input together with how it is opened.

    Args:
        given: The bytes.
        opening: Limits, redaction and progress.

    Attributes:
        name: The input's name, which every error of it states.
        digest: Tagged SHA-256 of its bytes.
        limits: What it may ask of this machine.
        cleaned: Applied to every value before an importer sees it.
        progress: Told how many bytes were read.
    """

    def __init__(self, given: Input, opening: Opening) -> None:
        self.name = given.name
        self.digest = given.digest
        self.limits = opening.limits
        self.progress = opening.progress
        self.head = given.head
        self.opened = given.opened
        self._size = given.size
        self.cleaned = opening.cleaned

    @contextlib.contextmanager
    def decompressed(self) -> Iterator[Readable]:
        """Open the bytes, unpacked where they are gzip or zstd, within the limits."""
        with self.opened() as raw:
            yield decompressed(raw, self.name, self._size, self.limits)

    def record(self, value: Json, *, line: int | None = None, part: str | None = None) -> Record:
        """Return a value of this input as a record: cleaned, and knowing its place."""
        return Record(value=self.cleaned(value), file=self.name, line=line, part=part)
