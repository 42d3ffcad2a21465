"""Parts of the store that no other test looks at: what is stored once, what is imported, how an id is found."""

import os
import sqlite3
import subprocess
import sys
import time

import pytest

from butfor.errors import CorruptRecord, NotFound
from butfor.store import Store
from butfor.store.blobs import Packer, unpack
from butfor.store.refusals import match_id
from tests.contract.stores import rollout, run
from tests.patience import PATIENCE


def count(path, table):
    with sqlite3.connect(path) as connection:
        (number,) = connection.execute(f"SELECT count(*) FROM {table}").fetchone()
    connection.close()
    return number


def test_equal_texts_are_stored_once(tmp_path):
    with Store.open(tmp_path) as store:
        store.save_run(run())
        store.save_rollout(rollout())
        before = count(store.path, "blobs")
        for draw in range(1, 20):
            store.save_rollout(rollout(rollout_id=f"x{draw}", draw=draw))
        assert count(store.path, "rollouts") == 20
        assert count(store.path, "blobs") == before
        assert count(store.path, "arms") == 1


def test_a_finished_journal_is_one_blob(tmp_path):
    with Store.open(tmp_path) as store:
        recording = store.open_recording("r1", {})
        for _ in range(50):
            recording.append('{"kind":"model"}')
        assert count(store.path, "crossings") == 50
        recording.finish()
        assert count(store.path, "crossings") == 0


def test_naming_a_record_imports_no_database():
    code = (
        "import sys, butfor.store; from butfor.store import RolloutRecord, Storage; "
        "print([name for name in ('sqlalchemy', 'alembic', 'pydantic', 'zstandard', 'numpy') if name in sys.modules])"
    )
    assert (
        subprocess.run(
            [sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=PATIENCE
        ).stdout
        == "[]\n"
    )


def test_opening_a_store_that_is_up_to_date_imports_no_alembic(tmp_path):
    Store.open(tmp_path).close()
    code = "import sys; from butfor.store import Store; Store.open().close(); print('alembic' in sys.modules)"
    done = subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True,
        text=True,
        check=True,
        env=os.environ | {"BUTFOR_HOME": str(tmp_path)},
        timeout=PATIENCE,
    )
    assert done.stdout == "False\n"


def test_an_unknown_name_of_the_room_is_an_attribute_error():
    import butfor.store

    with pytest.raises(AttributeError, match="has no attribute 'Sotre'"):
        _ = butfor.store.Sotre


@pytest.mark.parametrize("text", ["", "a", "ä\ud800\x00\n", "x" * 100_000])
def test_a_blob_comes_back_and_only_under_its_digest(text):
    blob = Packer().pack(text)
    assert unpack(blob.digest, blob.size, blob.body) == text
    with pytest.raises(CorruptRecord):
        unpack(Packer().pack(text + "!").digest, blob.size, blob.body)


def test_a_claimed_size_takes_no_memory():
    # A frame that says it holds 2⁶² bytes.
    frame = b"\x28\xb5\x2f\xfd\xe0" + (2**62).to_bytes(8, "little") + b"\x01\x00\x00"
    with pytest.raises(CorruptRecord, match="another size"):
        unpack("sha256:0", 10, frame)


def test_a_wrong_id_among_many_is_answered_at_once():
    known = [f"run-{number:08d}" for number in range(100_000)]
    start = time.process_time()
    with pytest.raises(NotFound, match=r"the nearest are run-"):
        match_id("nur-00000001", known)
    assert time.process_time() - start < 2.0
    with pytest.raises(NotFound, match=r"100000 runs begin with 'run-': run-00000000, run-00000001, run-00000002, …"):
        match_id("run-", known)
    assert match_id("run-00001234", known) == "run-00001234"
