"""Two processes that analyse one run at the same time: each draw is one result, whoever made it first."""

import json
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path

from butfor.outcomes import find_outcome
from butfor.replay import do, record_run
from butfor.store import Store
from tests.agents import paying
from tests.agents.pacing import MEETING
from tests.agents.recording import rollouts_of
from tests.agents.recording import run as buy
from tests.patience import started

ROOT = Path(__file__).parents[2]
DRAWS = 24
OUTCOME = "tests.agents.paying:ends_high"
ANALYSIS = """
import json, sys, time
from pathlib import Path
from butfor import do
from butfor.outcomes import find_outcome
from butfor.replay import Job, Rollouts, find_agent
from butfor.store import Store

home, run_id, go, draws = Path(sys.argv[1]), sys.argv[2], Path(sys.argv[3]), int(sys.argv[4])
store = Store.open(home)
agent = find_agent("tests.agents.paying:agent")
rollouts = Rollouts(run_id, store, agent=agent, score=find_outcome("tests.agents.paying:ends_high"), concurrency=4)
rollouts.fingerprint, rollouts.journal
print("ready", flush=True)
while not go.exists():
    time.sleep(0.005)
results = rollouts.run([Job(intervention=do.resample(0), arm="both", ordinal=i) for i in range(draws)])
print(json.dumps([[each.ordinal, each.rollout_id, each.outcome] for each in results]))
"""


def recorded(home: Path, log: Path, *, pause: float) -> str:
    with Store.open(home) as store:
        task = {"log": str(log), "pause": pause}
        return record_run(
            paying.agent, task, store=store, score=find_outcome(OUTCOME), run_id="paying", verify=False
        ).run.run_id


@contextmanager
def analysis(home: Path, run_id: str, go: Path) -> Iterator["subprocess.Popen[str]"]:
    meeting = home.parent / "meeting"
    meeting.mkdir(exist_ok=True)
    path = os.pathsep.join([str(ROOT / "src"), str(ROOT)])
    with started(
        [sys.executable, "-c", ANALYSIS, str(home), run_id, str(go), str(DRAWS)],
        stdout=subprocess.PIPE,
        cwd=ROOT,
        env=os.environ | {"PYTHONPATH": path, MEETING: str(meeting)},
    ) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n"
        yield process


def test_both_end_with_the_same_draws(tmp_path):
    home, log, go = tmp_path / "home", tmp_path / "log", tmp_path / "go"
    run_id = recorded(home, log, pause=0.05)
    log.unlink()
    with analysis(home, run_id, go) as first, analysis(home, run_id, go) as second:
        go.touch()
        answers = [json.loads(each.communicate(timeout=120)[0]) for each in (first, second)]
    assert answers[0] == answers[1]
    assert [ordinal for ordinal, _, _ in answers[0]] == list(range(DRAWS))
    # Else neither ever came second, and the test has shown nothing.
    assert len(log.read_text().splitlines()) > paying.STEPS * DRAWS
    with Store.open(home) as store:
        [arm] = store.list_arms(run_id)
        stored = [
            [each.draw, each.rollout_id, each.outcome] for each in store.load_rollouts(run_id, arm.fingerprint, "both")
        ]
    assert stored == answers[0]


def test_old_draws_are_not_pooled_with_new_ones(tmp_path):
    with Store.open(tmp_path) as store:
        task = {"log": str(tmp_path / "log"), "pause": 0.0}
        score = find_outcome(OUTCOME)
        run_id = record_run(paying.agent, task, store=store, score=score, run_id="paying", verify=False).run.run_id
        first = rollouts_of(paying.agent, store, run_id, score=score)
        buy(first, do.resample(0), 2)
        again = rollouts_of(paying.agent, store, run_id, score=score)
        assert again.fingerprint == first.fingerprint
        [arm] = store.list_arms(run_id)
        assert datetime.now(UTC) - arm.oldest < timedelta(minutes=5)
        time.sleep(0.01)
        later = rollouts_of(paying.agent, store, run_id, score=score, pooling=timedelta(milliseconds=1))
        assert later.fingerprint.startswith(f"{first.fingerprint}@")
