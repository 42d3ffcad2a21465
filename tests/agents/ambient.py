"""Agents that use module-level time and randomness without asking anybody."""

import asyncio
import random
import threading
import time
import uuid
from random import choice
from time import time as clock
from typing import Any
from uuid import uuid4

import numpy as np

import butfor

LIVE: list[str] = []


@butfor.model
def ask(*, prompt: str) -> str:
    """Decide with the global generator, as a small local policy would."""
    LIVE.append("model")
    return random.choice("abcdefghijklmnopqrstuvwxyz") * 3


@butfor.tool(effect="none")
def shake(word: str) -> str:
    LIVE.append("tool")
    letters = list(word)
    random.shuffle(letters)
    return f"{''.join(letters)} {time.time()} {np.random.normal()}"


def noise() -> list[Any]:
    """Draw from everything that is routed."""
    values = list(range(20))
    random.shuffle(values)
    return [
        time.time(), clock(), random.random(), random.randint(1, 10**9), random.choice(range(10**9)),
        random.uniform(0, 1), random.gauss(0, 1), random.sample(range(10**6), 3), random.getrandbits(64), values,
        random.randbytes(4).hex(), choice(range(10**9)), str(uuid.uuid4()), str(uuid4()), float(np.random.rand()),
        np.random.randint(0, 10**9, size=2).tolist(), np.random.permutation(30).tolist(),
        float(np.random.default_rng().random()),
    ]  # fmt: skip


def agent(task: Any) -> Any:
    """Put noise into every request, so that a prefix is only held if the noise is."""
    said: list[Any] = [noise()]
    for turn in range(4):
        answer = ask(prompt=f"{turn} {said}")
        said.append([answer, shake(answer), noise()])
    return said


async def concurrent_agent(task: Any) -> Any:
    """Do so in tasks and threads at the same time."""

    async def part(who: str) -> Any:
        await asyncio.sleep(random.uniform(0, 0.003))
        said: list[Any] = [who, noise()]
        for _ in range(2):
            said += [ask(prompt=str(said)), random.random()]
            await asyncio.sleep(random.uniform(0, 0.003))
        return said

    def on_thread(into: list[Any]) -> None:
        into += [ask(prompt=str(noise())), noise()]

    found: list[Any] = []
    thread = threading.Thread(target=on_thread, args=(found,))
    thread.start()
    parts = await asyncio.gather(part("x"), part("y"))
    await asyncio.to_thread(thread.join)
    return [parts, found, noise()]


def seeded(task: Any) -> Any:
    """Set seeds, as scripts do; they hold in spite of the boundaries in between."""
    random.seed(7)
    np.random.seed(7)
    first = random.random()
    ask(prompt="p")
    state = random.getstate()
    drawn = [random.random(), float(np.random.rand())]
    random.setstate(state)
    return [first, *drawn, random.random()]


def waiting(task: Any) -> Any:
    """Wait for the clock, which in a replay has not as long to go."""
    start = time.time()
    readings = 0
    while time.time() < start + 0.02:
        readings += 1
        time.sleep(0.001)
    return ask(prompt="waited")


def busy(task: Any) -> Any:
    """Read the clock more often than is worth keeping."""
    readings = [time.time() for _ in range(1000)]
    return [ask(prompt="p"), readings == sorted(readings)]
