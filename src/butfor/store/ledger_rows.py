"""The ledger in the database: prepared statements, and a second connection whose commits wait for the disk."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from sqlalchemy import bindparam, insert, select

from butfor.store import refusals
from butfor.store.blobs import unpack_bytes
from butfor.store.database import Database
from butfor.store.ledger_records import Head, LedgerRecord
from butfor.store.tables import LEDGER

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from sqlalchemy.sql import Select

    from butfor.store.blobs import Packer
    from butfor.store.database import Prepared, Row

_FIELDS = tuple(LedgerRecord.__dataclass_fields__)


def _entries() -> Select[Any]:
    return select(*(LEDGER.c[name] for name in _FIELDS))


class _Statements:
    def __init__(self, prepare: Callable[[Any], Prepared]) -> None:
        kind, position = LEDGER.c.kind == bindparam("kind"), LEDGER.c.position
        last = position.desc()
        self.head = prepare(select(position, LEDGER.c.hash).order_by(last).limit(bindparam("limit")))
        self.at = prepare(_entries().where(position == bindparam("position")))
        self.about = prepare(
            _entries().where(kind, LEDGER.c.subject == bindparam("subject")).order_by(last).limit(bindparam("limit"))
        )
        self.last_of = prepare(
            _entries()
            .where(kind, LEDGER.c.scope == bindparam("scope"))
            .order_by(LEDGER.c.place.desc(), last)
            .limit(bindparam("limit"))
        )
        self.after = prepare(
            _entries().where(position > bindparam("position")).order_by(position).limit(bindparam("limit"))
        )
        self.attachment = prepare(
            select(LEDGER.c.attachment, LEDGER.c.size, LEDGER.c.body).where(position == bindparam("position"))
        )
        self.add = prepare(insert(LEDGER).values({column.name: bindparam(column.name) for column in LEDGER.c}))


class _Transaction:
    def __init__(self, cursor: Any, statements: _Statements, database: Database) -> None:
        self._cursor = cursor
        self._statements = statements
        self._database = database

    def head(self) -> Head:
        row = self._one(self._statements.head, {"limit": 1})
        return Head(position=0, hash="") if row is None else Head(position=row[0], hash=row[1])

    def at(self, position: int) -> LedgerRecord | None:
        return _record(self._one(self._statements.at, {"position": position}))

    def about(self, kind: str, subject: str) -> LedgerRecord | None:
        return _record(self._one(self._statements.about, {"kind": kind, "subject": subject, "limit": 1}))

    def last_of(self, kind: str, scope: str) -> LedgerRecord | None:
        return _record(self._one(self._statements.last_of, {"kind": kind, "scope": scope, "limit": 1}))

    def after(self, position: int, limit: int) -> list[LedgerRecord]:
        prepared = self._statements.after
        rows = self._cursor.execute(prepared.sql, prepared.bind({"position": position, "limit": limit}))
        return [_filled(row) for row in rows.fetchall()]

    def attachment(self, position: int) -> bytes | None:
        row = self._one(self._statements.attachment, {"position": position})
        return None if row is None or row[0] is None else unpack_bytes(row[0], row[1] or 0, row[2] or b"")

    def add(self, make: Callable[[Head], LedgerRecord], attachment: bytes | None = None) -> LedgerRecord:
        record = make(self.head())
        row = _row(record, attachment, self._database.packer)
        prepared = self._statements.add
        try:
            self._cursor.execute(prepared.sql, prepared.bind(row))
        except self._database.errors.IntegrityError:
            raise refusals.place_taken(record.kind, record.place) from None
        return record

    def _one(self, prepared: Prepared, values: Row) -> tuple[Any, ...] | None:
        row: tuple[Any, ...] | None = self._cursor.execute(prepared.sql, prepared.bind(values)).fetchone()
        return row


class LedgerTable:
    """The ledger of a store; `LedgerRows` says what each method does.

    Args:
        database: The store's connection, whose commits survive the death of the process.
    """

    def __init__(self, database: Database) -> None:
        self._database = database
        self._durable = Database(database.path, patience=database.patience, survives="machine")
        self._statements = _Statements(database.prepare)

    @contextmanager
    def durable(self) -> Iterator[_Transaction]:
        """Give a transaction that is on disk when it ends."""
        # The lock of the other connection too: two threads of one process then never wait for each other by polling.
        with self._database.lock, self._durable.driving(write=True) as cursor:
            yield _Transaction(cursor, self._statements, self._durable)

    @contextmanager
    def staged(self) -> Iterator[_Transaction]:
        """Give a transaction that survives the death of the process."""
        with self._database.driving(write=True) as cursor:
            yield _Transaction(cursor, self._statements, self._database)

    @contextmanager
    def reading(self) -> Iterator[_Transaction]:
        """Give a view that no writer blocks."""
        with self._database.driving(write=False) as cursor:
            yield _Transaction(cursor, self._statements, self._database)

    def close(self) -> None:
        """Close the connection that waits for the disk."""
        self._durable.close()


def _record(row: tuple[Any, ...] | None) -> LedgerRecord | None:
    return None if row is None else _filled(row)


def _filled(row: tuple[Any, ...]) -> LedgerRecord:
    return LedgerRecord(**dict(zip(_FIELDS, row, strict=True)))


def _row(record: LedgerRecord, attachment: bytes | None, packer: Packer) -> Row:
    row: dict[str, object] = {name: getattr(record, name) for name in _FIELDS}
    if attachment is None:
        return {**row, "size": None, "body": None}
    blob = packer.pack_bytes(attachment)
    assert blob.digest == record.attachment
    return {**row, "size": blob.size, "body": blob.body}
