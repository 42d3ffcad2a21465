"""The sandbox against real misbehaviour: contained, and reported by name."""

import os
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from butfor.benchmarks.sandbox import Limits, Sandbox, why_refused
from butfor.cli.doctor import examine
from tests.patience import PATIENCE

_WHY = why_refused()
pytestmark = pytest.mark.skipif(_WHY is not None, reason=str(_WHY))


@pytest.fixture(scope="module")
def sandbox() -> Iterator[Sandbox]:
    """Time enough for what ends by itself, on a busy machine too."""
    with Sandbox(limits=Limits(seconds=20)) as made:
        yield made


@pytest.fixture(scope="module")
def hasty() -> Iterator[Sandbox]:
    """For what never ends."""
    with Sandbox(limits=Limits(seconds=1.5)) as made:
        yield made


def processes() -> int:
    return sum(path.name.isdigit() for path in Path("/proc").iterdir())


def test_tests_pass_fail_or_are_not_reached(sandbox):
    finding = sandbox.run("def double(x): return 2 * x", ["assert double(2) == 4", "assert double(2) == 5", "1 / 0"])
    assert finding.results == (None, "AssertionError: ", "ZeroDivisionError: division by zero")
    assert finding.fault is None
    assert not finding.passed
    assert sandbox.run("def double(x): return 2 * x", ["assert double(2) == 4"]).passed
    unreached = sandbox.run("def double(x) return", ["assert double(2) == 4"])
    assert unreached.results == ("not reached",)
    assert unreached.fault is not None
    assert unreached.fault.startswith("SyntaxError")


@pytest.mark.parametrize(
    "bomb", ["while True: os.fork()", "while True:\n try: os.fork()\n except OSError: pass"], ids=["plain", "caught"]
)
def test_a_fork_bomb(sandbox, hasty, bomb):
    before = processes()
    finding = hasty.run("import os\n" + bomb, ["pass"])
    assert set(finding.limits) & {"processes", "time"}
    assert "process" in finding.tried
    assert not finding.passed
    assert processes() <= before + 40  # other programs of this machine come and go; a bomb leaves thousands
    assert sandbox.run("pass", ["pass"]).passed


def test_an_endless_loop(hasty):
    started = time.monotonic()
    finding = hasty.run("while True: pass", ["pass"])
    assert finding.limits == ("time",)
    assert finding.fault == "stopped at the limit of time"
    assert time.monotonic() - started < PATIENCE / 4
    in_a_test = hasty.run("pass", ["pass", "while True: pass", "pass"])
    assert in_a_test.results == (None, "not reached", "not reached")
    assert in_a_test.limits == ("time",)


def test_ten_gigabytes(sandbox):
    finding = sandbox.run("block = bytearray(10 * 2**30)", ["pass"])
    assert finding.limits == ("memory",)
    assert not finding.passed


def test_a_file_of_the_host_is_not_there_to_delete(sandbox, tmp_path):
    victim = tmp_path / "kept"
    victim.write_text("here")
    finding = sandbox.run(f"import os\nos.remove({str(victim)!r})", ["pass"])
    assert victim.read_text() == "here"
    assert "delete" in finding.tried
    assert finding.fault is not None
    assert "No such file" in finding.fault


def test_a_file_that_it_can_see_cannot_be_deleted_or_written(sandbox):
    finding = sandbox.run("import os, shutil\nos.remove(os.__file__)", ["pass"])
    assert Path(os.__file__).exists()
    assert "delete" in finding.tried
    assert finding.fault is not None
    assert "Read-only file system" in finding.fault
    written = sandbox.run("import os\nopen(os.__file__, 'a')", ["pass"])
    assert "write" in written.tried
    assert written.fault is not None
    assert "Read-only file system" in written.fault or "Permission denied" in written.fault


def test_a_socket_reaches_nothing(sandbox):
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
        finding = sandbox.run(f"import socket\nsocket.create_connection(('127.0.0.1', {port}), 1)", ["pass"])
        caught = sandbox.run(
            f"import socket\ntry: socket.create_connection(('127.0.0.1', {port}), 1)\nexcept OSError: pass", ["pass"]
        )
        server.settimeout(0.1)
        with pytest.raises(TimeoutError):
            server.accept()
    assert "network" in finding.tried
    assert finding.fault is not None
    assert "unreachable" in finding.fault
    assert caught.passed
    assert "network" in caught.tried


def test_a_run_leaves_nothing_to_the_next(sandbox):
    assert sandbox.run("open('/tmp/left', 'w').write('x')", ["assert open('/tmp/left').read() == 'x'"]).passed
    assert sandbox.run("import os", ["assert not os.path.exists('/tmp/left')"]).passed
    left = "import os, time\nif os.fork() == 0:\n    os.setsid()\n    time.sleep(60)"
    assert sandbox.run(left, ["pass"]).passed
    assert sandbox.run("import os", ["assert os.getpid() == 1", "assert os.getuid() == 65534"]).passed


def test_ending_early_is_not_passing(sandbox):
    for early in ("import os; os._exit(0)", "raise SystemExit(0)", "import ctypes; ctypes.string_at(0)"):
        assert not sandbox.run(early, ["pass"]).passed
    assert sandbox.run("def f(): import os; os._exit(0)", ["f()", "pass"]).results == ("not reached", "not reached")


def test_a_program_cannot_get_its_rights_back(sandbox):
    finding = sandbox.run(
        "import ctypes\nlibc = ctypes.CDLL(None)",
        [
            "assert libc.mount(b'none', b'/tmp', b'tmpfs', 0, None) == -1",
            "assert libc.umount2(b'/tmp', 2) == -1",
            "assert libc.setuid(0) == -1",
            "assert libc.sethostname(b'x', 1) == -1",
            "import resource as r\ntry: r.setrlimit(r.RLIMIT_NPROC, (1000, 1000))\nexcept ValueError: refused = 1",
            "assert refused",
            "import os\nassert set(os.environ) <= {'LC_CTYPE', 'PYTHONHASHSEED'}",
            "assert not any(map(os.path.exists, ('/proc/1', '/etc/passwd', '/home', '/var', '/sys')))",
        ],
    )
    assert finding.results == (None,) * 8
    nested = (
        "import ctypes, os\nlibc = ctypes.CDLL(None)\nif libc.unshare(0x10020000) == 0:\n"
        "    assert libc.mount(b'none', b'/', None, 0x1020 , None) == -1\n"
    )
    assert sandbox.run(nested, ["try: open('/x', 'w')\nexcept OSError: pass\nelse: assert False"]).passed


def test_the_order_of_a_set_is_the_same_in_every_sandbox(sandbox):
    program = "order = ''.join({chr(97 + i) for i in range(20)})"
    with Sandbox(limits=Limits(seconds=20)) as other:
        first = other.run(program, ["assert False, order"]).results
        assert sandbox.run(program, ["assert False, order"]).results == first


def test_a_flood_of_output_is_stopped(sandbox):
    flood = "import os\nwhile True:\n for fd in range(3, 20):\n  try: os.write(fd, b'x' * 4096)\n  except OSError: pass"
    assert sandbox.run(flood, ["pass"]).limits == ("output",)
    assert sandbox.run("print('x' * 10**6)", ["pass"]).passed


def test_the_sandbox_is_started_again_after_it_was_killed(sandbox):
    with Sandbox(limits=Limits(seconds=20)) as other:
        process = other._process
        assert process is not None
        process.kill()
        process.wait(timeout=PATIENCE)
        assert not other.run("pass", ["pass"]).passed
        assert other.run("pass", ["pass"]).passed


def test_a_refusal_says_why():
    # A process that may make no namespace: the limit is set inside a user namespace of its own.
    script = (
        "import os, sys; sys.path.insert(0, sys.argv[1])\n"
        "from butfor.benchmarks.sandbox.cell import kernel\n"
        "kernel.unshare(kernel.CLONE_NEWUSER)\n"
        "open('/proc/self/setgroups', 'w').write('deny')\n"
        f"open('/proc/self/uid_map', 'w').write('0 {os.geteuid()} 1')\n"
        "open('/proc/sys/user/max_net_namespaces', 'w').write('0')\n"
        "from butfor.cli.doctor import examine\n"
        "(check,) = [each for each in examine() if each.name == 'sandbox']\n"
        "print(check.status, '|', check.found, '|', check.fix)"
    )
    source = Path(__file__).parents[2] / "src"
    child = subprocess.run(
        [sys.executable, "-c", script, str(source)], capture_output=True, text=True, check=False, timeout=60
    )
    status, found, fix = child.stdout.strip().split(" | ")
    assert status == "optional", child.stderr
    assert found.startswith("programs cannot be contained on this machine: unshare(")
    assert found.endswith("No space left on device")
    assert fix.startswith("run on Linux 5.14")


def test_the_doctor_says_that_programs_can_be_contained():
    (check,) = [each for each in examine() if each.name == "sandbox"]
    assert check.status == "ok"
