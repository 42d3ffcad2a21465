"""The store among processes: killed writers, concurrent readers and writers, a busy writer, a first opening by many."""

import signal
import sqlite3
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import pytest

from butfor.errors import StoreError
from butfor.store import Store
from tests.contract.stores import rollout, run
from tests.patience import PATIENCE, joined, started, until

WRITER = """
import sys
from datetime import UTC, datetime
from pathlib import Path
from butfor.store import RolloutRecord, Store

store = Store.open(Path(sys.argv[1]), patience=60.0)
name, what, limit = sys.argv[2], sys.argv[3], int(sys.argv[4])
if what == "crossings":
    append = store.open_recording(name, {"agent": "shop:agent"}).append
for count in range(limit):
    if what == "crossings":
        append('{"count":%d,"padding":"%s"}' % (count, "x" * 500))
    else:
        store.save_rollout(RolloutRecord(
            rollout_id=f"{name}-{count}", run_id="r1", fingerprint="f", arm=name, draw=count, status="completed",
            outcome=count % 2, counts="{}", created_at=datetime.now(UTC), journal=f"journal {count} " * 200,
        ))
    print(count, flush=True)
"""


@contextmanager
def writer(directory: Path, name: str, what: str, limit: int = 10**9) -> Iterator["subprocess.Popen[str]"]:
    command = [sys.executable, "-c", WRITER, str(directory), name, what, str(limit)]
    with started(command, stdout=subprocess.PIPE) as process:
        yield process


def acknowledged(process: "subprocess.Popen[str]", least: int) -> int:
    """Kill the writer once it has acknowledged so many; return how many it acknowledged until it died."""
    assert process.stdout is not None
    for _ in range(least):
        process.stdout.readline()
    process.send_signal(signal.SIGKILL)
    rest = process.stdout.read().splitlines(keepends=True)
    assert process.wait(timeout=PATIENCE) == -signal.SIGKILL
    return least + sum(line.endswith("\n") for line in rest)


@pytest.mark.parametrize("least", [1, 57])
def test_a_killed_recording_loses_no_crossing(tmp_path, least):
    with writer(tmp_path, "r1", "crossings") as process:
        count = acknowledged(process, least)
    with Store.open(tmp_path) as store:
        lines = list(store.read_journal("r1"))
        # One more may have been committed than the writer could tell.
        assert count <= len(lines) <= count + 1
        assert [line.partition(",")[0] for line in lines] == [f'{{"count":{each}' for each in range(len(lines))]
        assert [(each.run_id, each.complete) for each in store.list_runs()] == [("r1", False)]
        assert store.verify().ok
        store.save_run(run("r2"))


@pytest.mark.parametrize("least", [1, 101])
def test_a_killed_analysis_loses_no_rollout(tmp_path, least):
    with Store.open(tmp_path) as store:
        store.save_run(run())
    with writer(tmp_path, "arm", "rollouts") as process:
        count = acknowledged(process, least)
    with Store.open(tmp_path) as store:
        stored = store.load_rollouts("r1", "f", "arm")
        assert count <= len(stored) <= count + 1
        assert [each.draw for each in stored] == list(range(len(stored)))
        assert [store.rollout_journal(each.rollout_id) for each in stored[-2:]] == [
            f"journal {each.draw} " * 200 for each in stored[-2:]
        ]
        assert store.verify().ok
        store.save_rollout(rollout(rollout_id="next", arm="arm", draw=len(stored)))


def test_readers_read_while_a_process_writes(tmp_path):
    with Store.open(tmp_path) as store:
        store.save_run(run())
    problems: list[BaseException] = []
    counts: list[list[int]] = [[], [], []]
    stop = threading.Event()

    def read(seen: list[int]) -> None:
        try:
            with Store.open(tmp_path) as reader:
                while not stop.is_set():
                    draws = [each.draw for each in reader.load_rollouts("r1", "f", "arm")]
                    assert draws == list(range(len(draws)))
                    assert reader.load_run("r1") == run()
                    seen.append(len(draws))
        except BaseException as error:
            problems.append(error)

    readers = [threading.Thread(target=read, args=(seen,)) for seen in counts]
    with writer(tmp_path, "arm", "rollouts"):
        for reader in readers:
            reader.start()
        until(lambda: bool(problems) or all(len(set(seen)) > 2 for seen in counts), "each saw the store grow")
        stop.set()
        joined(*readers)
    assert problems == []
    for seen in counts:
        assert seen == sorted(seen)


def test_two_writing_processes_take_turns(tmp_path):
    with Store.open(tmp_path) as store:
        store.save_run(run())
        with writer(tmp_path, "one", "rollouts", 150) as one, writer(tmp_path, "two", "rollouts", 150) as two:
            assert (one.wait(timeout=PATIENCE), two.wait(timeout=PATIENCE)) == (0, 0)
        assert [(each.arm, each.rollouts) for each in sorted(store.list_arms("r1"), key=lambda each: each.arm)] == [
            ("one", 150),
            ("two", 150),
        ]
        assert store.verify().ok


def test_many_processes_may_open_a_new_store_at_once(tmp_path):
    code = "import sys; from pathlib import Path; from butfor.store import Store; Store.open(Path(sys.argv[1])).close()"
    command = [sys.executable, "-c", code, str(tmp_path)]
    with ExitStack() as stack:
        openers = [stack.enter_context(started(command, stderr=subprocess.PIPE)) for _ in range(6)]
        assert [(each.communicate(timeout=PATIENCE)[1], each.returncode) for each in openers] == [("", 0)] * 6


@contextmanager
def locked(path: Path) -> Iterator[None]:
    """Write, as another process would, and do not finish."""
    other = sqlite3.connect(path, isolation_level=None)
    other.execute("BEGIN IMMEDIATE")
    try:
        yield
    finally:
        other.execute("ROLLBACK")
        other.close()


def test_a_busy_writer_stops_no_reader_and_is_one_sentence_to_a_writer(tmp_path):
    with Store.open(tmp_path, patience=0.05) as store:
        store.save_run(run())
        store.save_rollout(rollout())
        recording = store.open_recording("r2", {})
        with locked(store.path):
            assert store.load_run("r1") == run()
            assert len(store.load_rollouts("r1", "f", "resample(2)")) == 1
            for save in (
                lambda: store.save_run(run("r3")),
                lambda: store.save_rollout(rollout(rollout_id="x1", draw=1)),
                lambda: recording.append("{}"),
                recording.finish,
            ):
                with pytest.raises(StoreError) as caught:
                    save()
                assert str(caught.value) == (
                    f"another process is writing to the store ({store.path}): try again when it has finished"
                )
        # Nothing of it was written, and all of it may be tried again.
        store.save_rollout(rollout(rollout_id="x1", draw=1))
        recording.append("{}")
        recording.finish()
        assert list(store.read_journal("r2")) == ["{}"]
        assert [each.run_id for each in store.list_runs()] == ["r2", "r1"]


def test_a_writer_waits_for_one_that_finishes_in_time(tmp_path):
    with Store.open(tmp_path, patience=10.0) as store:
        with locked(store.path):
            waiting = threading.Thread(target=store.save_run, args=(run(),))
            waiting.start()
            time.sleep(0.2)
        joined(waiting)
        assert store.load_run("r1") == run()


def test_an_interrupted_first_opening_leaves_nothing_behind(tmp_path):
    with Store.open(tmp_path / "whole") as store:
        path = store.path
    fresh = tmp_path / "fresh"
    fresh.mkdir()
    with locked(fresh / path.name), pytest.raises(StoreError, match="another process is writing to the store"):
        Store.open(fresh, patience=0.05)
    with Store.open(fresh) as store:
        store.save_run(run())
