"""Repair at test time: the nearest result that passes, or an honest no."""

import json

import pytest

import butfor
from butfor.errors import InputError
from butfor.store import MemoryStore
from tests.agents import mending

AGENT = "tests.agents.mending:agent"
TASK = {"seed": mending.factual_seed()}


def test_a_first_try_that_passes_is_returned_at_no_further_cost():
    right = next(seed for seed in range(100) if mending.write(task={}, history=["x"], seed=seed) == mending.RIGHT)
    found = butfor.rescue(AGENT, {"seed": right}, mending.wrong)
    assert (found.status, found.drift, found.rollouts) == ("passed", 0, 0)
    assert found.output["answer"] == mending.GOLD


def test_a_failing_result_is_rescued_with_the_least_drift():
    found = butfor.rescue(AGENT, TASK, "tests.agents.mending:wrong")
    assert found.status == "rescued"
    assert found.output["answer"] == mending.GOLD
    assert (found.drift, found.step, found.changed) == (1, 1, mending.RIGHT)
    assert "1 step decided otherwise" in found.sentence


def test_an_agent_that_is_no_module_level_name_is_rescued_too():
    def mine(task):
        return mending.agent(task)

    assert butfor.rescue(mine, TASK, mending.wrong).passed


def test_where_nothing_passes_the_answer_is_an_honest_no_within_the_budget():
    found = butfor.rescue(AGENT, TASK, 'not json_path("answer", 46)', rollouts=9)
    assert found.status == "not rescued"
    assert not found.passed
    assert found.rollouts == 9
    assert found.drift is None
    assert found.output == {"answer": 5, "said": mending.WRONG}
    assert "none of 9 rollouts" in found.sentence
    assert json.loads(json.dumps(found.to_json()))["status"] == "not rescued"


def test_the_demo_is_rescued_without_paying():
    for seed in range(100):
        task = {"question": "My parcel 1042 never reached me. I want my money back.", "seed": seed}
        found = butfor.rescue("butfor.demo.agent:agent", task, 'tool_called("issue_refund")')
        assert found.passed
        if found.status == "rescued":
            break
    assert found.output["refunded"] == []
    assert found.drift is not None
    assert found.drift >= 1


def test_what_was_only_simulated_is_said():
    from tests.agents import refunding

    store = MemoryStore()
    before = len(refunding.LIVE)
    found = butfor.rescue(refunding.agent, {"seed": 1}, 'not tool_called("refund", order=8)', store=store, rollouts=8)
    assert found.status == "not rescued"
    # The write tool ran once, in the first try, and in no rollout.
    assert sum(name == "refund" for name, _ in refunding.LIVE[before:]) <= 1


def test_a_budget_that_buys_nothing_is_refused():
    with pytest.raises(InputError, match="cannot try anything"):
        butfor.rescue(AGENT, TASK, mending.wrong, rollouts=0)
