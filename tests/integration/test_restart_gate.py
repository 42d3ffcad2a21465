"""The restart example as a newcomer runs it: four verdicts by the shell and by Python, and a trial that decides."""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from butfor.cli.main import main

EXAMPLE = Path(__file__).parents[2] / "examples" / "restart_gate"
SOURCE = Path(__file__).parents[2] / "src"


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    path = tmp_path_factory.mktemp("example") / "restart_gate"
    shutil.copytree(EXAMPLE, path, ignore=shutil.ignore_patterns("*.csv", "*.json", "keys", "store", "graphs"))
    butfor = path / "bin" / "butfor"
    butfor.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m butfor.cli "$@"\n')
    butfor.chmod(0o755)
    assert run(path, "./prepare.sh").returncode == 0
    return path


def run(folder, *words, stdin=""):
    """Run a command as if env.sh had been sourced."""
    environment = {
        **os.environ,
        "PATH": f"{folder / 'bin'}:{os.environ['PATH']}",
        "PYTHON": sys.executable,
        "PYTHONPATH": str(SOURCE),
        "BUTFOR_KEYS": str(folder / "keys"),
        "BUTFOR_HOME": str(folder / "store"),
        "OMP_NUM_THREADS": "1",
    }
    return subprocess.run(
        words, cwd=folder, env=environment, input=stdin, capture_output=True, text=True, check=False, timeout=120
    )


@pytest.fixture
def butfor(folder, monkeypatch, capsys):
    """The command line in this process, which starts faster than another one: (words) -> (exit code, output)."""
    monkeypatch.chdir(folder)
    monkeypatch.setenv("PATH", f"{folder / 'bin'}:{os.environ['PATH']}")
    monkeypatch.setenv("BUTFOR_KEYS", str(folder / "keys"))
    monkeypatch.setenv("BUTFOR_HOME", str(folder / "store"))

    def call(*words):
        with pytest.raises(SystemExit) as stop:
            main(list(words))
        return stop.value.code, capsys.readouterr().out

    return call


def test_the_policy_has_no_mistake(butfor):
    code, out = butfor("gate", "lint", "--json")
    assert (code, [each["severity"] for each in json.loads(out)]) == (0, ["note", "warning"])


@pytest.mark.parametrize(
    ("tool", "arguments", "code", "reason"),
    [
        ("restart_service", {"service": "web"}, 0, "bound_met"),
        ("restart_service", {"service": "orders-db"}, 10, "shown_harmful"),
        ("restart_service", {"service": "nightly-report"}, 11, "insufficient_reversible"),
        ("drain_node", {"node": "node-7"}, 12, "not_identified"),
        ("restart_service", {"service": "unheard-of"}, 12, "context_unavailable"),
        ("restart_service", {"service": "--kubeconfig=/tmp/mine"}, 12, "context_unavailable"),
        ("delete_everything", {}, 12, "unknown_tool"),
    ],
)
def test_each_call_gets_its_verdict(butfor, folder, tool, arguments, code, reason):
    (folder / "call.json").write_text(json.dumps({"tool": tool, "arguments": arguments}))
    found, out = butfor("gate", "decide", "call.json", "--json")
    ruling = json.loads(out)
    assert (found, ruling["reason"]) == (code, reason)
    assert ruling["position"] is not None


@pytest.mark.parametrize(
    ("tool", "argument"), [("restart_service", "service=orders-db"), ("drain_node", "node=node-7")]
)
def test_a_refusal_is_derived_again_too(butfor, tool, argument):
    butfor("gate", "decide", "--tool", tool, "--arg", argument, "--out", "refusal.cert")
    code, out = butfor("verify", "refusal.cert", "--trust", "trust.json")
    assert (code, "no check failed" in out) == (0, True), out


def test_a_shell_goes_by_the_exit_code(folder):
    call = json.dumps({"tool": "restart_service", "arguments": {"service": "web"}})
    found = run(folder, "butfor", "gate", "decide", stdin=call)
    assert (found.returncode, found.stdout.split()[0]) == (0, "EXECUTE")


def test_a_trial_decides_what_the_log_could_not(butfor, folder):
    words = ["--tool", "restart_service", "--arg", "service=nightly-report", "--request", "ask.json"]
    assert "a trial needs" in butfor("gate", "decide", *words)[1]
    assert run(folder, sys.executable, "trial.py", "ask.json", "trial.csv").returncode == 0
    code, out = butfor("gate", "resolve", "ask.json", "--data", "trial.csv", "--out", "batch.cert")
    assert (code, out.split()[0]) == (0, "EXECUTE")
    assert json.loads((folder / "batch.cert").read_bytes())["body"]["proof"]["kind"] == "randomised"


def test_the_agents_tools_touch_the_cluster_only_where_they_may(folder):
    found = run(folder, sys.executable, "tools.py")
    assert found.returncode == 0, found.stderr
    lines = found.stdout.splitlines()
    assert lines[0] == "web: deployment/web restarted"
    assert [line.split()[1] for line in lines[1:]] == ["REJECT", "EXPERIMENT", "ABSTAIN"]
    assert (folder / "kubectl.log").read_text() == "restarted deployment/web\n"


def test_what_is_no_call_is_unusable_input(butfor, folder):
    for text in ("", "[]", '{"tool": "restart_service", "arguments": {"id": 9007199254740993}}'):
        (folder / "call.json").write_text(text)
        assert butfor("gate", "decide", "call.json")[0] == 2
