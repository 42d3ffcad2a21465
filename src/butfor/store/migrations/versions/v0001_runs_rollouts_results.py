"""Runs, recordings, rollouts and results."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0001"
down_revision = None


def upgrade() -> None:
    """Create the first tables."""
    op.create_table(
        "blobs",
        sa.Column("digest", sa.Text(), primary_key=True),
        sa.Column("size", sa.BigInteger(), nullable=False),
        sa.Column("body", sa.LargeBinary(), nullable=False),
    )
    _runs()
    _recordings()
    _rollouts()
    _results()


def _blob(name: str, *, nullable: bool = False) -> sa.Column[str]:
    return sa.Column(name, sa.Text(), sa.ForeignKey("blobs.digest"), nullable=nullable)


def _runs() -> None:
    op.create_table(
        "runs",
        sa.Column("position", sa.Integer(), primary_key=True),
        sa.Column("run_id", sa.Text(), nullable=False, unique=True),
        sa.Column("recorded_at", sa.Text()),
        sa.Column("agent", sa.Text()),
        sa.Column("format", sa.Text()),
        sa.Column("steps", sa.Integer()),
        sa.Column("outcome", sa.Float()),
        sa.Column("grade", sa.Text()),
        _blob("document", nullable=True),
    )
    op.create_table(
        "specs",
        sa.Column("run_id", sa.Text(), sa.ForeignKey("runs.run_id"), primary_key=True),
        sa.Column("version", sa.Integer(), primary_key=True),
        _blob("body"),
    )


def _recordings() -> None:
    op.create_table(
        "recordings",
        sa.Column("run_id", sa.Text(), sa.ForeignKey("runs.run_id"), primary_key=True),
        _blob("header"),
        _blob("journal", nullable=True),
    )
    op.create_table(
        "crossings",
        sa.Column("run_id", sa.Text(), sa.ForeignKey("recordings.run_id"), primary_key=True),
        sa.Column("place", sa.Integer(), primary_key=True),
        sa.Column("digest", sa.Text(), nullable=False),
        sa.Column("line", sa.LargeBinary(), nullable=False),
    )


def _rollouts() -> None:
    op.create_table(
        "arms",
        sa.Column("arm_id", sa.Integer(), primary_key=True),
        sa.Column("run_id", sa.Text(), sa.ForeignKey("runs.run_id"), nullable=False),
        sa.Column("fingerprint", sa.Text(), nullable=False),
        _blob("arm"),
        sa.UniqueConstraint("run_id", "fingerprint", "arm", name="one_row_an_arm"),
    )
    op.create_table(
        "rollouts",
        sa.Column("position", sa.Integer(), primary_key=True),
        sa.Column("rollout_id", sa.Text(), nullable=False, unique=True),
        sa.Column("arm_id", sa.Integer(), sa.ForeignKey("arms.arm_id"), nullable=False),
        sa.Column("draw", sa.BigInteger(), nullable=False),
        sa.Column("status", sa.Text(), nullable=False),
        sa.Column("outcome", sa.Float()),
        sa.Column("counts", sa.LargeBinary(), nullable=False),
        sa.Column("created_at", sa.Text(), nullable=False),
        _blob("journal"),
        sa.UniqueConstraint("arm_id", "draw", name="one_row_a_draw"),
    )


def _results() -> None:
    op.create_table(
        "results",
        sa.Column("position", sa.Integer(), primary_key=True),
        sa.Column("result_id", sa.Text(), nullable=False, unique=True),
        sa.Column("run_id", sa.Text(), sa.ForeignKey("runs.run_id"), nullable=False),
        sa.Column("kind", sa.Text(), nullable=False),
        _blob("params"),
        _blob("body"),
    )
    op.create_index("results_of_a_run", "results", ["run_id"])
