"""Nothing before the changed step is asked again, and nothing in a rollout touches the world."""

import pytest

from butfor import do, noise
from butfor.replay import ToolPolicy
from tests.agents import refunding
from tests.agents.recording import recorded, rollouts_of, run

TASK = {"seed": next(s for s in range(99) if noise.generator("test", s, 5).random() < 0.5)}
"""A seed with which the recorded agent follows its plan to the refund."""


@pytest.fixture(params=[refunding.agent, refunding.async_agent], ids=["sync", "async"])
def case(request):
    store, run_id = recorded(request.param, TASK)
    assert ("refund", 7) in refunding.LIVE
    refunding.LIVE.clear()
    yield rollouts_of(request.param, store, run_id)
    refunding.LIVE.clear()


def test_the_held_prefix_asks_no_model_and_no_tool(case):
    (rollout,) = run(case, do.action(3, "stop"), 1)
    assert (rollout.status, rollout.output["said"]) == ("completed", "stop")
    assert refunding.LIVE == []
    assert rollout.counts["held"] == 6  # three decisions and three tool calls
    assert rollout.counts["policy"] == 0


@pytest.mark.parametrize("step", [0, 1, 2, 3])
def test_resampling_a_step_asks_the_model_from_there_on_only(case, step):
    (rollout,) = run(case, do.resample(step), 1)
    asked = [kind for kind, _ in refunding.LIVE if kind == "model"]
    assert len(asked) == rollout.counts["policy"] <= 4 - step
    assert rollout.counts["held"] == 2 * step


def test_the_refund_never_happens_in_any_rollout(case):
    outcomes = [each.outcome for step in range(4) for each in run(case, do.resample(step), 20)]
    assert {1.0, 0.0} <= set(outcomes)
    assert [call for call in refunding.LIVE if call[0] == "refund"] == []


def test_a_write_runs_live_where_it_is_allowed_by_name_and_was_not_recorded(case):
    call = {"tool": "refund", "arguments": {"order": 8, "amount": 1.0}}
    (refused,) = run(case, do.action(1, call), 1)
    assert (refused.status, refused.tool, refused.outcome) == ("unsupported", "refund", None)
    assert "register a simulator" in str(refused.error)
    case.tools = ToolPolicy(allow_write=frozenset({"refund"}))
    del case.fingerprint
    case._known.clear()
    (allowed,) = run(case, do.action(1, call), 1)
    assert ("refund", 8) in refunding.LIVE
    assert allowed.counts["live"] >= 1
