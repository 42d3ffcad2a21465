"""The ledger: what the gate decided, what became of it and who allowed what, chained by hashes, never rewritten.

The hash of an entry covers its position, the hash before, its time, kind, names, and the digests of its payload and of
what is attached to it. So whoever knows one hash knows every entry before it: change, drop, insert or reorder one, and
every later hash is another. What the chain alone cannot show is that its end is missing, or that somebody who may write
the file made all of it anew; for that, keep a signed checkpoint elsewhere (`butfor.gate.ledger.checkpoints`).
"""

from __future__ import annotations

import dataclasses
import json
from contextlib import contextmanager
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Self

from butfor.canonical import digest_text
from butfor.errors import CorruptRecord, InputError
from butfor.gate.signing.strict_json import canonical_bytes
from butfor.store.ledger_records import LedgerRecord

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping
    from pathlib import Path

    from butfor.canonical import Json
    from butfor.store import Head, LedgerRows, LedgerTransaction, LedgerView

SCHEMA = "butfor.ledger/1"
GENESIS = f"sha256:{'0' * 64}"
"""What stands for the hash before the first entry."""
KINDS = frozenset({"decision", "outcome", "checkpoint", "approval", "bypass", "graph", "policy", "key", "budget"})
_BATCH = 256


@dataclasses.dataclass(frozen=True, kw_only=True, slots=True)
class Entry:
    """One entry of the ledger.

    Attributes:
        position: Its number, from 1 without a gap.
        hash: Tagged SHA-256 of everything below.
        previous: The hash of the entry before.
        at: When it was appended, ISO 8601 in UTC.
        kind: One of `KINDS`.
        subject: Name of what it is about, such as a decision's id.
        scope: What its place is counted in.
        place: Its number in the scope; a place of a scope is taken once.
        payload: What it says.
        attachment: Digest of the bytes kept beside it, such as a certificate.
    """

    position: int
    hash: str
    previous: str
    at: str
    kind: str
    subject: str | None
    scope: str | None
    place: int | None
    payload: Mapping[str, Json]
    attachment: str | None


def entry_hash(record: LedgerRecord) -> str:
    """Derive the hash of an entry from its fields."""
    return digest_text(
        canonical_bytes(
            {
                "schema": SCHEMA,
                "position": record.position,
                "previous": record.previous,
                "at": record.at,
                "kind": record.kind,
                "subject": record.subject,
                "scope": record.scope,
                "place": record.place,
                "payload": digest_text(record.payload),
                "attachment": record.attachment,
            }
        )
    )


def utc_now() -> datetime:
    """Return the time, in UTC."""
    return datetime.now(UTC)


class View:
    """One consistent view of the ledger."""

    def __init__(self, view: LedgerView) -> None:
        self._view = view

    def head(self) -> Head:
        """Return position and hash of the last entry."""
        return self._view.head()

    def at(self, position: int) -> Entry | None:
        """Return an entry; None where there is none."""
        return _entry(self._view.at(position))

    def about(self, kind: str, subject: str) -> Entry | None:
        """Return the last entry of a kind about a subject; None where there is none."""
        return _entry(self._view.about(kind, subject))

    def last_of(self, kind: str, scope: str) -> Entry | None:
        """Return the entry with the last place of a scope; None where there is none."""
        return _entry(self._view.last_of(kind, scope))

    def attachment(self, position: int) -> bytes | None:
        """Return the bytes kept beside an entry."""
        return self._view.attachment(position)


class Pending(View):
    """A view that nobody else can change until it ends, and that can be appended to."""

    def __init__(self, transaction: LedgerTransaction, at: datetime) -> None:
        super().__init__(transaction)
        self._transaction = transaction
        self.now = at.astimezone(UTC)

    def add(
        self,
        kind: str,
        payload: Mapping[str, Json],
        *,
        subject: str | None = None,
        scope: str | None = None,
        place: int | None = None,
        attachment: bytes | None = None,
    ) -> Entry:
        """Append an entry; see `Ledger.append`."""
        if kind not in KINDS:
            raise InputError(f"{kind!r} is no kind of ledger entry", fix=f"one of {', '.join(sorted(KINDS))}")
        body = canonical_bytes(dict(payload))
        digest = None if attachment is None else digest_text(attachment)

        def make(head: Head) -> LedgerRecord:
            record = LedgerRecord(
                position=head.position + 1,
                at=self.now.isoformat(timespec="microseconds"),
                kind=kind,
                subject=subject,
                scope=scope,
                place=place,
                payload=body,
                attachment=digest,
                previous=head.hash or GENESIS,
                hash="",
            )
            return dataclasses.replace(record, hash=entry_hash(record))

        return entry_of(self._transaction.add(make, attachment), dict(payload))


class Ledger:
    """The ledger of a store.

    Any number of threads and processes may append: they take turns, so that the chain never forks.

    Args:
        rows: The table.
        clock: Tells the time, with a time zone.
    """

    def __init__(self, rows: LedgerRows, *, clock: Callable[[], datetime] = utc_now) -> None:
        self.rows = rows
        self._clock = clock
        self._close: Callable[[], None] = _nothing

    @classmethod
    def open(cls, path: Path | None = None, *, clock: Callable[[], datetime] = utc_now, patience: float = 5.0) -> Self:
        """Open the ledger of the store in a directory; either is created where needed.

        Args:
            path: The directory; `BUTFOR_HOME`, else `./.butfor`, where None.
            clock: Tells the time, with a time zone.
            patience: Seconds to wait for another process that is writing.

        Raises:
            StoreError: The store cannot be used.
        """
        from butfor.store import Store  # the database takes longer to import than a gate that never opens it may

        store = Store.open(path, patience=patience)
        opened = cls(store.ledger(), clock=clock)
        opened._close = store.close
        return opened

    def append(
        self,
        kind: str,
        payload: Mapping[str, Json],
        *,
        subject: str | None = None,
        scope: str | None = None,
        place: int | None = None,
        attachment: bytes | None = None,
    ) -> Entry:
        """Append an entry. It is on disk when this returns, with everything staged before it: one fsync.

        Args:
            kind: One of `KINDS`.
            payload: What it says; a JSON object that RFC 8785 can write.
            subject: Name of what it is about.
            scope: What its place is counted in.
            place: Its number in the scope.
            attachment: Bytes to keep beside it; their digest is in the chain.

        Raises:
            InputError: The kind is none, or the place of the scope is taken.
            NotRecordable: The payload has no canonical form.
            StoreError: It could not be written.
        """
        with self.appending() as pending:
            return pending.add(kind, payload, subject=subject, scope=scope, place=place, attachment=attachment)

    @contextmanager
    def appending(self) -> Iterator[Pending]:
        """Give a transaction that is on disk when it ends."""
        with self.rows.durable() as transaction:
            yield Pending(transaction, self._clock())

    @contextmanager
    def staging(self) -> Iterator[Pending]:
        """Give a transaction that survives the death of the process.

        It reaches the disk with the next `append`, so that whatever is returned after an `append` has its reservations
        on disk as well. If the machine stops in between, neither is there, and nobody has learnt anything from it.
        """
        with self.rows.staged() as transaction:
            yield Pending(transaction, self._clock())

    @contextmanager
    def reading(self) -> Iterator[View]:
        """Give one consistent view, which no writer blocks."""
        with self.rows.reading() as view:
            yield View(view)

    def entries(self, *, after: int = 0) -> Iterator[Entry]:
        """Return the entries behind a position, in order; a view is held for a batch at a time."""
        return (entry_of(record) for record in records(self.rows, after=after))

    def about(self, kind: str, subject: str) -> Entry | None:
        """Return the last entry of a kind about a subject; None where there is none."""
        with self.reading() as view:
            return view.about(kind, subject)

    def attachment(self, position: int) -> bytes | None:
        """Return the bytes kept beside an entry.

        Raises:
            CorruptRecord: They do not match their digest.
        """
        with self.reading() as view:
            return view.attachment(position)

    def close(self) -> None:
        """Close the store, where `open` opened it."""
        self._close()

    def __enter__(self) -> Self:
        """Return the ledger itself."""
        return self

    def __exit__(self, *exception: object) -> None:
        """Close the ledger."""
        self.close()


def records(rows: LedgerRows, *, after: int = 0) -> Iterator[LedgerRecord]:
    """Return what is stored behind a position, in order."""
    while True:
        with rows.reading() as view:
            batch = view.after(after, _BATCH)
        if not batch:
            return
        yield from batch
        after = batch[-1].position


def entry_of(record: LedgerRecord, payload: Mapping[str, Json] | None = None) -> Entry:
    """Return a stored entry with its payload read; whether it is what was written, `verify` says.

    Raises:
        CorruptRecord: The payload is no JSON.
    """
    if payload is None:
        try:
            payload = json.loads(record.payload)
        except ValueError:
            where = f"entry {record.position} of the ledger"
            raise CorruptRecord("a payload is not JSON", where=where, fix="run butfor gate verify-log") from None
    return Entry(
        position=record.position,
        hash=record.hash,
        previous=record.previous,
        at=record.at,
        kind=record.kind,
        subject=record.subject,
        scope=record.scope,
        place=record.place,
        payload=payload,
        attachment=record.attachment,
    )


def _entry(record: LedgerRecord | None) -> Entry | None:
    return None if record is None else entry_of(record)


def _nothing() -> None:
    pass
