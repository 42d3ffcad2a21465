"""Runs and their specs."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sqlalchemy import desc, func, insert, select, update

from butfor import runs
from butfor.store import refusals, summaries, texts
from butfor.store.tables import RUNS, SPECS

if TYPE_CHECKING:
    from sqlalchemy import Connection

    from butfor.runs import Run
    from butfor.store.blobs import Packer
    from butfor.store.records import RunSummary


def save(connection: Connection, packer: Packer, run: Run) -> None:
    """Store a run, or fill the row that its recording began."""
    refusals.writable(run.run_id)
    row = {**summaries.of_run(run), "document": texts.put(connection, packer, runs.to_text(run))}
    stored = connection.execute(select(RUNS.c.document).where(RUNS.c.run_id == run.run_id)).first()
    if stored is None:
        connection.execute(insert(RUNS), row)
    elif stored.document is None:
        connection.execute(update(RUNS).where(RUNS.c.run_id == run.run_id), row)
    elif stored.document != row["document"] and load(connection, run.run_id) != run:
        # Equal runs may have unequal texts where another version of butfor wrote one of them.
        raise refusals.already("run", run.run_id)


def load(connection: Connection, run_id: str) -> Run:
    """Return a run by its whole id."""
    document = connection.execute(select(RUNS.c.document).where(RUNS.c.run_id == run_id)).scalar()
    if document is None:
        raise refusals.no_document(run_id)
    return runs.from_text(texts.take(connection, document), where=f"run {run_id}")


def resolve(connection: Connection, run_id: str) -> str:
    """Return the whole id for an id or a unique prefix."""
    refusals.writable(run_id)
    if connection.execute(select(RUNS.c.position).where(RUNS.c.run_id == run_id)).first():
        return run_id
    return refusals.match_id(
        run_id, connection.execute(select(RUNS.c.run_id).order_by(desc(RUNS.c.position))).scalars().all()
    )


def require(connection: Connection, run_id: str) -> None:
    """Refuse to save something for a run that is not there."""
    refusals.writable(run_id)
    if not connection.execute(select(RUNS.c.position).where(RUNS.c.run_id == run_id)).first():
        raise refusals.no_such_run(run_id)


def listed(connection: Connection, limit: int | None) -> list[RunSummary]:
    """Return the summaries, the last stored first."""
    query = select(RUNS).order_by(desc(RUNS.c.position)).limit(limit)
    lines = []
    for row in connection.execute(query).mappings():
        shown = {name: value for name, value in row.items() if name not in ("position", "document")}
        lines.append(summaries.summary(shown, complete=row["document"] is not None))
    return lines


def save_spec(connection: Connection, packer: Packer, run_id: str, text: str) -> None:
    """Keep a spec under the next version, unless it is the latest already."""
    require(connection, run_id)
    digest = texts.put(connection, packer, text)
    latest = _latest_spec(connection, run_id)
    if digest != latest:
        count = connection.execute(select(func.count()).where(SPECS.c.run_id == run_id)).scalar_one()
        connection.execute(insert(SPECS), {"run_id": run_id, "version": count, "body": digest})


def load_spec(connection: Connection, run_id: str) -> str:
    """Return the latest spec of a run by its whole id."""
    digest = _latest_spec(connection, run_id)
    if digest is None:
        raise refusals.no_spec(run_id)
    return texts.take(connection, digest)


def _latest_spec(connection: Connection, run_id: str) -> str | None:
    query = select(SPECS.c.body).where(SPECS.c.run_id == run_id).order_by(desc(SPECS.c.version)).limit(1)
    digest: str | None = connection.execute(query).scalar()
    return digest
