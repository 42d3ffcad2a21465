"""SQLite: the only file that knows which database this is."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

import sqlalchemy
from sqlalchemy import event
from sqlalchemy.dialects.sqlite import insert
from sqlalchemy.pool import NullPool

from butfor.errors import CorruptRecord, StoreError

if TYPE_CHECKING:
    import sqlite3
    from pathlib import Path

    from sqlalchemy import Connection, Engine, Table
    from sqlalchemy.sql import Insert

_SENTENCES: dict[str, tuple[str, str]] = {
    "BUSY": ("another process is writing to the store", "try again when it has finished"),
    "LOCKED": ("another process is writing to the store", "try again when it has finished"),
    "READONLY": ("the store may not be written to", "change the permissions, or set BUTFOR_HOME to another directory"),
    "CANTOPEN": ("the store cannot be opened", "check its permissions, or set BUTFOR_HOME to another directory"),
    "PERM": ("the store may not be opened", "change the permissions, or set BUTFOR_HOME to another directory"),
    "FULL": ("the disk is full", "free some space; what was committed is kept"),
    "IOERR": ("the disk did not do what it was asked", "check the disk; what was committed is kept"),
}
_BROKEN = {"CORRUPT", "NOTADB"}


# In WAL mode NORMAL loses nothing that was committed when a process dies, and cannot corrupt the file when the machine
# does: 0.14 ms a commit, against 4 ms with FULL. FULL waits for the disk: one fsync of the log a commit, which covers
# everything that was committed before it, on this or any other connection.
_SYNCHRONOUS = {"process": "NORMAL", "machine": "FULL"}
Survives: TypeAlias = Literal["process", "machine"]
"""Whose death a commit survives at the moment when it returns."""


def engine(path: Path, *, patience: float, survives: Survives = "process") -> Engine:
    """Return an engine whose connections are in WAL mode and check foreign keys.

    Args:
        path: The database file.
        patience: Seconds to wait for another process that is writing.
        survives: Whose death a commit survives at once.
    """
    made = sqlalchemy.create_engine(
        sqlalchemy.URL.create("sqlite", database=str(path)),
        poolclass=NullPool,
        connect_args={"timeout": patience, "check_same_thread": False},
    )
    event.listen(made, "connect", partial(_prepare, survives))
    return made


def _prepare(survives: Survives, connection: sqlite3.Connection, _record: object) -> None:
    connection.isolation_level = None  # transactions are begun by `begin`, never behind our back
    connection.execute("PRAGMA foreign_keys = ON")
    connection.execute("PRAGMA journal_mode = WAL")
    connection.execute(f"PRAGMA synchronous = {_SYNCHRONOUS[survives]}")


def begin(connection: Any, *, write: bool) -> None:
    """Begin a transaction: a writer takes the lock now, so that it never has to start over.

    Args:
        connection: The DBAPI connection.
        write: Whether anything will be written.
    """
    connection.execute("BEGIN IMMEDIATE" if write else "BEGIN")


def insert_if_absent(table: Table) -> Insert:
    """Return an insertion that does nothing where the row is there."""
    return insert(table).on_conflict_do_nothing()


def fault(error: BaseException, path: Path) -> StoreError:
    """Say in one sentence what the database complains of."""
    code = getattr(error, "sqlite_errorname", None) or "SQLITE_UNKNOWN"
    primary = code.split("_")[1]
    if primary in _BROKEN:
        return CorruptRecord("the store's file is damaged", where=str(path), fix="restore it from a copy")
    what, fix = _SENTENCES.get(primary, (f"the store cannot be used ({str(error).splitlines()[0]})", None))
    return StoreError(what, where=str(path), fix=fix)


def integrity(connection: Connection) -> list[str]:
    """Return what the database itself finds wrong with its file; empty where nothing is."""
    structure = [str(row[0]) for row in connection.exec_driver_sql("PRAGMA integrity_check")]
    references = [
        f"row {row[1]} of {row[0]} refers to a row of {row[2]} that is not there"
        for row in connection.exec_driver_sql("PRAGMA foreign_key_check")
    ]
    return [line for line in structure if line != "ok"] + references
