"""What a ledger's table holds, and what can be done with it; the gate gives it its meaning."""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from contextlib import AbstractContextManager


@dataclasses.dataclass(frozen=True, kw_only=True, slots=True)
class LedgerRecord:
    """One entry as it is stored.

    Attributes:
        position: Its number, from 1 without a gap.
        at: When, ISO 8601 in UTC with microseconds.
        kind: What kind of entry.
        subject: Name of what it is about; several entries may share one.
        scope: What its place is counted in.
        place: Its number in the scope; a place of a scope is taken once.
        payload: Canonical JSON.
        attachment: Digest of bytes kept beside it; None without.
        previous: Hash of the entry before.
        hash: Hash over all of the above.
    """

    position: int
    at: str
    kind: str
    subject: str | None
    scope: str | None
    place: int | None
    payload: bytes
    attachment: str | None
    previous: str
    hash: str


@dataclasses.dataclass(frozen=True, kw_only=True, slots=True)
class Head:
    """The last entry.

    Attributes:
        position: Its position; 0 in an empty ledger.
        hash: Its hash; empty in an empty ledger.
    """

    position: int
    hash: str


class LedgerView(Protocol):
    """One consistent view of the ledger."""

    def head(self) -> Head:
        """Return position and hash of the last entry."""

    def at(self, position: int) -> LedgerRecord | None:
        """Return an entry; None where there is none."""

    def about(self, kind: str, subject: str) -> LedgerRecord | None:
        """Return the last entry of a kind about a subject; None where there is none."""

    def last_of(self, kind: str, scope: str) -> LedgerRecord | None:
        """Return the entry with the last place of a scope (without places: the last one); None where there is none."""

    def after(self, position: int, limit: int) -> Sequence[LedgerRecord]:
        """Return the entries behind a position in order, at most `limit`."""

    def attachment(self, position: int) -> bytes | None:
        """Return the bytes kept beside an entry.

        Raises:
            CorruptRecord: They do not match their digest.
        """


class LedgerTransaction(LedgerView, Protocol):
    """A view that nobody else can change until it ends, and that can be appended to."""

    def add(self, make: Callable[[Head], LedgerRecord], attachment: bytes | None = None) -> LedgerRecord:
        """Append an entry.

        Args:
            make: Makes it, given the last entry.
            attachment: The bytes whose digest it holds.

        Raises:
            InputError: Its place of its scope is taken.
        """


class LedgerRows(Protocol):
    """The ledger's table. Transactions take turns, among threads and among processes; all may raise `StoreError`."""

    def durable(self) -> AbstractContextManager[LedgerTransaction]:
        """Give a transaction that is on disk when it ends, with everything committed before it: one fsync."""

    def staged(self) -> AbstractContextManager[LedgerTransaction]:
        """Give a transaction that survives the death of the process; the next durable one takes it to the disk."""

    def reading(self) -> AbstractContextManager[LedgerView]:
        """Give a view that no writer blocks."""
