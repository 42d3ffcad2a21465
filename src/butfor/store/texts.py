"""Texts in and out of the blobs table."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sqlalchemy import select

from butfor.errors import CorruptRecord
from butfor.store import sqlite
from butfor.store.blobs import unpack
from butfor.store.tables import BLOBS

if TYPE_CHECKING:
    from sqlalchemy import Connection

    from butfor.store.blobs import Packer
    from butfor.store.database import Row

INSERT = sqlite.insert_if_absent(BLOBS)


def put(connection: Connection, packer: Packer, text: str) -> str:
    """Store a text, where it is not stored, and return its digest."""
    blob = packer.pack(text)
    connection.execute(INSERT, {"digest": blob.digest, "size": blob.size, "body": blob.body})
    return blob.digest


def row_of(packer: Packer, text: str) -> Row:
    """Return the row of a text, for a prepared insertion."""
    blob = packer.pack(text)
    return {"digest": blob.digest, "size": blob.size, "body": blob.body}


def take(connection: Connection, digest: str) -> str:
    """Return a stored text.

    Raises:
        CorruptRecord: It is not there, or does not match its digest.
    """
    row = connection.execute(select(BLOBS.c.size, BLOBS.c.body).where(BLOBS.c.digest == digest)).first()
    if row is None:
        raise CorruptRecord("a stored text is missing", where=digest)
    return unpack(digest, row.size, row.body)
