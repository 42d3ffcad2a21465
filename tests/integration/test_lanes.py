"""Concurrent agents on real threads and event loops: every crossing finds its place, whatever the scheduler does."""

import asyncio
import multiprocessing
import queue
import threading
from collections import Counter
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from butfor import do
from butfor.errors import UnknownLane
from butfor.outcomes import score_of
from butfor.replay import load_journal, record_run, untouched_differences, wrap_agent
from butfor.runs import Observation, Replayability
from butfor.store import MemoryStore
from tests.agents import concurrent
from tests.agents.recording import recorded, rollouts_of, run
from tests.patience import PATIENCE, joined

ANY = score_of(lambda trajectory: 0.0, name="zero")


@pytest.fixture(autouse=True)
def quiet():
    concurrent.LIVE.clear()


@pytest.mark.parametrize("agent", concurrent.AGENTS, ids=lambda each: each.__name__)
def test_an_untouched_replay_is_faithful_alone_and_beside_another(agent):
    store, run_id = recorded(agent, None)
    assert concurrent.LIVE
    concurrent.LIVE.clear()
    assert untouched_differences(load_journal(store, run_id), wrap_agent(agent)) == []
    assert concurrent.LIVE == []


@pytest.mark.parametrize("agent", [concurrent.gathered, concurrent.submitted], ids=lambda each: each.__name__)
def test_a_fresh_process_replays_it_too(agent):
    kept = record_run(agent, None, store=MemoryStore())
    assert (kept.verified, kept.differences) == (True, ())


@pytest.mark.parametrize("agent", concurrent.AGENTS, ids=lambda each: each.__name__)
@pytest.mark.parametrize("step", [0, 2])
def test_holding_steps_serves_those_of_every_lane(agent, step):
    store, run_id = recorded(agent, None)
    journal = load_journal(store, run_id)
    concurrent.LIVE.clear()
    rollouts = run(rollouts_of(agent, store, run_id, score=ANY), do.resample(step), 2)
    assert {each.status for each in rollouts} == {"completed"}
    live = Counter(kind for kind, _ in concurrent.LIVE)
    assert live["model"] == 2 * (len(journal.steps) - step)
    # A tool call that follows a held step in its lane is served; of the others none was recorded with other arguments.
    assert live["look"] == 0
    held = [each for each in journal.crossings if each.step < step]
    assert all(each.counts["held"] >= len(held) for each in rollouts)


@pytest.mark.parametrize(
    "agent", [concurrent.waited_for, concurrent.on_thread, concurrent.gathered], ids=lambda each: each.__name__
)
def test_every_observation_follows_the_step_that_asked_for_it(agent):
    store, run_id = recorded(agent, None)
    journal = load_journal(store, run_id)
    assert [len(journal.tools_of(step)) for step in range(len(journal.steps))] == [1] * len(journal.steps)
    parts = [[part for part in step.parts if isinstance(part, Observation)] for step in store.load_run(run_id).steps]
    assert [len(each) for each in parts] == [1] * len(journal.steps)


def test_what_follows_sub_agents_is_not_held_with_the_spawner():
    store, run_id = recorded(concurrent.orchestrator, None)
    journal = load_journal(store, run_id)
    filed = next(each for each in journal.crossings if each.name == "report")
    assert filed.step == 3
    assert [call.name for call in journal.tools_of(3)] == ["look_later", "report"]


def test_a_write_after_resampled_sub_agents_is_unsupported():
    store, run_id = recorded(concurrent.orchestrator, None)
    concurrent.LIVE.clear()
    [rollout] = run(rollouts_of(concurrent.orchestrator, store, run_id, score=ANY), do.resample(1), 1)
    assert (rollout.status, rollout.tool) == ("unsupported", "report")
    assert not [each for each in concurrent.LIVE if each[0] == "report"]


POOLS: list[ThreadPoolExecutor] = []


def outside_pool(task: Any) -> Any:
    return POOLS[0].submit(concurrent.worker, "p").result()


def test_a_pool_from_before_the_recording_is_in_the_lane_of_who_submits():
    with ThreadPoolExecutor(1) as pool:
        pool.submit(int).result()
        POOLS[:] = [pool]
        store, run_id = recorded(outside_pool, None)
        assert untouched_differences(load_journal(store, run_id), wrap_agent(outside_pool)) == []


def test_a_boundary_on_somebody_elses_thread_is_refused():
    work: queue.SimpleQueue[Any] = queue.SimpleQueue()
    answers: queue.SimpleQueue[Any] = queue.SimpleQueue()

    def serve() -> None:
        for job in iter(work.get, None):
            try:
                answers.put(job())
            except UnknownLane as error:
                answers.put(error)

    thread = threading.Thread(target=serve)
    thread.start()

    def hand_over(task: Any) -> Any:
        work.put(lambda: concurrent.report("from outside"))
        answer = answers.get(timeout=10)
        if isinstance(answer, Exception):
            raise answer
        return answer

    kept = record_run(hand_over, None, store=MemoryStore(), verify=False)
    work.put(None)
    joined(thread)
    assert kept.ending.status == "diverged"
    assert "start threads and executors inside the agent" in str(kept.ending.error)
    assert concurrent.LIVE == []


@pytest.fixture
def outside() -> Iterator[Callable[[], Any]]:
    """A thread that was there before: it reports for whoever asks, and hands the error back as if it were nothing."""
    work: queue.SimpleQueue[Any] = queue.SimpleQueue()
    answers: queue.SimpleQueue[Any] = queue.SimpleQueue()

    def serve() -> None:
        while work.get(timeout=PATIENCE):
            try:
                answers.put(concurrent.report("from outside"))
            except Exception as error:  # the kind of agent that this is about
                answers.put(type(error).__name__)

    def ask() -> Any:
        work.put(True)
        return answers.get(timeout=PATIENCE)

    thread = threading.Thread(target=serve)
    thread.start()
    concurrent.LIVE.clear()
    yield ask
    work.put(False)
    joined(thread)


def going_on(act: Callable[[], Any], *, awaited: bool) -> Any:
    """Make an agent that acts between its two decisions, whatever comes of it."""

    def sync(task: Any) -> str:
        first = concurrent.worker("a")
        act()
        return first + concurrent.worker("b")

    async def later(task: Any) -> str:
        await asyncio.sleep(0)
        return sync(task)

    return later if awaited else sync


@pytest.mark.parametrize("awaited", [False, True], ids=["sync", "async"])
def test_a_refusal_that_the_agent_catches_ends_the_rollout_all_the_same(outside, awaited):
    acts: list[Callable[[], Any]] = [lambda: None]
    agent = going_on(lambda: acts[0](), awaited=awaited)
    store, run_id = recorded(agent, None)
    steps = len(load_journal(store, run_id).crossings)
    concurrent.LIVE.clear()
    said: list[Any] = []
    acts[0] = lambda: said.append(outside())
    rollouts = rollouts_of(agent, store, run_id, score=ANY)
    [rollout] = run(rollouts, do.resample(0), 1)
    assert said == ["UnknownLane"]
    assert (rollout.status, rollout.outcome, rollout.rollout_id) == ("diverged", None, None)
    assert "start threads and executors inside the agent" in str(rollout.error)
    assert len(concurrent.LIVE) < steps  # what came after the refusal was not asked any more
    # The draw is still open, and is made where nothing is refused.
    acts[0] = lambda: None
    [again] = run(rollouts_of(agent, store, run_id, score=ANY), do.resample(0), 1)
    assert again.status == "completed"


def test_a_refusal_ends_every_rollout_that_may_have_asked(outside):
    both = threading.Barrier(2)
    acts: list[Callable[[], Any]] = [lambda: None]
    agent = going_on(lambda: acts[0](), awaited=False)
    store, run_id = recorded(agent, None)

    def one_asks() -> None:
        if both.wait(PATIENCE) == 0:
            outside()
        both.wait(PATIENCE)

    acts[0] = one_asks
    two = run(rollouts_of(agent, store, run_id, score=ANY, concurrency=2), do.resample(0), 2)
    assert [each.status for each in two] == ["diverged", "diverged"]


def test_a_recording_goes_on_and_says_what_was_refused(outside):
    said: list[Any] = []
    agent = going_on(lambda: said.append(outside()), awaited=False)
    kept = record_run(agent, None, store=MemoryStore(), run_id="refused", verify=False)
    assert (kept.ending.status, said) == ("completed", ["UnknownLane"])
    assert kept.differences == ("boundaries reached from code that the recorder cannot place, and refused: 1",)
    assert kept.run.grade.level is Replayability.APPROXIMATE
    assert kept.differences[0] in kept.run.grade.missing


LOCAL = threading.local()


def remembering(task: Any) -> str:
    """Keep something where a library keeps a client or a loop: on the thread."""
    LOCAL.count = getattr(LOCAL, "count", 0) + 1
    return concurrent.worker(str(LOCAL.count), turns=1)


def test_what_a_rollout_leaves_on_its_thread_reaches_no_other():
    store, run_id = recorded(remembering, None)
    rollouts = run(rollouts_of(remembering, store, run_id, score=ANY, concurrency=1), do.resample(0), 3)
    assert [str(each.output)[:1] for each in rollouts] == ["1"] * 3


def child() -> str:
    try:
        concurrent.report("from a child")
    except UnknownLane:
        return "refused"
    return "ran"


def with_children(method: str) -> Any:
    context: Any = multiprocessing.get_context(method)
    with context.Pool(1) as pool:
        return pool.apply_async(child).get(timeout=60)  # a worker that dies loses its job: `apply` would wait forever


def forking(task: Any) -> Any:
    return with_children("fork")


def spawning(task: Any) -> Any:
    return with_children("spawn")


@pytest.mark.parametrize("agent", [forking, spawning], ids=lambda each: each.__name__)
@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_a_child_process_may_not_touch_the_world(agent):
    kept = record_run(agent, None, store=MemoryStore(), verify=False)
    assert (kept.ending.output, kept.ending.status) == ("refused", "completed")


def forking_after_a_decision(task: Any) -> Any:
    return [concurrent.ask(who="f", turn=0, seed=1), with_children("fork")]


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_a_child_of_a_rollout_may_not_touch_the_world_either():
    store, run_id = recorded(forking_after_a_decision, None)
    [rollout] = run(rollouts_of(forking_after_a_decision, store, run_id, score=ANY), do.resample(0), 1)
    assert isinstance(rollout.output, list)
    assert rollout.output[1] == "refused"


def test_outside_a_recording_children_act_as_always():
    assert with_children("spawn") == "ran"


def test_writes_of_held_lanes_count_in_the_recorded_order():
    for _ in range(4):  # the scheduler decides in which order they are served
        store, run_id = recorded(concurrent.writers, None)
        concurrent.LIVE.clear()
        rollouts = run(rollouts_of(concurrent.writers, store, run_id, score=ANY), do.resample(4), 3)
        assert [(each.status, each.counts["recorded"]) for each in rollouts] == [("completed", 1)] * 3
        assert {kind for kind, _ in concurrent.LIVE} == {"model"}
