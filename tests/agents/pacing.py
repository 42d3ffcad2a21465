"""How fast the models of test agents answer: so that a test may count on what it finds, and not on how busy it is."""

import os
import time
from pathlib import Path

from tests.patience import until

SLOW_AFTER = "TESTS_SLOW_AFTER"
"""So many calls in the log, and each takes a second: time enough to stop the process midway, however slow the test."""

MEETING = "TESTS_MEETING"
"""A folder in which two processes sign; none goes on before the other has."""


def answer(log: Path, pause: float) -> None:
    """Take the time that a model takes."""
    most = os.environ.get(SLOW_AFTER)
    if most is not None and log.exists() and log.read_text().count("\n") >= int(most):
        pause = 1.0
    meeting = os.environ.get(MEETING)
    if meeting is not None:
        (Path(meeting) / str(os.getpid())).touch()
        until(lambda: len(list(Path(meeting).iterdir())) == 2, "the other process is at work")
    time.sleep(pause)
