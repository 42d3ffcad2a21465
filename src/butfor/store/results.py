"""Answers, as the verbs gave them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sqlalchemy import insert, select

from butfor.store import refusals, run_rows, texts
from butfor.store.records import ResultRecord
from butfor.store.tables import RESULTS

if TYPE_CHECKING:
    from sqlalchemy import Connection, Row

    from butfor.store.blobs import Packer


def save(connection: Connection, packer: Packer, record: ResultRecord) -> None:
    """Store an answer under a new id."""
    refusals.writable(record.result_id, record.kind)
    run_rows.require(connection, record.run_id)
    row = {
        "result_id": record.result_id,
        "run_id": record.run_id,
        "kind": record.kind,
        "params": texts.put(connection, packer, record.params),
        "body": texts.put(connection, packer, record.body),
    }
    stored = connection.execute(select(RESULTS).where(RESULTS.c.result_id == record.result_id)).mappings().first()
    if stored is None:
        connection.execute(insert(RESULTS), row)
    elif {name: stored[name] for name in row} != row:
        raise refusals.already("result", record.result_id)


def load(connection: Connection, result_id: str) -> ResultRecord:
    """Return an answer by its id."""
    refusals.writable(result_id)
    row = connection.execute(select(RESULTS).where(RESULTS.c.result_id == result_id)).first()
    if row is None:
        raise refusals.no_such("result", result_id)
    return _from_row(connection, row)


def listed(connection: Connection, run_id: str) -> list[ResultRecord]:
    """Return the answers about a run, the first saved first."""
    query = select(RESULTS).where(RESULTS.c.run_id == run_id).order_by(RESULTS.c.position)
    return [_from_row(connection, row) for row in connection.execute(query).all()]


def _from_row(connection: Connection, row: Row[tuple[object, ...]]) -> ResultRecord:
    return ResultRecord(
        result_id=row.result_id,
        run_id=row.run_id,
        kind=row.kind,
        params=texts.take(connection, row.params),
        body=texts.take(connection, row.body),
    )
