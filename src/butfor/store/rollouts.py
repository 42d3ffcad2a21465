"""Rollouts: one commit each, on the path that an analysis takes thousands of times."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING

from sqlalchemy import bindparam, func, insert, select

from butfor import canonical
from butfor.store import refusals, run_rows, texts
from butfor.store.blobs import to_bytes, to_text
from butfor.store.records import ArmSummary, RolloutRecord, StoredRollout
from butfor.store.tables import ARMS, BLOBS, ROLLOUTS

if TYPE_CHECKING:
    from sqlalchemy import Connection, Row

    from butfor.store.database import Database


class RolloutRows:
    """The rollouts of a store, with what is compiled and looked up once."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._insert_blob = database.prepare(
            texts.INSERT.values({column.name: bindparam(column.name) for column in BLOBS.c})
        )
        self._insert = database.prepare(
            insert(ROLLOUTS).values(
                {column.name: bindparam(column.name) for column in ROLLOUTS.c if column.name != "position"}
            )
        )
        # Nothing is deleted, so a number once seen stays right.
        self._arms: dict[tuple[str, str, str], int] = {}

    def save(self, record: RolloutRecord) -> None:
        """Store one rollout in one commit."""
        refusals.writable(record.rollout_id, record.run_id, record.fingerprint, record.status)
        database = self._database
        with database.lock:
            key = (record.run_id, record.fingerprint, record.arm)
            arm_id = self._arms.get(key)
            if arm_id is None:
                arm_id = self._arms[key] = self._begin_arm(record)
            blob = texts.row_of(database.packer, record.journal)
            row = {
                "rollout_id": record.rollout_id,
                "arm_id": arm_id,
                "draw": record.draw,
                "status": record.status,
                "outcome": record.outcome,
                "counts": to_bytes(record.counts),
                "created_at": record.created_at.astimezone(UTC).isoformat(timespec="microseconds"),
                "journal": blob["digest"],
            }
            try:
                database.commit((self._insert_blob, blob), (self._insert, row))
            except database.errors.IntegrityError:
                self._explain(record)

    def _begin_arm(self, record: RolloutRecord) -> int:
        with self._database.writing() as connection:
            run_rows.require(connection, record.run_id)
            arm = texts.put(connection, self._database.packer, record.arm)
            found = _arm_id(connection, record.run_id, record.fingerprint, arm)
            if found is None:
                row = {"run_id": record.run_id, "fingerprint": record.fingerprint, "arm": arm}
                found = connection.execute(insert(ARMS).returning(ARMS.c.arm_id), row).scalar_one()
            return found

    def _explain(self, record: RolloutRecord) -> None:
        """Accept a record that is stored as it is; say what is taken otherwise."""
        with self._database.reading() as connection:
            same_id = connection.execute(_SELECT.where(ROLLOUTS.c.rollout_id == record.rollout_id)).first()
            if same_id is None:
                raise refusals.draw_taken(record.draw, record.arm, record.run_id)
            same_text = texts.take(connection, same_id.journal) == record.journal
            if not same_text or _from_row(connection, same_id) != record.without_journal():
                raise refusals.already("rollout", record.rollout_id)


_SELECT = select(ROLLOUTS, ARMS.c.run_id, ARMS.c.fingerprint, ARMS.c.arm).join(ARMS)


def load(connection: Connection, run_id: str, fingerprint: str, arm: str) -> list[StoredRollout]:
    """Return the rollouts of an arm in the order of their draws."""
    refusals.writable(fingerprint)
    arm_id = _arm_id(connection, run_id, fingerprint, canonical.digest_text(to_bytes(arm)))
    rows = connection.execute(_SELECT.where(ROLLOUTS.c.arm_id == arm_id).order_by(ROLLOUTS.c.draw))
    return [_from_row(connection, row, arm=arm) for row in rows]


def journal(connection: Connection, rollout_id: str) -> str:
    """Return the journal of a rollout."""
    refusals.writable(rollout_id)
    digest = connection.execute(select(ROLLOUTS.c.journal).where(ROLLOUTS.c.rollout_id == rollout_id)).scalar()
    if digest is None:
        raise refusals.no_such("rollout", rollout_id)
    return texts.take(connection, digest)


def arms(connection: Connection, run_id: str) -> list[ArmSummary]:
    """List the arms of a run that have rollouts."""
    query = (
        select(
            ARMS.c.fingerprint,
            ARMS.c.arm,
            func.count().label("rollouts"),
            # All are written in UTC and to the microsecond, so the first as text is the first in time.
            func.min(ROLLOUTS.c.created_at).label("oldest"),
        )
        .join(ROLLOUTS)
        .where(ARMS.c.run_id == run_id)
        .group_by(ARMS.c.arm_id, ARMS.c.fingerprint, ARMS.c.arm)
        .order_by(ARMS.c.arm_id)
    )
    return [
        ArmSummary(
            fingerprint=row.fingerprint,
            arm=texts.take(connection, row.arm),
            rollouts=row.rollouts,
            oldest=datetime.fromisoformat(row.oldest),
        )
        for row in connection.execute(query).all()
    ]


def _arm_id(connection: Connection, run_id: str, fingerprint: str, arm: str) -> int | None:
    query = select(ARMS.c.arm_id).where(ARMS.c.run_id == run_id, ARMS.c.fingerprint == fingerprint, ARMS.c.arm == arm)
    found: int | None = connection.execute(query).scalar()
    return found


def _from_row(connection: Connection, row: Row[tuple[object, ...]], *, arm: str | None = None) -> StoredRollout:
    return StoredRollout(
        rollout_id=row.rollout_id,
        run_id=row.run_id,
        fingerprint=row.fingerprint,
        arm=texts.take(connection, row.arm) if arm is None else arm,
        draw=row.draw,
        status=row.status,
        outcome=row.outcome,
        counts=to_text(row.counts),
        created_at=datetime.fromisoformat(row.created_at),
    )
