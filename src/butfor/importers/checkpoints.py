"""LangGraph's SQLite checkpoints, opened read-only, as the snapshots of `get_state_history`."""

from __future__ import annotations

import json
import sqlite3
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import quote

from butfor.errors import InputError
from butfor.importers import msgpack
from butfor.importers.records import unheard

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from butfor.canonical import Json
    from butfor.importers.inputs import Source
    from butfor.importers.records import Record

_QUERY = (
    "SELECT thread_id, checkpoint_ns, checkpoint_id, parent_checkpoint_id, type, checkpoint, metadata "
    "FROM checkpoints ORDER BY thread_id, checkpoint_ns, checkpoint_id"
)


class CheckpointRecords:
    """One record for each checkpoint, in the shape of a state snapshot.

    The database is opened with `immutable`: nothing beside it is written, not even a lock.

    Args:
        source: The bytes and how they are opened.
    """

    def __init__(self, source: Source) -> None:
        self.digest: str | None = source.digest
        self._source = source

    def each(self, problem: Callable[[InputError], None] = unheard) -> Iterator[Record]:
        """Read from the start.

        Raises:
            InputError: This is no checkpoint database, or it is damaged.
        """
        path = Path(self._source.name)
        if not path.is_file():
            raise InputError(
                "a database cannot be read from standard input", where=self._source.name, fix="name the file"
            )
        log = path.with_name(path.name + "-wal")
        if log.is_file() and log.stat().st_size:
            problem(
                InputError(
                    "the database has a write-ahead log beside it, whose checkpoints are not read",
                    where=self._source.name,
                    fix="close the program that writes it, or run: sqlite3 FILE 'PRAGMA wal_checkpoint'",
                )
            )
        try:
            connection = sqlite3.connect(f"file:{quote(str(path))}?mode=ro&immutable=1", uri=True)
        except sqlite3.Error as error:
            raise self._damaged(error) from None
        try:
            connection.execute("PRAGMA trusted_schema=OFF")
            kind = connection.execute("SELECT type FROM sqlite_master WHERE name = 'checkpoints'").fetchone()
            if kind != ("table",):
                raise InputError(
                    "this SQLite file holds no LangGraph checkpoints",
                    where=self._source.name,
                    fix="export the traces in it as JSON",
                )
            for row in connection.execute(_QUERY):
                record = self._record(row, problem)
                if record is not None:
                    yield record
        except sqlite3.Error as error:
            raise self._damaged(error) from None
        finally:
            connection.close()

    def _damaged(self, error: sqlite3.Error) -> InputError:
        return InputError(f"the database cannot be read ({error})", where=self._source.name, fix="copy it again")

    def _record(self, row: tuple[Json, ...], problem: Callable[[InputError], None]) -> Record | None:
        thread, namespace, name, parent, kind, blob, metadata = row
        where = f"{self._source.name}, checkpoint {str(name)[:80]}"
        try:
            checkpoint = _opened(str(kind), blob)
            described = json.loads(metadata) if metadata else {}
        except (ValueError, TypeError, RecursionError) as error:
            problem(InputError(f"the checkpoint is not read ({str(error)[:80]})", where=where))
            return None
        snapshot = {
            "values": checkpoint.get("channel_values", {}) if isinstance(checkpoint, dict) else {},
            "config": {"configurable": {"thread_id": thread, "checkpoint_ns": namespace, "checkpoint_id": name}},
            "parent_config": {"configurable": {"checkpoint_id": parent}} if parent else None,
            "metadata": described,
            "created_at": checkpoint.get("ts") if isinstance(checkpoint, dict) else None,
        }
        return self._source.record(snapshot, part=f"checkpoint {str(name)[:80]}")


def _opened(kind: str, blob: Json) -> Json:
    """Read a blob that is data. A pickle is a program, and is never opened."""
    if kind == "msgpack":
        return msgpack.unpack(bytes(blob))
    if kind == "json":
        return json.loads(blob)
    raise ValueError(f"a {kind} blob is not opened; export get_state_history as JSON")
