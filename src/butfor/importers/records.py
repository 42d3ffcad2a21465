"""Records of a file: read one by one, as often as asked, each knowing its place."""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING, Protocol

from butfor.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from butfor.canonical import Json


@dataclasses.dataclass(frozen=True, kw_only=True, slots=True)
class Record:
    """One JSON value of a file.

    Attributes:
        value: The value.
        file: The file's name.
        line: 1-based line; None where the file is one document.
        part: Name of the element or archive member.
    """

    value: Json
    file: str | None = None
    line: int | None = None
    part: str | None = None

    @property
    def where(self) -> str:
        """The record's place in words."""
        place = self.file or "input"
        if self.line is not None:
            place += f":{self.line}"
        return f"{place}, {self.part}" if self.part else place

    def malformed(self, what: str, field: str) -> InputError:
        """Return the error for a field of this record that cannot be used."""
        return InputError(what, where=f"{self.where}, field {field}", fix="check that the file was exported in full")


class Records(Protocol):
    """A file's records, in the file's order.

    Attributes:
        digest: Tagged SHA-256 of the file's bytes, known once it was read to its end.
    """

    digest: str | None

    def each(self, problem: Callable[[InputError], None] = ...) -> Iterator[Record]:
        """Read from the start; what cannot be read is told to `problem` and skipped."""
        ...


def unheard(error: InputError) -> None:
    """Drop a problem: a second reading of the same file has nothing new to say."""
    del error


def raise_or_tell(error: InputError, problem: Callable[[InputError], None], *, nothing_read: bool) -> None:
    """Raise where nothing was read, else tell: what came before is worth having."""
    if nothing_read:
        raise error from None
    problem(error)


@dataclasses.dataclass(kw_only=True)
class Listed:
    """Records that are in memory already."""

    records: list[Record]
    digest: str | None = None

    def each(self, problem: Callable[[InputError], None] = unheard) -> Iterator[Record]:
        """Read from the start."""
        del problem
        return iter(self.records)
