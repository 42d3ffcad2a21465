"""The host's side: one process behind the walls, asked for one run after another."""

from __future__ import annotations

import dataclasses
import json
import math
import os
import selectors
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

from butfor.benchmarks.sandbox.finding import Finding
from butfor.benchmarks.sandbox.limits import Limits
from butfor.errors import ButforError, SandboxRefused

if TYPE_CHECKING:
    from collections.abc import Sequence
    from types import TracebackType

_START = (
    "import sys, json; sys.path.insert(0, sys.argv[1]); from cell.serve import main; main(*json.loads(sys.argv[2]))"
)
_GRACE = 5.0
# Nothing of the host's environment; fixed hashes, so that the order of a set is the same in every run.
_ENVIRONMENT = {"PYTHONHASHSEED": "0"}
_FIX = "run on Linux 5.14 or newer where a process may make namespaces (in a container, with CAP_SYS_ADMIN)"


class Sandbox:
    """A place where a program runs without the host's files, network, processes or rights.

    Namespaces for user, processes, network, mounts, IPC and host name; a read-only root of the interpreter and its
    libraries; a private /tmp of each run; user 65534 without a capability; limits on processes, memory, files and time.
    The walls are tested at every start, and where one does not hold nothing is run.

    Measured: a start with its self-test takes 36 ms of processor time, a run of three small tests 5 ms on an idle core.

    Args:
        limits: What one run may use up.
        visible: Further directories that programs may read.

    Raises:
        SandboxRefused: On entering, where the machine does not allow the walls.
    """

    def __init__(self, *, limits: Limits | None = None, visible: Sequence[Path] = ()) -> None:
        self._limits = limits or Limits()
        self._visible = [str(path.resolve()) for path in visible]
        self._process: subprocess.Popen[bytes] | None = None
        self._root: Path | None = None

    def __enter__(self) -> Sandbox:
        self._start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._stop()

    def run(self, program: str, tests: Sequence[str]) -> Finding:
        """Run a program, then every test in the names that it left.

        Args:
            program: Source text.
            tests: Source texts; each passes where it raises nothing.

        Raises:
            SandboxRefused: The process behind the walls had to be started again, and could not.
        """
        if self._process is None:
            self._start()
        asked = {
            "program": program,
            "tests": list(tests),
            "seconds": self._limits.seconds,
            "limits": self._limits_inside(),
        }
        answer = self._ask(asked, seconds=self._limits.seconds + _GRACE)
        if answer is None:
            self._stop()
            return Finding(
                fault="the sandbox itself stopped answering and was killed",
                results=("not reached",) * len(tests),
                limits=("time",),
                tried={},
                seconds=self._limits.seconds + _GRACE,
            )
        return Finding.from_json(answer)

    def _start(self) -> None:
        if sys.platform != "linux":
            raise SandboxRefused(f"programs cannot be contained on {sys.platform}", fix=_FIX)
        self._root = Path(tempfile.mkdtemp(prefix="butfor-sandbox-"))
        arguments = json.dumps([str(self._root), self._visible, self._limits_inside()])
        command = [sys.executable, "-P", "-s", "-S", "-c", _START, str(Path(__file__).parent), arguments]
        self._process = subprocess.Popen(  # noqa: S603  our own interpreter on our own module
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=_ENVIRONMENT
        )
        answer = self._read(seconds=30)
        if answer != {"ready": True}:
            reason = answer["refused"] if answer else self._last_words()
            self._stop()
            raise SandboxRefused(f"programs cannot be contained on this machine: {reason}", fix=_FIX)

    def _limits_inside(self) -> dict[str, int]:
        return dataclasses.asdict(self._limits) | {"seconds": math.ceil(self._limits.seconds)}

    def _ask(self, asked: dict[str, Any], *, seconds: float) -> dict[str, Any] | None:
        assert self._process is not None
        assert self._process.stdin is not None
        try:
            self._process.stdin.write(json.dumps(asked).encode() + b"\n")
            self._process.stdin.flush()
        except BrokenPipeError:
            return None
        return self._read(seconds=seconds)

    def _read(self, *, seconds: float) -> dict[str, Any] | None:
        """Read one line, or None where none comes in time."""
        assert self._process is not None
        assert self._process.stdout is not None
        line, deadline = b"", time.monotonic() + seconds
        with selectors.DefaultSelector() as selector:
            selector.register(self._process.stdout, selectors.EVENT_READ)
            while not line.endswith(b"\n"):
                if not selector.select(max(deadline - time.monotonic(), 0)):
                    return None
                piece = os.read(self._process.stdout.fileno(), 65536)
                if not piece:
                    return None
                line += piece
        value: dict[str, Any] = json.loads(line)
        return value

    def _last_words(self) -> str:
        assert self._process is not None
        self._process.kill()
        words = self._process.communicate()[1].decode(errors="replace").strip().splitlines()
        return words[-1] if words else "no answer from the process behind the walls"

    def _stop(self) -> None:
        if self._process is not None:
            self._process.kill()
            self._process.communicate()
            self._process = None
        if self._root is not None:
            self._root.rmdir()
            self._root = None


def why_refused() -> str | None:
    """Return why a sandbox cannot be had here; None where it can."""
    try:
        with Sandbox():
            return None
    except ButforError as error:
        return str(error)
