"""Agents as tools, several calls in a step, and changes that have to reach every later request."""

from typing import Any

import pytest

from butfor import do
from butfor.outcomes import score_of, tool_called
from butfor.replay import ToolPolicy, load_journal, record_run, rollout_run, untouched_differences, wrap_agent
from butfor.runs import ToolCall
from butfor.store import MemoryStore
from tests.agents import nested
from tests.agents.recording import recorded, rollouts_of, run

ZERO = score_of(lambda trajectory: 0.0, name="zero")
AGENTS = [
    nested.agent, nested.parallel, nested.awaited, nested.conversation, nested.growing, nested.delegating,
    nested.composing,
]  # fmt: skip


@pytest.fixture(autouse=True)
def quiet():
    nested.LIVE.clear()
    nested.SEEN.clear()


def rolled(agent: Any, intervention: Any, count: int = 1, **rest: Any) -> Any:
    store, run_id = recorded(agent, None)
    nested.LIVE.clear()
    nested.SEEN.clear()
    return run(rollouts_of(agent, store, run_id, score=ZERO, **rest), intervention, count)


@pytest.mark.parametrize("agent", AGENTS, ids=lambda each: each.__name__)
def test_an_untouched_replay_is_faithful(agent):
    store, run_id = recorded(agent, None)
    nested.SEEN.clear()
    assert untouched_differences(load_journal(store, run_id), wrap_agent(agent)) == []
    assert nested.SEEN == []


def test_a_fresh_process_replays_it_too():
    assert record_run(nested.agent, None, store=MemoryStore()).differences == ()


def test_an_inner_step_is_drawn_again_inside_its_tool():
    """The outer tool is entered and its held inner steps are served."""
    [rollout] = rolled(nested.agent, do.resample(2))
    made = [kind for kind, _ in nested.LIVE]
    assert made.count("research") == 1
    assert made.count("model") == 3  # steps 2 to 4
    assert rollout.counts["held"] == 3  # the outer step 0, the inner step 1, and what that looked up
    assert (rollout.status, rollout.counts["recorded"]) == ("completed", 2)  # what the two agents wrote at their ends
    assert not {"pay", "file"} & set(made)


def test_all_steps_inside_are_decided_again_from_the_outer_step_on():
    rollouts = rolled(nested.agent, do.resample(0), 4)
    assert {each.counts["held"] for each in rollouts} == {0}
    assert {each.counts["policy"] for each in rollouts} == {5}
    assert sum(kind == "model" for kind, _ in nested.LIVE) == 20
    assert not {"pay", "file"} & {kind for kind, _ in nested.LIVE}


def test_an_outer_tool_is_served_whole_where_all_its_steps_are_held():
    [rollout] = rolled(nested.agent, do.resample(4))
    assert [kind for kind, _ in nested.LIVE] == ["model"]
    assert rollout.status == "completed"
    assert rollout.counts["recorded"] == 1  # the payment: same call, same writes before it, one inside the tool


def test_an_outer_tool_that_writes_is_entered_only_where_it_is_allowed():
    [rollout] = rolled(nested.delegating, do.resample(0))
    assert (rollout.status, rollout.tool) == ("unsupported", "delegate")
    assert "steps inside 'delegate' are decided again" in str(rollout.error)
    [rollout] = rolled(nested.delegating, do.resample(0), tools=ToolPolicy(allow_write=frozenset({"delegate"})))
    assert rollout.status == "completed"
    assert [kind for kind, _ in nested.LIVE] == ["model", "delegate", "model", "model"]


def test_what_a_recorded_answer_did_inside_happened_too():
    """An outcome that looks for the payment must find it, and later calls must find the writes before them."""
    store, run_id = recorded(nested.composing, None)
    paid = score_of(tool_called("pay"), name="paid")
    nested.LIVE.clear()
    [rollout] = run(rollouts_of(nested.composing, store, run_id, score=paid), do.resample(1), 1)
    assert (rollout.status, rollout.outcome, rollout.counts["recorded"]) == ("completed", 1.0, 2)
    assert [kind for kind, _ in nested.LIVE] == ["model"]
    [kept] = store.load_rollouts(run_id, *_only_arm(store, run_id))
    parts = [part for step in rollout_run(store, kept).steps for part in step.parts]
    assert [part.name for part in parts if isinstance(part, ToolCall)] == ["composite", "look"]


def _only_arm(store: Any, run_id: str) -> tuple[str, str]:
    [arm] = store.list_arms(run_id)
    return arm.fingerprint, arm.arm


def test_an_observation_may_stand_for_a_whole_agent():
    [rollout] = rolled(nested.agent, do.observation(0, "said so"), tools=ToolPolicy(allow_write=frozenset({"pay"})))
    assert rollout.output[0] == "said so"
    # The recorded payment followed a write that did not happen here, so it is another one.
    assert [kind for kind, _ in nested.LIVE] == ["model", "pay"]


def test_operations_on_later_steps_apply_after_a_resampled_one():
    [rollout] = rolled(nested.parallel, do.resample(0) & do.observation(1, "changed", call=2))
    assert rollout.counts["forced"] == 1
    assert rollout.output[8] == "changed"


@pytest.mark.parametrize("call", [0, 1, 2])
def test_one_of_several_calls_is_observed_differently(call):
    [rollout] = rolled(nested.parallel, do.observation(0, "changed", call=call), tools=ToolPolicy())
    factual = [f"about {rollout.output[1]}{i}" for i in range(3)]
    assert rollout.output[2:5] == [*factual[:call], "changed", *factual[call + 1 :]]
    assert rollout.counts["forced"] == 1
    assert [seen[2:5] for seen in nested.SEEN if len(seen) == 5] == [rollout.output[2:5]]


def test_an_observation_must_say_which_of_several_calls():
    with pytest.raises(ValueError, match="its calls are: look_later, look_later, look_later"):
        rolled(nested.parallel, do.observation(0, "changed"))


@pytest.mark.parametrize("agent", [nested.conversation, nested.awaited, nested.growing], ids=lambda each: each.__name__)
def test_an_edited_history_stays_edited(agent):
    [rollout] = rolled(agent, do.context(1, {"replace": ["you", "world"]}))
    assert rollout.status == "completed"
    seen = [str(each) for each in nested.SEEN]
    same = [each for each in seen if "elsewhere" not in each]
    assert len(same) == (2 if agent is nested.growing else 3)
    assert all("hello world" in each and "you" not in each for each in same)
    # Another history of the same lane is another history.
    assert all("hello you, elsewhere" in each for each in seen if each not in same)


def test_another_policy_decides_from_its_step_on():
    [rollout] = rolled(nested.conversation, do.policy(2, "large"))
    assert [model for model, _ in nested.SEEN] == ["large"] * 3
    [rollout] = rolled(nested.conversation, do.resample(1) & do.policy(3, nested.other_policy))
    assert [kind for kind, _ in nested.LIVE] == ["model", "model", "other", "other"]
    assert rollout.output[-2:] == ["other", "other"]


def test_requests_of_awaited_calls_are_stored_as_differences():
    store, run_id = recorded(nested.awaited, None)
    bases = [step.base for step in load_journal(store, run_id).steps]
    assert bases[0] is None
    assert None not in bases[1:]
    kept = [step.request and step.request.base for step in store.load_run(run_id).steps]
    assert kept == [None, 0, 1, 2]
