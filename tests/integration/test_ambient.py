"""Ambient boundaries: module-level time and randomness of agents that never heard of us."""

import json
import random
import threading
import time
import uuid
from typing import Any

import numpy as np
import pytest

from butfor import do
from butfor.cli.main import main
from butfor.outcomes import score_of
from butfor.replay import Job, RecordedSeeds, load_journal, record_run, untouched_differences, wrap_agent
from butfor.replay.ambient import MOST_READINGS
from butfor.store import MemoryStore
from tests.agents import ambient
from tests.agents.recording import jobs, rollouts_of
from tests.patience import joined

ZERO = score_of(lambda trajectory: 0.0, name="zero")
AGENTS = [ambient.agent, ambient.concurrent_agent, ambient.seeded, ambient.waiting, ambient.busy]


def recorded(agent: Any, *, verify: bool = False) -> Any:
    store = MemoryStore()
    kept = record_run(agent, None, store=store, score=ZERO, verify=verify, ambient=True)
    assert kept.ending.status == "completed", kept.ending.error
    ambient.LIVE.clear()
    return store, kept


@pytest.mark.parametrize("agent", AGENTS, ids=lambda each: each.__name__)
def test_an_untouched_replay_is_faithful(agent):
    store, kept = recorded(agent)
    assert untouched_differences(load_journal(store, kept.run.run_id), wrap_agent(agent)) == []
    assert ambient.LIVE == []


@pytest.mark.parametrize("agent", [ambient.agent, ambient.concurrent_agent], ids=lambda each: each.__name__)
def test_a_fresh_process_replays_it_too(agent):
    assert recorded(agent, verify=True)[1].differences == ()


def test_without_it_the_same_agent_differs():
    store = MemoryStore()
    kept = record_run(ambient.agent, None, store=store, verify=False)
    differences = untouched_differences(load_journal(store, kept.run.run_id), wrap_agent(ambient.agent))
    assert differences
    assert all("'ask' differs" in each for each in differences)


@pytest.mark.parametrize("step", [0, 2, 3])
def test_a_resampled_step_draws_new_noise_after_an_equal_prefix(step):
    store, kept = recorded(ambient.agent)
    rollouts = rollouts_of(ambient.agent, store, kept.run.run_id, score=ZERO)
    results = rollouts.run(jobs(do.resample(step), 12))
    assert {each.status for each in results} == {"completed"}
    outputs: list[Any] = [each.output for each in results]
    factual: Any = kept.ending.output
    # said[0] is the noise before any step, said[k + 1] what came of step k.
    assert all(each[: step + 1] == factual[: step + 1] for each in outputs)
    fresh = [each[step + 1][2] for each in outputs]
    # The first two are clocks: time goes on from the last held reading, and two rollouts may read the same microsecond.
    assert all(len({str(each[i]) for each in fresh}) == 12 for i in range(2, len(fresh[0])))
    held = factual[0] if step == 0 else factual[step][2]
    assert all(each[0] >= held[0] for each in fresh)
    assert len({each[0] for each in fresh}) > 1
    assert len({each[step + 1][0] for each in outputs}) > 1  # the policy itself draws from `random`
    assert ambient.LIVE.count("model") == 12 * (4 - step)
    assert ambient.LIVE.count("tool") <= 12 * (4 - step)


def test_a_draw_is_the_same_wherever_and_whenever_it_is_made():
    store, kept = recorded(ambient.agent)
    first = rollouts_of(ambient.agent, store, kept.run.run_id, score=ZERO).run(jobs(do.resample(1), 3))
    alone = rollouts_of(ambient.agent, _copy(store, kept), kept.run.run_id, score=ZERO, concurrency=1)
    again = alone.run(jobs(do.resample(1), 3))
    assert [_timeless(each.output) for each in again] == [_timeless(each.output) for each in first]


def _copy(store: Any, kept: Any) -> Any:
    """Make a store with the same recording and no rollouts."""
    copy = MemoryStore()
    run_id = kept.run.run_id
    recording = copy.open_recording(run_id, store.read_header(run_id))
    for line in store.read_journal(run_id):
        recording.append(line)
    recording.finish()
    return copy


def _timeless(said: Any) -> Any:
    return [[each[0], each[2][2:]] for each in said[1:]]


def test_the_recorded_seeds_decide_the_same_again():
    store, kept = recorded(ambient.agent)
    rollouts = rollouts_of(ambient.agent, store, kept.run.run_id, score=ZERO)
    job = Job(intervention=do.resample(0), arm="fixed", ordinal=0, seeds=RecordedSeeds())
    [rollout] = rollouts.run([job])
    assert rollout.action_matched is True


def test_time_goes_on_from_the_last_held_reading():
    store, kept = recorded(ambient.agent)
    time.sleep(0.3)
    start = time.time()
    [rollout] = rollouts_of(ambient.agent, store, kept.run.run_id, score=ZERO).run(jobs(do.resample(2), 1))
    spent = time.time() - start
    said: Any = rollout.output
    readings = [each[2][0] for each in said[1:]]
    assert readings == sorted(readings)
    # By the clock on the wall it would be what the rollout has taken and the pause, of which it saw nothing.
    assert readings[2] - readings[1] < spent + 0.05


def test_randomness_costs_no_crossing_and_readings_are_bounded():
    store, kept = recorded(ambient.busy)
    kinds = [each.kind for each in load_journal(store, kept.run.run_id).crossings]
    assert kinds.count("ambient") == MOST_READINGS
    store, kept = recorded(ambient.seeded)
    assert [each.kind for each in load_journal(store, kept.run.run_id).crossings] == ["model"]


def test_a_seed_of_the_agents_own_holds():
    plain = random.Random(7)
    _, kept = recorded(ambient.seeded)
    expected = [plain.random() for _ in range(2)]
    assert kept.ending.output == [*expected, np.random.RandomState(7).rand(), expected[1]]


def test_the_command_line_records_it_too(tmp_path, monkeypatch, capsys):
    monkeypatch.setenv("BUTFOR_HOME", str(tmp_path / "home"))
    (tmp_path / "task.json").write_text("null")
    command = ["record", "--agent", "tests.agents.ambient:agent", "--input", str(tmp_path / "task.json"), "--json"]
    for more in (["--ambient"], []):
        with pytest.raises(SystemExit):
            main([*command, *more])
        assert (json.loads(capsys.readouterr().out)["grade"] == "exact") == bool(more)


def test_nothing_is_patched_before_and_after_and_others_pass_through():
    plain = (
        time.time,
        random.random,
        random.choice,
        uuid.uuid4,
        np.random.rand,
        np.random.default_rng,
        vars(ambient)["clock"],
    )
    seen: list[Any] = []

    def watching(task: Any) -> str:
        def outside() -> None:
            random.seed(3)
            seen.append(random.random())

        unplaced = threading.Thread(target=outside)
        threading.Thread.start.__globals__["_thread_start"](unplaced)
        joined(unplaced)
        seen.append(time.time is plain[0])
        return ambient.ask(prompt="p")

    recorded(watching)
    assert seen == [random.Random(3).random(), False]
    now = (
        time.time,
        random.random,
        random.choice,
        uuid.uuid4,
        np.random.rand,
        np.random.default_rng,
        vars(ambient)["clock"],
    )
    assert all(a is b for a, b in zip(plain, now, strict=True))
