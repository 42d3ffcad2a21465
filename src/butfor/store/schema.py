"""Which version of the tables a store has, and how it comes to ours."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from sqlalchemy import column, inspect, select, table

from butfor.errors import StoreTooNew

if TYPE_CHECKING:
    from sqlalchemy import Connection

    from butfor.store.database import Database

MIGRATIONS = Path(__file__).parent / "migrations"
REVISIONS = ("0001", "0002")
"""Every revision in order. The last is what this version of butfor reads and writes."""

_VERSION = table("alembic_version", column("version_num"))


def bring_up_to_date(database: Database) -> None:
    """Create or migrate the tables where they are not ours already.

    Raises:
        StoreTooNew: A newer version of butfor wrote this store.
    """
    with database.reading() as connection:
        if _found(connection, database) == REVISIONS[-1]:
            return
    with database.writing() as connection:
        # Another process may have done it while this one waited for the lock.
        if _found(connection, database) != REVISIONS[-1]:
            _upgrade(connection)


def _found(connection: Connection, database: Database) -> str | None:
    """Return the store's revision; None where it has no table yet."""
    if not inspect(connection).has_table(_VERSION.name):
        return None
    found: str | None = connection.execute(select(_VERSION.c.version_num)).scalar()
    if found is not None and found not in REVISIONS:
        raise StoreTooNew(
            f"the store has version {found}, and this butfor knows versions up to {REVISIONS[-1]}",
            where=str(database.path),
            fix="upgrade butfor, or set BUTFOR_HOME to another directory",
        )
    return found


def _upgrade(connection: Connection) -> None:
    # Imported here: Alembic is needed once in the life of a store, and costs 100 ms.
    from alembic import command
    from alembic.config import Config

    config = Config(attributes={"connection": connection})
    config.set_main_option("script_location", str(MIGRATIONS).replace("%", "%%"))
    command.upgrade(config, "head")
