"""The ledger of the gate."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0002"
down_revision = "0001"

# A guard against a mistaken statement, and no proof: whoever may write the file may drop a trigger. What was rewritten
# shows in the hash chain and against a signed checkpoint.
_GUARD = """
CREATE TRIGGER ledger_refuses_{verb} BEFORE {verb} ON ledger
BEGIN SELECT RAISE(ABORT, 'the ledger is append-only: nothing in it is changed or deleted'); END
"""


def upgrade() -> None:
    """Create the ledger."""
    op.create_table(
        "ledger",
        sa.Column("position", sa.Integer(), primary_key=True, autoincrement=False),
        sa.Column("at", sa.Text(), nullable=False),
        sa.Column("kind", sa.Text(), nullable=False),
        sa.Column("subject", sa.Text()),
        sa.Column("scope", sa.Text()),
        sa.Column("place", sa.Integer()),
        sa.Column("payload", sa.LargeBinary(), nullable=False),
        sa.Column("attachment", sa.Text()),
        sa.Column("previous", sa.Text(), nullable=False),
        sa.Column("hash", sa.Text(), nullable=False),
        sa.Column("size", sa.BigInteger()),
        sa.Column("body", sa.LargeBinary()),
        sa.UniqueConstraint("kind", "scope", "place", name="one_entry_a_place"),
    )
    op.create_index("entries_about", "ledger", ["kind", "subject"])
    if op.get_bind().dialect.name == "sqlite":
        for verb in ("UPDATE", "DELETE"):
            op.execute(_GUARD.format(verb=verb))
