"""The ledger and the disk: one fsync an append, old stores get a ledger, and a mistaken statement is refused."""

import shutil
import sqlite3
import subprocess
import sys

import pytest
from alembic import command
from alembic.config import Config
from sqlalchemy import create_engine

from butfor.canonical import digest_text
from butfor.store import Store
from butfor.store.schema import MIGRATIONS
from tests.contract.stores import run
from tests.contract.test_ledgers import add, entry
from tests.patience import PATIENCE, ROOT

APPENDS = """
import sys
from pathlib import Path
from butfor.canonical import digest_text
from butfor.store import Store
from tests.contract.test_ledgers import entry

with Store.open(Path(sys.argv[1])) as store:
    rows = store.ledger()
    with rows.durable() as transaction:
        transaction.add(entry)
    Path(sys.argv[1], "begin").touch()
    for _ in range(20):
        with getattr(rows, sys.argv[2])() as transaction:
            transaction.add(entry)
    Path(sys.argv[1], "end").touch()
"""


@pytest.mark.skipif(shutil.which("strace") is None, reason="strace counts system calls; install it to run this")
@pytest.mark.parametrize(("transaction", "expected"), [("durable", 20), ("staged", 0)])
def test_an_append_waits_for_the_disk_once_and_a_reservation_does_not(tmp_path, transaction, expected):
    trace = tmp_path / "trace"
    calls = "trace=fsync,fdatasync,sync_file_range,openat"
    subprocess.run(
        ["strace", "-f", "-e", calls, "-o", trace, sys.executable, "-c", APPENDS, tmp_path, transaction],
        check=True,
        timeout=PATIENCE,
        cwd=ROOT,
    )
    lines = trace.read_text().splitlines()
    (begin,) = (number for number, line in enumerate(lines) if f"{tmp_path}/begin" in line)
    (end,) = (number for number, line in enumerate(lines) if f"{tmp_path}/end" in line)
    assert sum("sync" in line for line in lines[begin:end]) == expected


def test_a_store_from_before_the_ledger_gets_one(tmp_path):
    path = tmp_path / "butfor.db"
    engine = create_engine(f"sqlite:///{path}")
    with engine.begin() as connection:
        config = Config(attributes={"connection": connection})
        config.set_main_option("script_location", str(MIGRATIONS))
        command.upgrade(config, "0001")
    engine.dispose()
    with Store.open(tmp_path) as store:
        store.save_run(run())
        add(store.ledger())
        assert store.load_run("r1") == run()
        assert store.verify().ok


@pytest.mark.parametrize(
    "statement", ["UPDATE ledger SET payload = x'7b7d' WHERE position = 1", "DELETE FROM ledger WHERE position = 2"]
)
def test_a_statement_that_changes_the_ledger_is_refused(tmp_path, statement):
    with Store.open(tmp_path) as store:
        for _ in range(2):
            with store.ledger().durable() as transaction:
                transaction.add(entry)
        with (
            sqlite3.connect(store.path) as other,
            pytest.raises(sqlite3.IntegrityError, match="the ledger is append-only"),
        ):
            other.execute(statement)
        other.close()


def test_a_changed_attachment_is_noticed_by_the_store_too(tmp_path):
    with Store.open(tmp_path) as store:
        add(store.ledger())
        for content in (b"certificate 1", b"certificate 2"):
            add(store.ledger(), content, attachment=digest_text(content))
        assert store.verify().ok
        with sqlite3.connect(store.path) as other:
            other.execute("DROP TRIGGER ledger_refuses_UPDATE")
            other.execute("UPDATE ledger SET body = (SELECT body FROM ledger WHERE position = 2) WHERE position = 3")
        other.close()
        (found,) = store.verify().mismatches
        assert (found.kind, found.name) == ("attachment", "entry 3 of the ledger")
