"""Streams and typed answers: what the agent met in the recording it meets again, chunk by chunk and type by type."""

from typing import Any

import pytest

from butfor import do
from butfor.errors import InputError
from butfor.outcomes import score_of
from butfor.replay import faults, load_journal, reading, record_run, untouched_differences, wrap_agent, writing
from butfor.store import MemoryStore
from tests.agents import streaming
from tests.agents.recording import recorded, rollouts_of, run

ZERO = score_of(lambda trajectory: 0.0, name="zero")


@pytest.fixture(autouse=True)
def quiet(monkeypatch):
    streaming.LIVE.clear()
    streaming.FAULTS.clear()
    monkeypatch.setattr(faults, "_FIRST_PAUSE", 0.0)


@pytest.mark.parametrize("agent", streaming.AGENTS, ids=lambda each: each.__name__)
def test_an_untouched_replay_is_faithful(agent):
    store, run_id = recorded(agent, None)
    journal = load_journal(store, run_id)
    assert journal.footer is not None
    assert journal.footer["status"] == "completed"
    streaming.LIVE.clear()
    assert untouched_differences(journal, wrap_agent(agent)) == []
    assert streaming.LIVE == []


@pytest.mark.parametrize("agent", [streaming.typed_answers, streaming.typed_chunks], ids=lambda each: each.__name__)
def test_types_are_found_in_a_fresh_process(agent):
    assert record_run(agent, None, store=MemoryStore()).differences == ()


def output(agent: Any, intervention: Any, **rest: Any) -> Any:
    store, run_id = recorded(agent, None)
    streaming.LIVE.clear()
    [rollout] = run(rollouts_of(agent, store, run_id, score=ZERO, **rest), intervention, 1)
    assert rollout.status == "completed", rollout.error
    return rollout.output


def test_a_stream_is_resampled_with_a_seed_of_its_own():
    first, second, _ = output(streaming.consumed, do.resample(1))
    assert (first[-1], second[:-1]) == ("1", ["b", "one", "two", "three"])
    assert second[-1] != "1"
    assert streaming.LIVE == ["b"]


@pytest.mark.parametrize("agent", [streaming.consumed, streaming.consumed_later], ids=lambda each: each.__name__)
def test_a_connection_that_breaks_before_any_chunk_is_tried_again(agent):
    store, run_id = recorded(agent, None)
    streaming.FAULTS[:] = [ConnectionResetError, ConnectionError]
    [rollout] = run(rollouts_of(agent, store, run_id, score=ZERO), do.resample(1), 1)
    assert (rollout.status, streaming.FAULTS) == ("completed", [])


def test_an_action_stands_in_the_place_of_a_stream():
    said = output(streaming.consumed, do.action(0, "other"))
    assert said[0] == ["other"]
    assert output(streaming.consumed, do.action(0, ["x", "y"]))[0] == ["x", "y"]


def test_an_observation_stands_in_the_place_of_a_stream():
    assert output(streaming.consumed, do.observation(1, [{"row": 9}]))[2] == [{"row": 9}]
    assert output(streaming.consumed, do.observation(1, "one chunk"))[2] == ["one chunk"]


def early(task: Any) -> Any:
    said = streaming.words(streaming.tell(prompt="p", seed=1))
    found = streaming.point(2.0)
    return [said, found.x, streaming.words(streaming.tell(prompt=str(found), seed=1))[:1]]


def test_an_observation_keeps_the_type_that_the_tool_returned():
    said = output(early, do.observation(0, {"x": 7.5, "note": None}))
    assert said[1:] == [7.5, ["Point(x=7.5, note=None)"]]


def test_an_observation_that_does_not_fit_the_type_is_refused_before_anything_runs():
    store, run_id = recorded(early, None)
    with pytest.raises(InputError, match="cannot stand for the answer of 'point'"):
        run(rollouts_of(early, store, run_id, score=ZERO), do.observation(0, "seven"), 1)


def test_calls_made_while_a_stream_is_open_follow_its_step():
    store, run_id = recorded(streaming.dispatching, None)
    journal = load_journal(store, run_id)
    assert [len(journal.tools_of(step)) for step in range(2)] == [0, 5]
    [rollout] = run(rollouts_of(streaming.dispatching, store, run_id, score=ZERO), do.resample(1), 1)
    assert rollout.status == "completed"
    assert rollout.counts["recorded"] == 4  # the last chunk is another seed, the tool is asked about it
    assert rollout.counts["live"] == 1


def test_streams_are_read_like_whole_answers():
    chunks: list[Any] = [
        {"choices": [{"index": 0, "delta": {"role": "assistant", "content": "he"}}]},
        {"choices": [{"index": 0, "delta": {"content": "llo"}, "finish_reason": "stop"}]},
    ]
    assert reading.read(chunks).text == "hello"
    assert reading.read(["he", "llo"]).text == "hello"
    forced = writing.write_action(chunks, {"tool": "t", "arguments": {"a": 1}})
    assert [(call.name, call.arguments) for call in reading.read(forced).calls] == [("t", {"a": 1})]


def test_a_call_that_was_given_up_is_no_recorded_answer():
    said = output(streaming.grouped, do.resample(1))
    assert said == ["said firstfailed", "said second", "0.2"]
    # The first of the two equal calls was held and given up again, the second has the recorded answer.
    assert streaming.LIVE == ["second"]
    assert output(streaming.grouped, do.resample(0))[2] == "0.2"
