"""The command line as a whole: exit codes, and where each message goes."""

import errno
import json
import os
import re
import signal
import subprocess
import sys
import time

import pytest

from butfor.benchmarks import BENCHMARKS, Check, Report, Settings
from butfor.benchmarks.harness import OPTIONS
from butfor.cli.main import EXIT_CODES, VERBS, main
from butfor.errors import AgentError, ReplayDivergence
from tests.patience import PATIENCE, started

RUN = "from butfor.cli.main import main; main()"


def planted(settings: Settings) -> Report:
    """Do what the option `end` says: pass, fail, raise or never end."""
    end = settings.options["end"]
    if end == "raise":
        raise AgentError("the agent\nraised", where="shop:agent", fix="mend it")
    if end == "diverge":
        raise ReplayDivergence("the request differs", path="$.messages[2]", where="lane 0")
    if end == "never":
        os.kill(os.getpid(), signal.SIGINT)
        time.sleep(60)
    if end == "break":
        raise BrokenPipeError(errno.EPIPE, "some other pipe")
    checks = [Check(name="in [a, b]", value=0.5, bound=1.0, ok=end == "pass")]
    rows = [{"[col]": "[red]cell", "n": 1234.5678}]
    return Report(name="planted", settings={"seed": settings.seed}, rows=rows, checks=checks, notes=["[bold] is text"])


@pytest.fixture(autouse=True)
def _registered():
    kept = BENCHMARKS["planted"], OPTIONS["planted"]
    BENCHMARKS["planted"], OPTIONS["planted"] = f"{__name__}:planted", ("end",)
    yield
    BENCHMARKS["planted"], OPTIONS["planted"] = kept


def ended(*arguments: str) -> int:
    with pytest.raises(SystemExit) as caught:
        main(arguments)
    assert isinstance(caught.value.code, int)
    return caught.value.code


def test_a_passed_check_is_0_and_a_failed_one_is_1(capsys):
    assert ended("bench", "planted", "--set", "end=pass") == 0
    assert "ok   in [a, b]: 0.5 (bound 1)" in capsys.readouterr().out
    assert ended("bench", "planted", "--set", "end=fail") == 1
    assert "FAIL in [a, b]: 0.5 (bound 1)" in capsys.readouterr().out


def test_nothing_of_a_report_is_taken_for_markup(capsys):
    ended("bench", "planted", "--set", "end=pass", "--seed", "7")
    out = capsys.readouterr().out
    for shown in ("[col]", "[red]cell", "[bold] is text", "seed=7", "1235"):
        assert shown in out


def test_an_error_of_ours_is_2_and_one_line_on_stderr(capsys):
    assert ended("bench", "planted", "--set", "end=raise") == 2
    assert capsys.readouterr() == ("", "butfor: the agent\\nraised (shop:agent): mend it\n")
    assert ended("bench", "nothing") == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert re.fullmatch(r"butfor: there is no benchmark 'nothing': choose one of .*planted.*\n", err)


def test_a_run_that_cannot_answer_is_3(capsys):
    assert ended("bench", "planted", "--set", "end=diverge") == 3
    out, err = capsys.readouterr()
    assert out == ""
    assert err.startswith("butfor: the request differs (lane 0): ")
    assert err.count("\n") == 1


@pytest.mark.parametrize(
    "arguments",
    [
        ["nothing"],
        ["bench"],
        ["bench", "planted", "--seed", "x"],
        ["--nothing"],
        ["bench", "planted", "--out", "/dev/null/x"],
        ["bench", "planted", "--out", "/"],
    ],
)
def test_a_wrong_command_is_2_and_says_how_it_is_right(capsys, arguments):
    assert ended(*arguments) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert "Error: " in err
    assert "Traceback" not in err


def test_an_interrupt_is_130(capsys):
    assert ended("bench", "planted", "--set", "end=never") == 130
    assert "interrupted; finished rollouts are kept" in capsys.readouterr().err


def test_help_is_0_and_imports_no_verb():
    code = f"import sys, atexit; atexit.register(lambda: print(sorted(sys.modules), file=sys.stderr)); {RUN}"
    done = subprocess.run(
        [sys.executable, "-c", code, "--help"], capture_output=True, text=True, check=False, timeout=PATIENCE
    )
    assert done.returncode == 0
    for verb, line in VERBS.items():
        assert re.search(rf"{verb} +{re.escape(line[:20])}", done.stdout)
    assert " ".join(EXIT_CODES.split()) in " ".join(done.stdout.split())
    for module in ("butfor.cli.bench", "numpy", "pydantic", "sqlalchemy", "rich"):
        assert f"'{module}'" not in done.stderr


def test_every_verb_has_a_command(capsys):
    for verb in VERBS:
        assert ended(verb, "--help") == 0
        assert capsys.readouterr().out.startswith("Usage: ")


def test_the_version_is_0(capsys):
    assert ended("--version") == 0
    assert re.search(r"version \d+\.\d+", capsys.readouterr().out)


def test_a_reader_that_goes_away_is_141_and_no_complaint():
    command = [sys.executable, "-c", RUN, "--help"]
    with started(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        process.stdout.close()
        assert process.stderr.read() == ""
        assert process.wait(timeout=PATIENCE) == 141


def test_a_pipe_that_is_not_ours_is_no_end_of_output():
    with pytest.raises(BrokenPipeError, match="some other pipe"):
        main(["bench", "planted", "--set", "end=break"])


def test_the_json_is_the_report(capsys, tmp_path):
    ended("bench", "planted", "--set", "end=pass", "--json", "--out", str(tmp_path / "out.json"))
    printed = json.loads(capsys.readouterr().out)
    assert printed == json.loads((tmp_path / "out.json").read_text())
    assert sorted(printed) == ["checks", "name", "notes", "rows", "settings"]
    assert printed["checks"] == [{"name": "in [a, b]", "value": 0.5, "bound": 1.0, "ok": True}]
