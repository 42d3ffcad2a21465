"""Planted stories, decided again by the real engine: what the answers say where the truth is known."""

import shutil
from pathlib import Path
from typing import Any

import pytest

from butfor.attribution import Ask, Margins, Question, attribute_run
from butfor.attribution.judged import JUDGE_SHARE, VERDICTS
from butfor.benchmarks.planted import TableWorld
from butfor.outcomes import find_outcome
from butfor.replay import Budget, record_run
from butfor.store import Store
from tests.agents import deciding

HERE = "tests.agents.deciding"
TRANSFERRED = 'tool_called("transfer")'
WIRED = 'tool_called("wire")'
ALL_FACTUAL = f"{HERE}:all_factual"


def recorded(home: Path, agent: str, task: Any, outcome: str) -> str:
    with Store.open(home) as store:
        score = find_outcome(outcome)
        return record_run(f"{HERE}:{agent}", task, store=store, score=score, run_id="told", verify=False).run.run_id


def asked(home: Path, run_id: str, agent: str, outcome: str, *, ask: Ask | None = None, **how: Any) -> dict[str, Any]:
    """Ask, and return the JSON result without its own name and its wall time."""
    method = how.pop("method", "search")
    with Store.open(home) as store:
        question = Question(agent=f"{HERE}:{agent}", outcome=outcome, **how)
        document = attribute_run(run_id, store=store, method=method, ask=ask, question=question).to_json()
    del document["result_id"], document["bill"]["seconds"]
    return document


def copy_of(home: Path, name: str) -> Path:
    """Copy a store that nothing has been bought for yet, so that the same draws are made afresh."""
    return Path(shutil.copytree(home, home.parent / name))


@pytest.mark.parametrize("method", ["profile", "search"])
def test_the_decision_is_decisive_and_its_execution_is_mechanical(tmp_path, method):
    run_id = recorded(tmp_path, "executing", {"seed": deciding.factual_seed()}, TRANSFERRED)
    answer = asked(tmp_path, run_id, "executing", TRANSFERRED, method=method, ask=Ask(draws=96))["answer"]
    assert answer["kind"] == "decisive"
    assert answer["candidates"] == [deciding.PLAN]
    roles = {step["step"]: step["role"] for step in answer["steps"]}
    assert roles[deciding.PLAN] == "decisive"
    # A search draws no more of a step than it needs to rule it out: what else it knows of the step is by the way.
    by_the_way = ("mechanical", "no effect", "ruled out")
    assert roles[deciding.EXECUTION] in (by_the_way if method == "search" else ("mechanical",))


@pytest.mark.parametrize("method", ["profile", "search"])
@pytest.mark.parametrize("limit", [None, 45])
def test_slow_failures_on_many_slots_change_nothing(tmp_path, method, limit):
    home = tmp_path / "one slot"
    task = {"seed": deciding.factual_seed(), "slow": 0.02}
    run_id = recorded(home, "executing", task, TRANSFERRED)
    other = copy_of(home, "sixteen slots")
    how = {"method": method, "ask": Ask(draws=16), "budget": Budget(rollouts=limit)}
    alone = asked(home, run_id, "executing", TRANSFERRED, concurrency=1, **how)
    together = asked(other, run_id, "executing", TRANSFERRED, concurrency=16, **how)
    assert alone == together
    assert (alone["stopped"] is None) == (limit is None)
    assert alone["bill"]["found"] == 0


def test_unsupported_calls_leave_honest_bounds_and_name_the_tool(tmp_path):
    run_id = recorded(tmp_path, "paying_out", {}, WIRED)
    result = asked(tmp_path, run_id, "paying_out", WIRED, method="profile", ask=Ask(draws=64))
    answer = result["answer"]
    # Deciding the second step again: a recorded payment in 20%, none in 30%; in 50% a sum that nobody recorded, which
    # counts as a payment or not.
    for step in (0, 1):
        v = answer["steps"][step]["v"]
        assert v["lower"] <= 0.2
        assert v["upper"] >= 0.7
        assert 16 <= answer["steps"][step]["unsupported"] <= 48
    assert answer["steps"][2]["unsupported"] == 0
    assert answer["kind"] == "withheld"
    assert "'wire'" in answer["sentence"]
    assert "register a simulator" in answer["sentence"]
    assert set(answer["unsupported"]) == {"wire"}
    assert result["bill"]["tool_calls"]["unsupported"] == answer["unsupported"]["wire"]


def test_shapley_coalitions_hold_actions_in_states_that_never_were(tmp_path):
    run_id = recorded(tmp_path, "stopping", {}, ALL_FACTUAL)
    # Each recording has draws of its own: at the usual level this test would fail one time in twenty.
    ask = Ask(rollouts=960, margins=Margins(alpha=1e-6))
    result = asked(tmp_path, run_id, "stopping", ALL_FACTUAL, method="shapley", ask=ask)
    answer = result["answer"]
    truth = TableWorld(steps=3, bad=deciding.CHANCES)
    for step, phi in zip(answer["steps"], truth.shapley(), strict=True):
        assert step["value"]["lower"] <= phi <= step["value"]["upper"]
        assert step["value"]["point"] > 0.0
    assert answer["efficiency"]["lower"] <= 1.0 - truth.value(frozenset()) <= answer["efficiency"]["upper"]
    with Store.open(tmp_path) as store:
        [fingerprint] = {arm.fingerprint for arm in store.list_arms(run_id)}
        drawn = {arm.arm: arm.rollouts for arm in store.list_arms(run_id)}
        forced = store.load_rollouts(run_id, fingerprint, "coalition:2")
    # v(all) is y: nothing is decided again, so no rollout is made or paid for.
    assert "coalition:0,1,2" not in drawn
    assert answer["rollouts"] > result["bill"]["rollouts"] == sum(drawn.values())
    # The held last step is forced after whatever came before it, and does not occur where the agent stopped.
    outcomes = [each.outcome for each in forced]
    assert set(outcomes) == {0.0, 1.0}
    counts = [each.counts for each in forced]
    assert any('"forced":1' in each for each in counts)
    assert any('"forced":0' in each for each in counts)


@pytest.mark.parametrize("method", ["profile", "search", "shapley"])
def test_a_stopped_analysis_goes_on_to_the_same_answer(tmp_path, method):
    home = tmp_path / "whole"
    run_id = recorded(home, "stopping", {}, ALL_FACTUAL)
    other = copy_of(home, "stopped")
    how = {"method": method, "ask": Ask(draws=16, rollouts=160)}
    whole = asked(home, run_id, "stopping", ALL_FACTUAL, **how)
    stopped = asked(other, run_id, "stopping", ALL_FACTUAL, budget=Budget(rollouts=21), **how)
    assert "21 rollouts is used up" in stopped["stopped"]
    assert stopped["answer"] != whole["answer"]
    resumed = asked(other, run_id, "stopping", ALL_FACTUAL, **how)
    assert resumed["bill"].pop("found") == 21
    assert whole["bill"].pop("found") == 0
    assert resumed == whole


def test_a_judged_outcome_is_the_judges_mean_at_its_share_of_the_level(tmp_path):
    run_id = recorded(tmp_path, "executing", {"seed": deciding.factual_seed()}, TRANSFERRED)
    ask = Ask(margins=Margins(alpha=0.1))
    document = asked(tmp_path, run_id, "executing", f"{HERE}:wavering", ask=ask)
    y = document["answer"]["factual"]
    assert y["n"] == VERDICTS
    assert y["alpha"] == pytest.approx(JUDGE_SHARE * 0.1)
    assert y["lower"] < y["point"] == pytest.approx(0.95, abs=0.02)
    assert document["answer"]["candidates"] == [deciding.PLAN]
    assert "88% confidence" in document["answer"]["sentence"]
    assert any("judge" in note or "asked again" in note for note in document["notes"])
