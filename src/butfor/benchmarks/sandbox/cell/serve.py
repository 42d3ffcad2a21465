"""The process behind the walls: it takes one run after another and gives each a process of its own.

One JSON object a line: in ``{"program", "tests", "seconds", "limits"}``, out what came of it.
"""

from __future__ import annotations

import errno
import json
import os
import select
import signal
import sys
import time

from . import kernel, walls, watch

TYPE_CHECKING = False  # importing typing would cost a quarter of the start
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

_MOST_SAID = 65536
_SELF_TEST = """
import os, socket
facts = dict(user=os.geteuid(), number=os.getpid(), links=[name for _, name in socket.if_nameindex()])
try:
    open("/written", "w"); facts["root"] = "writable"
except OSError:
    facts["root"] = "read-only"
facts["host"] = os.path.exists(SENTINEL)
children = []
try:
    for _ in range(MOST + 1):
        child = os.fork()
        if child == 0:
            import time; time.sleep(60)
        children.append(child)
except OSError:
    pass
facts["children"] = len(children)
assert facts == dict(
    user=65534, number=1, links=["lo"], root="read-only", host=False, children=MOST - 1
), facts
"""


def main(root: str, visible: list[str], limits: dict[str, int]) -> None:
    """Raise the walls, test them, and serve until the host closes the line."""
    try:
        kernel.die_with_parent()
        processes, numbers = walls.raise_walls(root, visible)
        program = _SELF_TEST.replace("MOST", str(limits["processes"])).replace("SENTINEL", repr(root))
        asked = {"program": program, "tests": [], "seconds": 10, "limits": limits}
        first = _one_run(asked, processes, numbers)
    except OSError as error:
        return _answer({"refused": str(error.strerror if error.filename is None else error)})
    if first["fault"] is not None:
        return _answer({"refused": f"the walls do not hold: {first['fault']}"})
    _answer({"ready": True})
    for line in sys.stdin:
        _answer(_one_run(json.loads(line), processes, numbers))
    return None


def _answer(value: dict[str, Any]) -> None:
    sys.stdout.write(json.dumps(value) + "\n")
    sys.stdout.flush()


def _one_run(asked: dict[str, Any], processes: int, numbers: int) -> dict[str, Any]:
    ours, theirs = os.pipe()
    started = time.monotonic()
    # The next child is process 1 of a new pid namespace: when it ends or is killed, so is everything that it started.
    kernel.enter(numbers, kernel.CLONE_NEWPID)
    kernel.unshare(kernel.CLONE_NEWPID)
    child = os.fork()
    if child == 0:
        os.close(ours)
        os.close(numbers)
        _be_the_program(asked, processes, theirs)
    os.close(theirs)
    said, killed_at = _listen(ours, child, started + asked["seconds"])
    os.close(ours)
    status = os.waitpid(child, 0)[1]
    return _told(said, killed_at, status, asked) | {"seconds": time.monotonic() - started}


def _listen(pipe: int, child: int, deadline: float) -> tuple[bytes, str | None]:
    """Collect what the child says until it ends; kill it where it takes too long or says too much.

    Returns:
        What it said, and the limit at which it was killed.
    """
    ended = os.pidfd_open(child)
    said, watched, limit = b"", [pipe, ended], None
    while limit is None:
        left = deadline - time.monotonic()
        ready = select.select(watched, [], [], max(left, 0))[0]
        if pipe in ready:
            piece = os.read(pipe, _MOST_SAID)
            said += piece
            if not piece:
                watched.remove(pipe)
        elif ended in ready:
            break
        limit = "time" if left <= 0 else "output" if len(said) > _MOST_SAID else None
    if limit is not None:
        os.kill(child, signal.SIGKILL)
    os.close(ended)
    return said, limit


def _told(said: bytes, killed_at: str | None, status: int, asked: dict[str, Any]) -> dict[str, Any]:
    """Make one answer of the lines that a run wrote; what a program scribbles between them is passed over."""
    heard = [line for line in map(_parsed, said.splitlines()) if line is not None]
    results: list[str | None] = ["not reached"] * len(asked["tests"])
    for line in heard:
        if isinstance(line.get("test"), int) and 0 <= line["test"] < len(results):
            results[line["test"]] = line.get("fault")
    silent = f"stopped at the limit of {killed_at}" if killed_at else "the program ended before its tests"
    if os.WIFSIGNALED(status) and not killed_at:
        silent = f"killed by signal {os.WTERMSIG(status)}"
    fault = next((line.get("fault") for line in heard if "program" in line), silent)
    limits = [line["limit"] for line in heard if "limit" in line] + ([killed_at] if killed_at else [])
    tried = {str(line["tried"]): str(line.get("example")) for line in heard if "tried" in line}
    return {"fault": fault, "results": results, "limits": list(dict.fromkeys(limits)), "tried": tried}


def _parsed(line: bytes) -> dict[str, Any] | None:
    try:
        value = json.loads(line)
    except ValueError:
        return None
    return value if isinstance(value, dict) else None


def _be_the_program(asked: dict[str, Any], processes: int, pipe: int) -> None:
    """Run the program and its tests; never returns."""

    def say(value: dict[str, object]) -> None:
        # Children of the program inherit the pipe; only the program's own process has results.
        if "tried" in value or os.getpid() == 1:
            try:  # noqa: SIM105  contextlib would cost a tenth of the start
                os.write(pipe, json.dumps(value).encode() + b"\n")
            except OSError:
                pass

    try:
        nothing = os.open("/dev/null", os.O_RDWR)
        for standard in (0, 1, 2):
            os.dup2(nothing, standard)
        walls.go_inside(processes, asked["limits"])
        sys.addaudithook(watch.watcher(say))
    except OSError as error:
        say({"program": True, "fault": f"the walls do not hold: {error.strerror if error.filename is None else error}"})
        os._exit(1)
    names: dict[str, Any] = {"__name__": "program"}
    fault = _try(asked["program"], names, say)
    say({"program": True, "fault": fault})
    if fault is None:
        for number, test in enumerate(asked["tests"]):
            say({"test": number, "fault": _try(test, names, say)})
    os._exit(0)


def _try(source: str, names: dict[str, Any], say: Callable[[dict[str, object]], None]) -> str | None:
    try:
        exec(compile(source, "program", "exec"), names)  # noqa: S102  behind the walls
    except BaseException as error:  # noqa: BLE001  a program may raise anything, SystemExit included
        limit = _limit_of(error)
        if limit:
            say({"limit": limit})
        try:
            text = str(error)
        except BaseException:  # noqa: BLE001
            text = "no message"
        return f"{type(error).__name__}: {text}"[:500]
    return None


def _limit_of(error: BaseException) -> str | None:
    if isinstance(error, MemoryError):
        return "memory"
    if isinstance(error, BlockingIOError) and error.errno == errno.EAGAIN:
        return "processes"
    if isinstance(error, RuntimeError) and "start new thread" in str(error):
        return "processes"
    return None
