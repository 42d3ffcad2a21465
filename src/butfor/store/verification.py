"""Derive every digest again."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sqlalchemy import select, tuple_

from butfor.errors import CorruptRecord, StoreError
from butfor.store import journals, sqlite
from butfor.store.blobs import unpack, unpack_bytes
from butfor.store.records import Mismatch, Verification
from butfor.store.tables import BLOBS, CROSSINGS, LEDGER

if TYPE_CHECKING:
    from collections.abc import Iterator

    from butfor.store.database import Database

# A view is held for one batch only, so that a long check does not keep a writer's log from being folded in.
_BATCH = 256


def verify(database: Database) -> Verification:
    """Check every blob, line of an unfinished journal and attachment of the ledger, and the database file itself.

    Whether the ledger's chain is whole, the gate says: only it knows what an entry's hash covers.
    """
    checked = 0
    found: list[Mismatch] = []
    try:
        for mismatch in (*_blobs(database), *_crossings(database), *_attachments(database)):
            checked += 1
            found += [mismatch] if mismatch else []
        with database.reading() as connection:
            problems = sqlite.integrity(connection)
        found += [Mismatch(kind="database", name=str(database.path), problem=problem) for problem in problems]
    except StoreError as error:
        found.append(Mismatch(kind="database", name=str(database.path), problem=error.what))
    return Verification(checked=checked, mismatches=tuple(found))


def _blobs(database: Database) -> Iterator[Mismatch | None]:
    last = ""
    while True:
        query = select(BLOBS).where(BLOBS.c.digest > last).order_by(BLOBS.c.digest).limit(_BATCH)
        with database.reading() as connection:
            rows = connection.execute(query).all()
        if not rows:
            return
        for row in rows:
            try:
                unpack(row.digest, row.size, row.body)
                yield None
            except CorruptRecord as error:
                yield Mismatch(kind="blob", name=row.digest, problem=error.what)
        last = rows[-1].digest


def _crossings(database: Database) -> Iterator[Mismatch | None]:
    last: tuple[str, int] = ("", -1)
    key = tuple_(CROSSINGS.c.run_id, CROSSINGS.c.place)
    while True:
        query = select(CROSSINGS).where(key > last).order_by(CROSSINGS.c.run_id, CROSSINGS.c.place).limit(_BATCH)
        with database.reading() as connection:
            rows = connection.execute(query).all()
        if not rows:
            return
        for row in rows:
            where = journals.place_of(row.run_id, row.place)
            try:
                journals.checked(row.digest, row.line, where)
                yield None
            except CorruptRecord as error:
                yield Mismatch(kind="crossing", name=where, problem=error.what)
        last = (rows[-1].run_id, rows[-1].place)


def _attachments(database: Database) -> Iterator[Mismatch | None]:
    last = 0
    columns = (LEDGER.c.position, LEDGER.c.attachment, LEDGER.c.size, LEDGER.c.body)
    while True:
        query = select(*columns).where(LEDGER.c.position > last).order_by(LEDGER.c.position).limit(_BATCH)
        with database.reading() as connection:
            rows = connection.execute(query).all()
        if not rows:
            return
        for row in rows:
            if row.attachment is None:
                continue
            try:
                unpack_bytes(row.attachment, row.size or 0, row.body or b"")
                yield None
            except CorruptRecord as error:
                yield Mismatch(kind="attachment", name=f"entry {row.position} of the ledger", problem=error.what)
        last = rows[-1].position
