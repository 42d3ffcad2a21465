"""Timeouts, exceptions and faults: what is a result, what is tried again, what leaves a draw open."""

import asyncio
import threading
import time
from typing import Any

import pytest

import butfor
from butfor import do
from butfor.errors import Abandoned, InputError, OutcomeError, TransportFault
from butfor.outcomes import failed, score_of
from butfor.replay import Budget, faults
from tests.agents import refunding
from tests.agents.recording import recorded, rollouts_of, run
from tests.patience import PATIENCE

BEHAVIOUR: dict[str, Any] = {}
SEEN: list[Any] = []


@pytest.fixture(autouse=True)
def quiet(monkeypatch):
    BEHAVIOUR.clear()
    SEEN.clear()
    monkeypatch.setattr(faults, "_FIRST_PAUSE", 0.0)


@butfor.model
def ask(*, prompt: str, seed: int) -> str:
    SEEN.append(seed)
    behave = BEHAVIOUR.get("model")
    return behave(len(SEEN)) if behave else "fine"


def agent(task: Any) -> str:
    return ask(prompt="p", seed=3) + ask(prompt="q", seed=3)


async def slow_agent(task: Any) -> str:
    said = ask(prompt="p", seed=3)
    await asyncio.sleep(BEHAVIOUR.get("sleep", 0))
    return said + ask(prompt="q", seed=3)


def rolled(function: Any, count: int = 1, **rest: Any) -> Any:
    store, run_id = recorded(function, None)
    SEEN.clear()
    return rollouts_of(function, store, run_id, **rest)


def test_a_transport_fault_is_repeated_with_the_same_draw():
    rollouts = rolled(agent)

    def flaky(call: int) -> str:
        if call < 3:
            raise ConnectionError("reset")
        return "fine"

    BEHAVIOUR["model"] = flaky
    (rollout,) = run(rollouts, do.resample(1), 1)
    assert (rollout.status, len(SEEN), len(set(SEEN))) == ("completed", 3, 1)


def test_an_unreachable_model_leaves_the_draw_open_and_is_resumed():
    rollouts = rolled(agent)

    def gone(call: int) -> str:
        raise TransportFault("503")

    BEHAVIOUR["model"] = gone
    assert run(rollouts, do.resample(1), 2) == []
    assert isinstance(rollouts.stopped, TransportFault)
    BEHAVIOUR.clear()
    again = rollouts_of(agent, rollouts.store, rollouts.run_id)
    assert [each.status for each in run(again, do.resample(1), 2)] == ["completed", "completed"]


def test_a_malformed_answer_is_a_result_and_not_repeated():
    rollouts = rolled(agent)

    def bad(call: int) -> str:
        raise ValueError("no JSON in the answer")

    BEHAVIOUR["model"] = bad
    (rollout,) = run(rollouts, do.resample(1), 1)
    assert (rollout.status, rollout.outcome, len(SEEN)) == ("raised", None, 1)
    assert rollout.error == "ValueError: no JSON in the answer"


def test_an_asynchronous_rollout_that_takes_too_long_is_a_result_and_never_drawn_again():
    rollouts = rolled(slow_agent, time_limit=0.05)
    BEHAVIOUR["sleep"] = 2 * PATIENCE
    start = time.monotonic()
    statuses = [each.status for each in run(rollouts, do.resample(0), 3)]
    assert (statuses, time.monotonic() - start < PATIENCE) == (["timeout"] * 3, True)
    BEHAVIOUR["sleep"] = 0
    again = rollouts_of(slow_agent, rollouts.store, rollouts.run_id)
    assert [each.status for each in run(again, do.resample(0), 3)] == ["timeout"] * 3


def test_an_abandoned_synchronous_rollout_meets_an_error_at_its_next_boundary():
    release, ended = threading.Event(), threading.Event()
    met: list[BaseException] = []

    def stuck(task: Any) -> str:
        first = ask(prompt="p", seed=3)
        if BEHAVIOUR.get("stick"):
            release.wait(20)
        try:
            return first + ask(prompt="q", seed=3)
        except BaseException as error:
            met.append(error)
            raise
        finally:
            ended.set()

    store, run_id = recorded(stuck, None)
    ended.clear()
    BEHAVIOUR["stick"] = True
    SEEN.clear()
    rollouts = rollouts_of(stuck, store, run_id, time_limit=0.05)
    (rollout,) = run(rollouts, do.resample(0), 1)
    assert rollout.status == "timeout"
    release.set()
    assert ended.wait(5)
    assert isinstance(met[0], Abandoned)
    assert len(SEEN) == 1


def test_the_agents_own_timeout_error_is_its_exception():
    rollouts = rolled(agent, time_limit=30)

    def late(call: int) -> str:
        raise TimeoutError("mine")

    BEHAVIOUR["model"] = late
    (rollout,) = run(rollouts, do.resample(1), 1)
    assert (rollout.status, rollout.error) == ("raised", "TimeoutError: mine")


def test_an_outcome_may_score_failures():
    score = score_of(failed(), name="failed")
    store, run_id = recorded(agent, None, score=score)

    def bad(call: int) -> str:
        raise ValueError("x")

    BEHAVIOUR["model"] = bad
    (rollout,) = run(rollouts_of(agent, store, run_id, score=score), do.resample(1), 1)
    assert rollout.outcome == 1.0


@pytest.mark.parametrize("value", [1.5, -0.1, float("nan"), None, "bad"])
def test_an_outcome_outside_its_range_is_named(value):
    score = score_of(lambda trajectory: value, name="mine")
    with pytest.raises(OutcomeError, match="the outcome mine gave"):
        recorded(agent, None, score=score)


def test_an_outcome_that_raises_is_named():
    def broken(trajectory: Any) -> float:
        raise KeyError("field")

    with pytest.raises(OutcomeError, match="the outcome mine raised KeyError"):
        recorded(agent, None, score=score_of(broken, name="mine"))


@pytest.mark.parametrize(
    ("budget", "finished"),
    [(Budget(rollouts=3), 3), (Budget(policy_calls=4), 2), (Budget(seconds=1e-9), 0)],
)
def test_a_used_up_budget_leaves_a_resumable_prefix(budget, finished):
    store, run_id = recorded(agent, None)
    rollouts = rollouts_of(agent, store, run_id, budget=budget, concurrency=1)
    assert len(run(rollouts, do.resample(0), 6)) == finished
    assert "is used up" in str(rollouts.stopped)
    SEEN.clear()
    again = rollouts_of(agent, store, run_id)
    assert len(run(again, do.resample(0), 6)) == 6
    assert len(SEEN) == 2 * (6 - finished)


@pytest.mark.parametrize("name", ["rollouts", "policy_calls", "tokens", "seconds"])
@pytest.mark.parametrize("value", [0, -1])
def test_a_budget_that_buys_nothing_is_refused(name, value):
    with pytest.raises(InputError, match=f"the budget {name}={value} buys nothing"):
        Budget(**{name: value})


def test_every_draw_has_its_own_seed_and_nothing_else_of_the_request_changes():
    store, run_id = recorded(refunding.agent, {"seed": 11})
    rollouts = rollouts_of(refunding.agent, store, run_id)
    refunding.LIVE.clear()
    run(rollouts, do.resample(0), 30)
    seeds = [seed for kind, seed in refunding.LIVE if kind == "model"]
    assert 11 not in seeds
    assert len(set(seeds)) == len(seeds)


def test_identical_resamples_are_noticed_as_equal_tails():
    rollouts = rolled(agent)
    tails = {each.tail for each in run(rollouts, do.resample(0), 5)}
    assert len(tails) == 1
