"""What hangs fails with a sentence."""

import subprocess
import sys
import threading

import pytest

from tests.patience import joined, started, until

SILENT = [sys.executable, "-c", "import threading; threading.Event().wait()"]


def test_a_thread_that_does_not_end():
    go = threading.Event()
    thread = threading.Thread(target=go.wait, args=(60,), name="stuck")
    thread.start()
    with pytest.raises(AssertionError, match=r"the thread stuck has not ended in 0\.01 s"):
        joined(thread, seconds=0.01)
    go.set()
    joined(thread)


def test_what_never_comes():
    with pytest.raises(AssertionError, match=r"rain: not so after 0\.01 s"):
        until(lambda: False, "rain", seconds=0.01)


def test_a_process_that_says_nothing():
    with (
        pytest.raises(AssertionError, match=r"had not ended after 0\.1 s and was killed"),
        started(SILENT, seconds=0.1, stdout=subprocess.PIPE) as process,
    ):
        process.communicate(timeout=60)


def test_a_test_that_fails_leaves_no_process_to_wait_for():
    with pytest.raises(ZeroDivisionError), started(SILENT):
        raise ZeroDivisionError
