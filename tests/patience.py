"""How long a test waits for a thread or a process, before it fails with a sentence instead of hanging."""

import subprocess
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from time import monotonic, sleep
from typing import Any

ROOT = Path(__file__).parents[1]
PATIENCE = 120.0
"""Seconds; what is waited for takes about one on an idle machine."""


def joined(*threads: threading.Thread, seconds: float = PATIENCE) -> None:
    """Wait for threads to end."""
    deadline = monotonic() + seconds
    for thread in threads:
        thread.join(max(0.0, deadline - monotonic()))
        assert not thread.is_alive(), f"the thread {thread.name} has not ended in {seconds:g} s"


def until(condition: Callable[[], bool], what: str, *, seconds: float = PATIENCE) -> None:
    """Wait for something that only looking shows."""
    deadline = monotonic() + seconds
    while not condition():
        assert monotonic() < deadline, f"{what}: not so after {seconds:g} s"
        sleep(0.01)


@contextmanager
def started(command: Sequence[Any], *, seconds: float = PATIENCE, **options: Any) -> Iterator["subprocess.Popen[str]"]:
    """Run a process beside the test; no read from it and no wait for it outlasts the patience.

    It starts where the tests are found. A process that is still there then is killed, which ends its output, and so
    every read of it.
    """
    late = threading.Event()
    with subprocess.Popen(command, text=True, **{"cwd": ROOT, **options}) as process:

        def end() -> None:
            late.set()
            process.kill()

        timer = threading.Timer(seconds, end)
        timer.start()
        try:
            yield process
        finally:
            timer.cancel()
            process.kill()
            assert not late.is_set(), f"a process of this test had not ended after {seconds:g} s and was killed"
