"""Recordings: one commit a crossing while they are written, one blob when they are finished."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sqlalchemy import bindparam, delete, insert, select, update

from butfor import canonical
from butfor.errors import CorruptRecord
from butfor.store import refusals, summaries, texts
from butfor.store.blobs import to_bytes, to_text
from butfor.store.tables import CROSSINGS, RECORDINGS, RUNS

if TYPE_CHECKING:
    from collections.abc import Mapping

    from sqlalchemy import Connection

    from butfor.canonical import Json
    from butfor.store.database import Database


class SqlRecording:
    """A journal that is being written into a database."""

    def __init__(self, database: Database, run_id: str) -> None:
        self._database = database
        self._run_id = run_id
        self._place = 0
        self._finished = False
        self._append = database.prepare(
            insert(CROSSINGS).values({column.name: bindparam(column.name) for column in CROSSINGS.c})
        )

    @property
    def run_id(self) -> str:
        """The run that is being recorded."""
        return self._run_id

    def append(self, line: str) -> None:
        """Commit one boundary crossing."""
        refusals.one_line(line, self._run_id)
        raw = to_bytes(line)
        with self._database.lock:
            if self._finished:
                raise refusals.finished(self._run_id)
            row = {"run_id": self._run_id, "place": self._place, "digest": canonical.digest_text(raw), "line": raw}
            self._database.commit((self._append, row))
            self._place += 1

    def finish(self) -> None:
        """Pack the lines into one blob."""
        with self._database.lock:
            if self._finished:
                return
            with self._database.writing() as connection:
                journal = "".join(line + "\n" for line in _open_lines(connection, self._run_id))
                digest = texts.put(connection, self._database.packer, journal)
                connection.execute(update(RECORDINGS).where(RECORDINGS.c.run_id == self._run_id), {"journal": digest})
                connection.execute(delete(CROSSINGS).where(CROSSINGS.c.run_id == self._run_id))
            self._finished = True


def begin(database: Database, run_id: str, header: Mapping[str, Json]) -> SqlRecording:
    """Begin a recording under a new id."""
    refusals.writable(run_id)
    with database.writing() as connection:
        if connection.execute(select(RUNS.c.position).where(RUNS.c.run_id == run_id)).first():
            raise refusals.already("run", run_id)
        connection.execute(insert(RUNS), summaries.of_header(run_id, header))
        digest = texts.put(connection, database.packer, canonical.encode_exact(dict(header)))
        connection.execute(insert(RECORDINGS), {"run_id": run_id, "header": digest})
    return SqlRecording(database, run_id)


def header(connection: Connection, run_id: str) -> dict[str, Json]:
    """Return the header of a recording."""
    value = canonical.decode(texts.take(connection, _row(connection, run_id)[0]))
    assert isinstance(value, dict)
    return value


def lines(connection: Connection, run_id: str) -> list[str]:
    """Return the lines of a recording, finished or not."""
    journal = _row(connection, run_id)[1]
    if journal is None:
        return _open_lines(connection, run_id)
    # Not splitlines: JSON text may hold other characters that Unicode calls line breaks.
    return texts.take(connection, journal).split("\n")[:-1]


def _row(connection: Connection, run_id: str) -> tuple[str, str | None]:
    query = select(RECORDINGS.c.header, RECORDINGS.c.journal).where(RECORDINGS.c.run_id == run_id)
    row = connection.execute(query).first()
    if row is None:
        raise refusals.no_journal(run_id)
    return row.header, row.journal


def _open_lines(connection: Connection, run_id: str) -> list[str]:
    query = select(CROSSINGS).where(CROSSINGS.c.run_id == run_id).order_by(CROSSINGS.c.place)
    return [checked(row.digest, row.line, place_of(run_id, row.place)) for row in connection.execute(query)]


def place_of(run_id: str, place: int) -> str:
    """Name a crossing for a message."""
    return f"run {run_id}, crossing {place}"


def checked(digest: str, raw: bytes, where: str) -> str:
    """Return a line of an unfinished journal.

    Raises:
        CorruptRecord: It does not match its digest.
    """
    if canonical.digest_text(raw) != digest:
        raise CorruptRecord("a line of a journal does not match its digest", where=where)
    return to_text(raw)
