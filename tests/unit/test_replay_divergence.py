"""An agent that asks something else than it did is told apart by the first field that differs."""

from typing import Any

import butfor
from butfor import do
from butfor.replay import untouched_differences, wrap_agent
from butfor.replay.rollouts import load_journal
from tests.agents.recording import recorded, rollouts_of, run

VERSION: dict[str, Any] = {"prompt": "be kind", "swallow": False, "calls": 2, "name": "m"}


def answer(*, messages: list[str], seed: int = 0) -> str:
    return f"answer to {len(messages)}"


def agent(task: str) -> list[str]:
    ask = butfor.model(answer, name=VERSION["name"])
    said: list[str] = [task, VERSION["prompt"]]
    for _ in range(VERSION["calls"]):
        try:
            said.append(ask(messages=said, seed=5))
        except Exception as error:
            if not VERSION["swallow"]:
                raise
            said.append(f"caught {error}")
    return said


def changed(monkey: Any, **version: Any) -> list[str]:
    store, run_id = recorded(agent, "hi")
    for key, value in version.items():
        monkey.setitem(VERSION, key, value)
    return untouched_differences(load_journal(store, run_id), wrap_agent(agent))


def test_an_unchanged_agent_is_faithful_alone_and_twice_at_once(monkeypatch):
    assert changed(monkeypatch) == []


def test_a_changed_prompt_is_shown_with_its_path(monkeypatch):
    (difference,) = changed(monkeypatch, prompt="be curt")
    assert "$.messages[1]" in difference
    assert "recorded be kind, now be curt" in difference


def test_a_divergence_stands_even_if_the_agent_catches_it(monkeypatch):
    (difference,) = changed(monkeypatch, prompt="be curt", swallow=True)
    assert "$.messages[1]" in difference


def test_another_boundary_in_the_same_place_is_named(monkeypatch):
    (difference,) = changed(monkeypatch, name="other")
    assert "'other'" in difference
    assert "'m'" in difference


def test_one_call_more_is_a_divergence_and_not_a_live_call(monkeypatch):
    (difference,) = changed(monkeypatch, calls=3)
    assert "once more than it did in the recording" in difference


def test_one_call_less_is_a_divergence(monkeypatch):
    (difference,) = changed(monkeypatch, calls=1)
    assert "ended after 1 steps where the recording has 2" in difference


def test_a_rollout_diverges_before_the_changed_step_is_decided(monkeypatch):
    store, run_id = recorded(agent, "hi")
    monkeypatch.setitem(VERSION, "prompt", "be curt")
    (rollout,) = run(rollouts_of(agent, store, run_id), do.resample(0), 1)
    assert (rollout.status, rollout.rollout_id, rollout.outcome) == ("diverged", None, None)


def test_key_order_alone_is_no_divergence():
    order = ["a", "b"]

    def shuffled(task: str) -> str:
        return str(butfor.model(lambda request: "x", name="m")(dict.fromkeys(order, 1)))

    store, run_id = recorded(shuffled, "hi")
    order.reverse()
    assert untouched_differences(load_journal(store, run_id), wrap_agent(shuffled)) == []
