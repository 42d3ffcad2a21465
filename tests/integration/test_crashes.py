"""Killed and interrupted processes: what was finished is kept, nothing is bought twice, the unfinished says so."""

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from butfor import do
from butfor.cli.main import main
from butfor.errors import InputError
from butfor.outcomes import find_outcome
from butfor.replay import Job, factual_trajectory, load_journal, record_run
from butfor.store import Store
from tests.agents import paying
from tests.agents.recording import rollouts_of
from tests.patience import PATIENCE, started, until

ROOT = Path(__file__).parents[2]
AGENT = "tests.agents.paying:agent"
OUTCOME = "tests.agents.paying:ends_high"
CLI = "import sys; from butfor.cli.main import main; main(sys.argv[1:])"
ROLLOUTS = """
import sys
from pathlib import Path
from butfor import do
from butfor.outcomes import find_outcome
from butfor.replay import Job, Rollouts, find_agent
from butfor.store import Store

store = Store.open(Path(sys.argv[1]))
rollouts = Rollouts(
    sys.argv[2], store, agent=find_agent(sys.argv[3]), score=find_outcome(sys.argv[4]), concurrency=4,
    progress=lambda done, total: print(done, flush=True),
)
rollouts.run([Job(intervention=do.resample(0), arm="killed", ordinal=i) for i in range(60)])
"""


@contextmanager
def python(*arguments: str, home: Path, **environment: str) -> Iterator["subprocess.Popen[str]"]:
    path = os.pathsep.join([str(ROOT / "src"), str(ROOT)])
    with started(
        [sys.executable, "-c", *arguments],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        cwd=ROOT,
        env=os.environ | {"BUTFOR_HOME": str(home), "PYTHONPATH": path} | environment,
    ) as process:
        yield process


def wait_for_calls(log: Path, count: int, process: "subprocess.Popen[str]") -> None:
    until(lambda: calls(log) >= count or process.poll() is not None, f"{count} calls of the model")
    assert calls(log) >= count, process.communicate(timeout=PATIENCE)


def calls(log: Path) -> int:
    return log.read_text().count("\n") if log.exists() else 0


def recorded(home: Path, log: Path, pause: float = 0.01) -> str:
    with Store.open(home) as store:
        task = {"log": str(log), "pause": pause}
        run_id = record_run(
            AGENT, task, store=store, score=find_outcome(OUTCOME), run_id="paying", verify=False
        ).run.run_id
        store.save_spec(run_id, json.dumps({"agent": AGENT, "outcome": OUTCOME}))
    log.unlink()
    return run_id


def test_what_a_killed_process_finished_is_not_bought_again(tmp_path):
    home, log = tmp_path / "home", tmp_path / "log"
    run_id = recorded(home, log)
    with python(ROLLOUTS, str(home), run_id, AGENT, OUTCOME, home=home, TESTS_SLOW_AFTER="60") as process:
        assert process.stdout is not None
        acknowledged = [int(process.stdout.readline()) for _ in range(12)]
        process.send_signal(signal.SIGKILL)
        acknowledged += [int(line) for line in process.stdout.read().splitlines(keepends=True) if line.endswith("\n")]
    with Store.open(home) as store:
        rollouts = rollouts_of(paying.agent, store, run_id, score=find_outcome(OUTCOME))
        asked = [Job(intervention=do.resample(0), arm="killed", ordinal=i) for i in range(60)]
        kept = store.load_rollouts(run_id, rollouts.fingerprint, "killed")
        assert acknowledged[-1] <= len(kept) < 60
        log.unlink()
        results = rollouts.run(asked)
        assert calls(log) == paying.STEPS * (60 - len(kept))
        assert [each.ordinal for each in results] == list(range(60))
        found = {each.ordinal: each.rollout_id for each in results}
        assert {each.draw: each.rollout_id for each in kept}.items() <= found.items()
        assert len({each.output for each in results}) > 1


def test_ctrl_c_leaves_an_answer_that_the_next_call_goes_on_from(tmp_path):
    home, log = tmp_path / "home", tmp_path / "log"
    run_id = recorded(home, log, pause=0.02)
    arguments = ["attribute", run_id, "--method", "profile", "--draws", "30", "--json"]
    with python(CLI, *arguments, home=home, TESTS_SLOW_AFTER="60") as process:
        wait_for_calls(log, 60, process)
        process.send_signal(signal.SIGINT)
        out, errors = process.communicate(timeout=60)
    assert process.returncode == 130, errors
    document = json.loads(out)
    assert "interrupted" in document["stopped"]
    assert document["answer"]
    with Store.open(home) as store:
        arms = store.list_arms(run_id)
        kept = [each for arm in arms for each in store.load_rollouts(run_id, arm.fingerprint, arm.arm)]
    assert 0 < len(kept) < 90
    log.unlink()
    with python(CLI, *arguments, home=home) as process:
        out, errors = process.communicate(timeout=120)
    assert process.returncode == 0, errors
    assert json.loads(out)["stopped"] is None
    spent = sum(json.loads(each.counts)["counts"]["policy"] for each in kept)
    assert calls(log) == 30 * (3 + 2 + 1) - spent


def test_a_killed_recording_can_be_read_and_every_verb_says_what_it_is(tmp_path, monkeypatch, capsys):
    home, log, task = tmp_path / "home", tmp_path / "log", tmp_path / "task.json"
    task.write_text(json.dumps({"log": str(log), "pause": 0.0, "stop": 2}))
    with python(CLI, "record", "--agent", AGENT, "--input", str(task), home=home) as process:
        wait_for_calls(log, 3, process)
        process.send_signal(signal.SIGKILL)
    with Store.open(home) as store:
        [listed] = store.list_runs()
        journal = load_journal(store, listed.run_id)
    assert [each.kind for each in journal.crossings] == ["model", "model"]
    assert journal.footer is None
    with pytest.raises(InputError, match="cut off before the agent ended"):
        factual_trajectory(journal)
    monkeypatch.setenv("BUTFOR_HOME", str(home))
    for verb in ("attribute", "replay", "report"):
        capsys.readouterr()
        with pytest.raises(SystemExit) as stop:
            main([verb, listed.run_id])
        message = capsys.readouterr().err.strip()
        assert stop.value.code == 2, message
        assert "unfinished" in message
        assert message.count("\n") == 0
    with pytest.raises(SystemExit):
        main(["runs"])
    assert "unfinished" in capsys.readouterr().out


def test_ctrl_c_during_a_recording_leaves_it_unfinished(tmp_path):
    home, log, task = tmp_path / "home", tmp_path / "log", tmp_path / "task.json"
    task.write_text(json.dumps({"log": str(log), "pause": 0.0, "stop": 1}))
    with python(CLI, "record", "--agent", AGENT, "--input", str(task), home=home) as process:
        wait_for_calls(log, 2, process)
        process.send_signal(signal.SIGINT)
        _, errors = process.communicate(timeout=30)
    assert process.returncode == 130, errors
    assert "Traceback" not in errors
    with Store.open(home) as store:
        [listed] = store.list_runs()
        assert [each.kind for each in load_journal(store, listed.run_id).crossings] == ["model"]
