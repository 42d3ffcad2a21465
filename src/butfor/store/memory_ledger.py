"""A ledger that lives as long as its process."""

from __future__ import annotations

from bisect import bisect_right
from contextlib import contextmanager
from typing import TYPE_CHECKING

from butfor.store import refusals
from butfor.store.ledger_records import Head, LedgerRecord

if TYPE_CHECKING:
    import threading
    from collections.abc import Callable, Iterator


class _MemoryTransaction:
    def __init__(self, entries: list[tuple[LedgerRecord, bytes | None]]) -> None:
        self._entries = entries

    def head(self) -> Head:
        if not self._entries:
            return Head(position=0, hash="")
        return Head(position=self._entries[-1][0].position, hash=self._entries[-1][0].hash)

    def at(self, position: int) -> LedgerRecord | None:
        return self._entries[position - 1][0] if 0 < position <= len(self._entries) else None

    def about(self, kind: str, subject: str) -> LedgerRecord | None:
        found = (each for each, _ in reversed(self._entries) if (each.kind, each.subject) == (kind, subject))
        return next(found, None)

    def last_of(self, kind: str, scope: str) -> LedgerRecord | None:
        found = [each for each, _ in self._entries if (each.kind, each.scope) == (kind, scope)]
        return max(found, key=lambda each: (each.place or 0, each.position), default=None)

    def after(self, position: int, limit: int) -> list[LedgerRecord]:
        first = bisect_right(self._entries, position, key=lambda each: each[0].position)
        return [each for each, _ in self._entries[first : first + limit]]

    def attachment(self, position: int) -> bytes | None:
        return self._entries[position - 1][1] if 0 < position <= len(self._entries) else None

    def add(self, make: Callable[[Head], LedgerRecord], attachment: bytes | None = None) -> LedgerRecord:
        record = make(self.head())
        place = (record.kind, record.scope, record.place)
        if None not in place and any((each.kind, each.scope, each.place) == place for each, _ in self._entries):
            raise refusals.place_taken(record.kind, record.place)
        self._entries.append((record, attachment))
        return record


class MemoryLedger:
    """What `LedgerTable` does, without a file; `LedgerRows` says what each method does."""

    def __init__(self, lock: threading.RLock) -> None:
        self._lock = lock
        self._entries: list[tuple[LedgerRecord, bytes | None]] = []

    @contextmanager
    def durable(self) -> Iterator[_MemoryTransaction]:
        """Give a transaction; what it added is dropped where something is raised."""
        with self._lock:
            before = len(self._entries)
            try:
                yield _MemoryTransaction(self._entries)
            except BaseException:
                del self._entries[before:]
                raise

    staged = durable

    @contextmanager
    def reading(self) -> Iterator[_MemoryTransaction]:
        """Give a view of this moment."""
        yield _MemoryTransaction(list(self._entries))
