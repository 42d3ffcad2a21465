"""What can be wrong with a store: each is one sentence that names the place."""

import shutil
import sqlite3
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest
import zstandard
from alembic.autogenerate import compare_metadata
from alembic.migration import MigrationContext
from alembic.script import ScriptDirectory
from sqlalchemy import create_engine

from butfor import canonical
from butfor.errors import CorruptRecord, StoreError, StoreTooNew
from butfor.store import Store, home
from butfor.store.schema import MIGRATIONS, REVISIONS
from butfor.store.tables import METADATA
from tests.contract.stores import rollout, run
from tests.patience import PATIENCE


def one_sentence(error: BaseException, place: Path | str) -> str:
    text = str(error)
    assert "\n" not in text
    assert str(place) in text
    assert "Traceback" not in text
    return text


def change(path: Path, sql: str, *values: object) -> None:
    with sqlite3.connect(path) as connection:
        assert connection.execute(sql, values).rowcount != 0
    connection.close()


@pytest.fixture
def path(tmp_path):
    """A closed store with a run, a finished and an unfinished recording, and a rollout."""
    with Store.open(tmp_path) as store:
        store.save_run(run(output="o" * 5000))
        done = store.open_recording("done", {})
        done.append('{"n":0}')
        done.finish()
        store.open_recording("open", {}).append('{"n":0}')
        store.save_rollout(rollout())
    return store.path


def test_the_home_is_where_the_environment_says(tmp_path, monkeypatch):
    monkeypatch.setenv("BUTFOR_HOME", str(tmp_path / "elsewhere" / "deep"))
    with Store.open() as store:
        assert store.path.parent == tmp_path / "elsewhere" / "deep"
    monkeypatch.delenv("BUTFOR_HOME")
    assert home() == Path(".butfor")
    monkeypatch.setenv("BUTFOR_HOME", "")
    assert home() == Path(".butfor")


def test_the_migrations_make_the_tables(path):
    engine = create_engine(f"sqlite:///{path}")
    with engine.connect() as connection:
        assert compare_metadata(MigrationContext.configure(connection), METADATA) == []
    engine.dispose()
    script = ScriptDirectory(str(MIGRATIONS))
    assert tuple(each.revision for each in script.walk_revisions())[::-1] == REVISIONS


def test_a_directory_with_any_name_will_do(tmp_path):
    directory = tmp_path / "100% ünusual? #1"
    with Store.open(directory) as store:
        store.save_run(run())
    with Store.open(directory) as store:
        assert store.load_run("r1") == run()


def test_a_store_of_a_newer_version_is_refused(path):
    change(path, "UPDATE alembic_version SET version_num = '9999'")
    before = path.read_bytes()
    with pytest.raises(StoreTooNew, match=r"has version 9999, and this butfor knows versions up to 0002") as caught:
        Store.open(path.parent)
    assert "upgrade butfor" in one_sentence(caught.value, path)
    assert path.read_bytes() == before


def pages_of(text: str) -> bytes:
    return zstandard.ZstdCompressor().compress(text.encode())


@pytest.mark.parametrize(
    ("sql", "value", "problem"),
    [
        ("body = ?", b"not compressed at all", "cannot be decompressed"),
        ("body = ?", b"", "cannot be decompressed"),
        ("body = ?", pages_of("x" * 10), "has another size"),
        ("size = ?", 1, "has another size"),
        ("body = substr(body, 1, length(body) - ?)", 5, "cannot be decompressed"),
        ("size = 3, body = ?", pages_of("abc"), "does not match its digest"),
    ],
)
def test_a_changed_blob_is_noticed_on_reading_and_by_verify(path, sql, value, problem):
    with sqlite3.connect(path) as connection:
        (digest,) = connection.execute("SELECT document FROM runs WHERE run_id = 'r1'").fetchone()
    connection.close()
    change(path, f"UPDATE blobs SET {sql} WHERE digest = ?", value, digest)
    with Store.open(path.parent) as store:
        with pytest.raises(CorruptRecord, match=problem) as caught:
            store.load_run("r1")
        one_sentence(caught.value, digest)
        found = store.verify()
        assert not found.ok
        assert [(each.kind, each.name) for each in found.mismatches] == [("blob", digest)]
        assert found.mismatches[0].problem == caught.value.what
        assert found.checked == 6  # a run, a header (both are equal), two journals, an arm and a line
        # The rest can still be read.
        assert list(store.read_journal("done")) == ['{"n":0}']


def test_every_flipped_bit_of_a_blob_is_noticed(path):
    with sqlite3.connect(path) as connection:
        digest, body = connection.execute("SELECT digest, body FROM blobs JOIN rollouts ON journal = digest").fetchone()
    connection.close()
    with Store.open(path.parent) as store:
        for bit in range(0, 8 * len(body), 7):
            flipped = bytearray(body)
            flipped[bit // 8] ^= 1 << bit % 8
            change(path, "UPDATE blobs SET body = ? WHERE digest = ?", bytes(flipped), digest)
            try:
                # Some bits of a frame mean nothing; then the text is right.
                assert store.rollout_journal("x0") == rollout().journal
            except CorruptRecord as error:
                one_sentence(error, digest)


def test_a_missing_blob_is_noticed(path):
    with sqlite3.connect(path) as connection:
        (digest,) = connection.execute("SELECT document FROM runs WHERE run_id = 'r1'").fetchone()
    connection.close()
    change(path, "DELETE FROM blobs WHERE digest = ?", digest)
    with Store.open(path.parent) as store:
        with pytest.raises(CorruptRecord, match="a stored text is missing"):
            store.load_run("r1")
        assert [(each.kind, each.problem) for each in store.verify().mismatches] == [
            ("database", "row 1 of runs refers to a row of blobs that is not there")
        ]


def test_a_changed_line_of_an_open_journal_is_noticed(path):
    change(path, "UPDATE crossings SET line = ?", b'{"n":1}')
    with Store.open(path.parent) as store:
        with pytest.raises(CorruptRecord, match="a line of a journal does not match its digest") as caught:
            store.read_journal("open")
        one_sentence(caught.value, "run open, crossing 0")
        assert [(each.kind, each.name) for each in store.verify().mismatches] == [("crossing", "run open, crossing 0")]


def test_a_run_that_is_no_run_names_its_field(path):
    text = '{"run_id":"r1","steps":[{"index":0,"nope":1}]}'
    row = (canonical.digest_text(text), len(text), pages_of(text))
    change(path, "INSERT INTO blobs VALUES (?, ?, ?)", *row)
    change(path, "UPDATE runs SET document = ? WHERE run_id = 'r1'", row[0])
    with Store.open(path.parent) as store, pytest.raises(CorruptRecord, match=r"run r1, field steps\.0\.nope"):
        store.load_run("r1")


def test_a_file_that_is_no_store_is_refused(path):
    path.write_bytes(b"This is a letter, and not a database of any kind. " * 100)
    with pytest.raises(CorruptRecord, match="the store's file is damaged") as caught:
        Store.open(path.parent)
    one_sentence(caught.value, path)


def test_damaged_pages_are_reported_and_raise_nothing_else(path):
    # Not the pages of the schema itself, without which nothing can be opened.
    with sqlite3.connect(path) as connection:
        roots = connection.execute("SELECT rootpage FROM sqlite_schema WHERE tbl_name IN ('runs', 'blobs')").fetchall()
    connection.close()
    content = bytearray(path.read_bytes())
    for (page,) in roots:
        content[(page - 1) * 4096 : (page - 1) * 4096 + 16] = b"\xff" * 16
    path.write_bytes(content)
    with Store.open(path.parent) as store:
        found = store.verify()
        assert "database" in {each.kind for each in found.mismatches}
        with pytest.raises(CorruptRecord, match="the store's file is damaged") as caught:
            store.load_run("r1")
        one_sentence(caught.value, path)


@pytest.mark.parametrize("deeper", ["", "below"])
def test_a_path_that_is_a_file_is_refused(tmp_path, deeper):
    (tmp_path / "taken").write_text("a file")
    with pytest.raises(StoreError, match="the store's path is a file or goes through one") as caught:
        Store.open(tmp_path / "taken" / deeper)
    assert "BUTFOR_HOME" in one_sentence(caught.value, tmp_path / "taken")


def test_a_database_that_is_a_directory_is_refused(tmp_path):
    (tmp_path / "butfor.db").mkdir()
    with pytest.raises(StoreError, match="the store cannot be opened") as caught:
        Store.open(tmp_path)
    one_sentence(caught.value, tmp_path / "butfor.db")


def test_a_name_that_is_too_long_is_refused(tmp_path):
    with pytest.raises(StoreError, match="the store's directory cannot be made") as caught:
        Store.open(tmp_path / ("n" * 300))
    one_sentence(caught.value, tmp_path)


def test_a_closed_store_says_so(tmp_path):
    store = Store.open(tmp_path)
    store.save_run(run())
    recording = store.open_recording("r2", {})
    store.close()
    store.close()
    for use in (store.list_runs, lambda: store.save_rollout(rollout()), lambda: recording.append("{}")):
        with pytest.raises(StoreError, match="the store is closed") as caught:
            use()
        one_sentence(caught.value, store.path)


OPENER = """
import os, sys, tempfile
from pathlib import Path
from butfor.errors import StoreError
from butfor.store import Store
with tempfile.TemporaryDirectory() as elsewhere:
    Store.open(Path(elsewhere)).close()  # imports everything while that is allowed
if os.geteuid() == 0:
    os.setgroups([]); os.setgid(65534); os.setuid(65534)
try:
    with Store.open(Path(sys.argv[1])) as store:
        store.open_recording("new", {})
except StoreError as error:
    print(error)
"""


@pytest.mark.parametrize("existing", [False, True])
def test_a_directory_that_may_not_be_written_to_is_refused(existing):
    # Not below tmp_path, which another user may not enter; the child gives up root, to whom all is permitted.
    directory = Path(tempfile.mkdtemp())
    try:
        if existing:
            Store.open(directory).close()
        directory.chmod(0o555)
        said = subprocess.run(
            [sys.executable, "-c", OPENER, str(directory)],
            capture_output=True,
            text=True,
            check=False,
            timeout=PATIENCE,
        )
        assert said.stderr == ""
        assert said.stdout.count("\n") == 1
        assert str(directory / "butfor.db") in said.stdout
        assert "set BUTFOR_HOME to another directory" in said.stdout
    finally:
        directory.chmod(0o755)
        shutil.rmtree(directory)


FILLER = """
import resource, signal, sys
from pathlib import Path
from butfor.errors import StoreError
from butfor.store import Store
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
with Store.open(Path(sys.argv[1])) as store:
    recording = store.open_recording("r1", {})
    resource.setrlimit(resource.RLIMIT_FSIZE, (400_000, resource.RLIM_INFINITY))
    for count in range(10_000):
        try:
            recording.append("%d %s" % (count, "x" * 2000))
        except StoreError as error:
            print(count)
            print(error)
            break
    resource.setrlimit(resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
    recording.append("room again")
"""


def test_a_full_disk_is_one_sentence_and_keeps_what_was_committed(tmp_path):
    said = subprocess.run(
        [sys.executable, "-c", FILLER, str(tmp_path)], capture_output=True, text=True, check=False, timeout=PATIENCE
    )
    assert said.stderr == ""
    count, sentence = said.stdout.splitlines()
    assert "what was committed is kept" in sentence
    assert str(tmp_path) in sentence
    with Store.open(tmp_path) as store:
        lines = list(store.read_journal("r1"))
        assert [line.partition(" ")[0] for line in lines] == [*(str(each) for each in range(int(count))), "room"]
        assert store.verify().ok
