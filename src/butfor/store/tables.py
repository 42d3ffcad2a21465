"""The tables. They change by a migration only; a test holds the two against each other.

Timestamps are text (ISO 8601, UTC, microseconds), so that every database sorts and keeps them alike. Texts that may be
large, or hold anything, are blobs.
"""

from __future__ import annotations

from sqlalchemy import Column, Float, ForeignKey, Index, Integer, LargeBinary, MetaData, Table, Text, UniqueConstraint
from sqlalchemy.types import BigInteger

METADATA = MetaData()


def _blob(name: str, *, nullable: bool = False) -> Column[str]:
    return Column(name, Text, ForeignKey("blobs.digest"), nullable=nullable)


BLOBS = Table(
    "blobs",
    METADATA,
    Column("digest", Text, primary_key=True),
    Column("size", BigInteger, nullable=False),
    Column("body", LargeBinary, nullable=False),
)

RUNS = Table(
    "runs",
    METADATA,
    Column("position", Integer, primary_key=True),
    Column("run_id", Text, nullable=False, unique=True),
    Column("recorded_at", Text),
    Column("agent", Text),
    Column("format", Text),
    Column("steps", Integer),
    Column("outcome", Float),
    Column("grade", Text),
    _blob("document", nullable=True),
)
"""A row without a document is a recording that was begun."""

RECORDINGS = Table(
    "recordings",
    METADATA,
    Column("run_id", Text, ForeignKey("runs.run_id"), primary_key=True),
    _blob("header"),
    _blob("journal", nullable=True),
)
"""A row without a journal is not finished; its lines are in `crossings` until it is."""

CROSSINGS = Table(
    "crossings",
    METADATA,
    Column("run_id", Text, ForeignKey("recordings.run_id"), primary_key=True),
    Column("place", Integer, primary_key=True),
    Column("digest", Text, nullable=False),
    Column("line", LargeBinary, nullable=False),
)

SPECS = Table(
    "specs",
    METADATA,
    Column("run_id", Text, ForeignKey("runs.run_id"), primary_key=True),
    Column("version", Integer, primary_key=True),
    _blob("body"),
)

ARMS = Table(
    "arms",
    METADATA,
    Column("arm_id", Integer, primary_key=True),
    Column("run_id", Text, ForeignKey("runs.run_id"), nullable=False),
    Column("fingerprint", Text, nullable=False),
    _blob("arm"),
    UniqueConstraint("run_id", "fingerprint", "arm", name="one_row_an_arm"),
)
"""An intervention may hold a whole observation; a rollout refers to it by number."""

ROLLOUTS = Table(
    "rollouts",
    METADATA,
    Column("position", Integer, primary_key=True),
    Column("rollout_id", Text, nullable=False, unique=True),
    Column("arm_id", Integer, ForeignKey("arms.arm_id"), nullable=False),
    Column("draw", BigInteger, nullable=False),
    Column("status", Text, nullable=False),
    Column("outcome", Float),
    Column("counts", LargeBinary, nullable=False),
    Column("created_at", Text, nullable=False),
    _blob("journal"),
    UniqueConstraint("arm_id", "draw", name="one_row_a_draw"),
)

RESULTS = Table(
    "results",
    METADATA,
    Column("position", Integer, primary_key=True),
    Column("result_id", Text, nullable=False, unique=True),
    Column("run_id", Text, ForeignKey("runs.run_id"), nullable=False),
    Column("kind", Text, nullable=False),
    _blob("params"),
    _blob("body"),
    Index("results_of_a_run", "run_id"),
)

LEDGER = Table(
    "ledger",
    METADATA,
    Column("position", Integer, primary_key=True, autoincrement=False),
    Column("at", Text, nullable=False),
    Column("kind", Text, nullable=False),
    Column("subject", Text),
    Column("scope", Text),
    Column("place", Integer),
    Column("payload", LargeBinary, nullable=False),
    Column("attachment", Text),
    Column("previous", Text, nullable=False),
    Column("hash", Text, nullable=False),
    Column("size", BigInteger),
    Column("body", LargeBinary),
    Index("entries_about", "kind", "subject"),
    UniqueConstraint("kind", "scope", "place", name="one_entry_a_place"),
)
"""A place of a scope is taken once: two processes never spend the same budget or use up the same approval twice.

`body` is the attachment as one Zstandard frame. It is the last column, so that a scan does not read it.
"""
