"""Agents that do several things at the same time, in every way that Python knows."""

import asyncio
import contextvars
import functools
import random
import threading
import time
from collections.abc import Awaitable, Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import butfor
from butfor import noise
from tests.patience import joined

LIVE: list[tuple[str, Any]] = []
"""Every call that really reached a model or a tool."""


def _decide(who: str, turn: int, seed: int) -> str:
    LIVE.append(("model", who))
    return f"{who}{turn}:{noise.seed_of('decide', who, turn, seed) % 1000}"


@butfor.model
def ask(*, who: str, turn: int, seed: int = 0) -> str:
    time.sleep(random.uniform(0, 0.004))
    return _decide(who, turn, seed)


@butfor.model
async def ask_later(*, who: str, turn: int, seed: int = 0) -> str:
    await asyncio.sleep(random.uniform(0, 0.004))
    return _decide(who, turn, seed)


@butfor.tool(effect="read")
def look(key: str) -> str:
    LIVE.append(("look", key))
    return f"seen {key}"


@butfor.tool(effect="read")
async def look_later(key: str) -> str:
    await asyncio.sleep(random.uniform(0, 0.004))
    LIVE.append(("look", key))
    return f"seen {key}"


def worker(who: str, turns: int = 2) -> str:
    """Decide and look, some times, on a thread that may be slow."""
    said = ""
    for turn in range(turns):
        time.sleep(random.uniform(0, 0.004))
        said += ask(who=who, turn=turn, seed=1) + look(f"{who}{turn}")
    return said


async def worker_later(who: str, turns: int = 2) -> str:
    """Do the same on an event loop."""
    said = ""
    for turn in range(turns):
        await asyncio.sleep(random.uniform(0, 0.004))
        said += await ask_later(who=who, turn=turn, seed=1) + await look_later(f"{who}{turn}")
    return said


async def gathered(task: Any) -> Any:
    return await asyncio.gather(*(worker_later(who) for who in "abc"))


async def grouped(task: Any) -> Any:
    async with asyncio.TaskGroup() as group:
        tasks = [group.create_task(worker_later(who)) for who in "abc"]
    return [each.result() for each in tasks]


async def waited_for(task: Any) -> Any:
    said = []
    for turn in range(3):
        said.append(await asyncio.wait_for(ask_later(who="w", turn=turn, seed=1), 30))
        said.append(await look_later(f"w{turn}"))
    return said


LABEL: contextvars.ContextVar[str] = contextvars.ContextVar("label", default="none")


async def in_contexts(task: Any) -> Any:
    """Two tasks share a context, and what they set there is seen by whoever holds it."""
    context = contextvars.copy_context()

    async def part(who: str) -> str:
        LABEL.set(LABEL.get() + who)
        return await worker_later(who)

    loop = asyncio.get_running_loop()
    first = loop.create_task(part("a"), context=context)
    second = loop.create_task(part("b"), context=context)
    return [await first, await second, context[LABEL], LABEL.get()]


async def on_thread(task: Any) -> Any:
    said = []
    for turn in range(3):
        said.append(await asyncio.to_thread(ask, who="t", turn=turn, seed=1))
        said.append(look(f"t{turn}"))
    return [*said, *await asyncio.gather(*(asyncio.to_thread(worker, who) for who in "ab"))]


async def in_executor(task: Any) -> Any:
    loop = asyncio.get_running_loop()
    with ThreadPoolExecutor(3) as pool:
        jobs = [loop.run_in_executor(pool, worker, who) for who in "abc"]
        default = loop.run_in_executor(None, worker, "d")
        return [*await asyncio.gather(*jobs), await default]


def threads(task: Any) -> Any:
    said: dict[str, str] = {}
    parts = [threading.Thread(target=lambda who=who: said.update({who: worker(who)})) for who in "abc"]
    for each in parts:
        each.start()
    joined(*parts)
    return [said[who] for who in "abc"]


def submitted(task: Any) -> Any:
    with ThreadPoolExecutor(2) as pool:
        jobs = [pool.submit(worker, who) for who in "abc"]
        return [*(each.result() for each in jobs), *pool.map(worker, "de")]


def copied_contexts(task: Any) -> Any:
    """Submit as frameworks do that carry context variables themselves."""
    with ThreadPoolExecutor(3) as pool:
        jobs = [pool.submit(functools.partial(contextvars.copy_context().run, worker, who)) for who in "abc"]
        return [each.result() for each in jobs]


def nested_loops(task: Any) -> Any:
    with asyncio.Runner() as runner:
        said = runner.run(gathered(task))
        return [*said, *runner.run(waited_for(task)), asyncio.run(grouped(task))]


class Helper(threading.Thread):
    """A library's own worker, started only when none is idle."""


_IDLE: list[int] = []


async def with_helper(task: Any) -> Any:
    """Start a helper thread in every other execution only, as a pool does."""
    _IDLE.append(1)
    if len(_IDLE) % 2:
        helper = Helper(target=int)
        helper.start()
        joined(helper)
    plain = threading.Thread(target=worker, args=("x",))
    plain.start()
    said = await gathered(task)
    await asyncio.to_thread(plain.join)
    return said


AGENTS: list[Callable[[Any], Any] | Callable[[Any], Awaitable[Any]]] = [
    gathered, grouped, waited_for, in_contexts, on_thread, in_executor, threads, submitted, copied_contexts,
    nested_loops, with_helper,
]  # fmt: skip


async def orchestrator(task: Any) -> Any:
    """Two sub-agents at the same time, then a report of what they found."""
    found = await asyncio.gather(worker_later("a"), worker_later("b"))
    report(" & ".join(found))
    return found


@butfor.tool(effect="write")
def report(text: str) -> str:
    LIVE.append(("report", text))
    return "filed"


@butfor.tool(effect="write")
async def put(key: str, value: int) -> str:
    await asyncio.sleep(random.uniform(0, 0.004))
    LIVE.append(("put", key))
    return "ok"


@butfor.tool(effect="read")
def total() -> int:
    LIVE.append(("total", None))
    return sum(name == "put" for name, _ in LIVE)


async def writer_later(who: str) -> None:
    for turn in range(2):
        await asyncio.sleep(random.uniform(0, 0.004))
        await ask_later(who=who, turn=turn, seed=1)
        await put(who, turn)


async def writers(task: Any) -> Any:
    """Two parts write at the same time, then one more step looks at what came of it."""
    await asyncio.gather(writer_later("a"), writer_later("b"))
    said = await ask_later(who="z", turn=0, seed=1)
    return [said, total()]
