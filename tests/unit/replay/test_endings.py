"""Agents that leave in unusual ways are results of their own rollout and nobody else's."""

import asyncio
import sys
from typing import Any

import pytest

import butfor
from butfor import do
from butfor.replay import load_journal, record_run, untouched_differences, wrap_agent
from butfor.store import MemoryStore
from tests.agents.recording import recorded, rollouts_of, run

LEAVE: list[BaseException] = []


@butfor.model
def ask(*, prompt: str, seed: int) -> str:
    if LEAVE:
        raise LEAVE[0]
    return prompt


def agent(task: Any) -> str:
    return ask(prompt="p", seed=1)


async def later(task: Any) -> str:
    await asyncio.sleep(0)
    return ask(prompt="p", seed=1)


@pytest.fixture(autouse=True)
def stay():
    LEAVE.clear()


@pytest.mark.parametrize("function", [agent, later], ids=lambda each: each.__name__)
@pytest.mark.parametrize("error", [SystemExit(3), asyncio.CancelledError()], ids=lambda each: type(each).__name__)
def test_leaving_is_a_result_and_no_interruption(function, error):
    store, run_id = recorded(function, None)
    rollouts = rollouts_of(function, store, run_id)
    LEAVE.append(error)
    results = run(rollouts, do.resample(0), 3)
    assert [each.status for each in results] == ["raised"] * 3
    assert all(type(error).__name__ in str(each.error) for each in results)
    assert not rollouts.interrupted


def exiting(task: Any) -> str:
    sys.exit(ask(prompt="bye", seed=1))


def test_a_recording_that_exits_is_replayed_exiting():
    store = MemoryStore()
    kept = record_run(exiting, None, store=store, verify=False)
    assert (kept.ending.status, kept.ending.error) == ("raised", "SystemExit: bye")
    assert untouched_differences(load_journal(store, kept.run.run_id), wrap_agent(exiting)) == []


def test_everything_works_where_a_loop_is_running_already():
    async def notebook() -> Any:
        store, run_id = recorded(later, None)
        assert untouched_differences(load_journal(store, run_id), wrap_agent(later)) == []
        return run(rollouts_of(later, store, run_id), do.resample(0), 2)

    assert [each.status for each in asyncio.run(notebook())] == ["completed"] * 2
