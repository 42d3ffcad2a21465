"""Models and tools that answer in chunks, in types of their own, or not at all."""

import asyncio
import dataclasses
from collections.abc import AsyncIterator, Iterator
from typing import Any

from pydantic import BaseModel

import butfor

LIVE: list[str] = []
FAULTS: list[type[Exception]] = []
"""Raised by the next streams before any content."""


class Delta(BaseModel):
    """One chunk of a typed stream."""

    text: str


class Stop(BaseModel):
    """Its last one."""

    reason: str


@dataclasses.dataclass
class Point:
    x: float
    note: str | None = None


class Refused(ValueError):
    """What a model or tool may raise."""


@butfor.model
def tell(*, prompt: str, seed: int = 0, fail_after: int = 99) -> Iterator[str]:
    LIVE.append(prompt)
    if FAULTS:
        raise FAULTS.pop()("before any content")
    for i, word in enumerate([prompt, *["one", "two", "three"], str(seed)]):
        if i == fail_after:
            raise Refused(f"after {i} words")
        yield word


@butfor.model
async def tell_later(*, prompt: str, seed: int = 0, fail_after: int = 99) -> AsyncIterator[str]:
    LIVE.append(prompt)
    if FAULTS:
        raise FAULTS.pop()("before any content")
    for i, word in enumerate([prompt, *["one", "two", "three"], str(seed)]):
        await asyncio.sleep(0)
        if i == fail_after:
            raise Refused(f"after {i} words")
        yield word


@butfor.model
def typed(*, prompt: str) -> Iterator[Delta | Stop | str]:
    LIVE.append(prompt)
    yield Delta(text=prompt)
    yield Delta(text="!")
    yield "plain"
    yield Stop(reason="end")


@butfor.tool(effect="read")
def rows(count: int) -> Iterator[dict[str, int]]:
    LIVE.append("rows")
    for i in range(count):
        yield {"row": i}


@butfor.tool(effect="read")
def point(x: float) -> Point:
    LIVE.append("point")
    return Point(x, "found")


@butfor.tool(effect="read")
def delta(text: str) -> Delta:
    LIVE.append("delta")
    return Delta(text=text)


@butfor.tool(effect="none")
def odd(kind: str) -> Any:
    LIVE.append("odd")
    if kind == "raises":
        raise Refused("no such thing")
    return {"tuple": (1, (2, 3)), "bytes": b"\x00\xff", "nan": [float("inf")], "map": {1: "a"}}[kind]


def words(stream: Iterator[str], most: int = 99) -> list[str]:
    """Read a stream to its end, to an error, or until enough."""
    said: list[str] = []
    try:
        for word in stream:
            said.append(word)
            if len(said) == most:
                break
    except Refused as error:
        said.append(f"({error})")
    return said


async def words_later(stream: AsyncIterator[str], most: int = 99) -> list[str]:
    said: list[str] = []
    try:
        async for word in stream:
            said.append(word)
            if len(said) == most:
                break
    except Refused as error:
        said.append(f"({error})")
    return said


def consumed(task: Any) -> Any:
    return [words(tell(prompt="a", seed=1)), words(tell(prompt="b", seed=1)), [*rows(3)]]


def closed_early(task: Any) -> Any:
    return [words(tell(prompt="a", seed=1), 2), words(tell(prompt="b", seed=1), 1), [*rows(2)]]


def raising_midway(task: Any) -> Any:
    return [words(tell(prompt="a", seed=1, fail_after=2)), words(tell(prompt="b", seed=1))]


async def consumed_later(task: Any) -> Any:
    return [await words_later(tell_later(prompt=p, seed=1)) for p in "ab"]


async def closed_early_later(task: Any) -> Any:
    async def part(who: str) -> list[str]:
        return await words_later(tell_later(prompt=who, seed=1), 2)

    said = await part("a")
    # Started before the loop has closed the forgotten generator.
    return [said, await asyncio.gather(part("b"), part("c"))]


async def raising_midway_later(task: Any) -> Any:
    return [await words_later(tell_later(prompt="a", seed=1, fail_after=2)), await consumed_later(task)]


def typed_chunks(task: Any) -> Any:
    chunks = [*typed(prompt="p")]
    assert [type(each) for each in chunks] == [Delta, Delta, str, Stop]
    return [chunks[0].text + chunks[1].text, chunks[2], chunks[3].reason]  # type: ignore[union-attr]


def typed_answers(task: Any) -> Any:
    found = point(1.5)
    assert found == Point(1.5, "found")
    assert odd("tuple") == (1, (2, 3))
    assert odd("bytes") == b"\x00\xff"
    assert odd("map") == {1: "a"}
    assert odd("nan") == [float("inf")]
    try:
        odd("raises")
    except Refused as error:
        return [found.x, found.note, delta(text="d").text, str(error), words(tell(prompt=str(found), seed=1))]
    return "nothing was raised"


def dispatching(task: Any) -> Any:
    """Call a tool for each chunk while the stream is still open."""
    said: list[Any] = words(tell(prompt="first", seed=1))
    for word in tell(prompt="second", seed=1):
        said.append([word, delta(text=word).text])
    return said


async def giving_up(task: Any) -> Any:
    """Cancel the slower of two calls, and time another one out."""

    async def after(seconds: float, prompt: str) -> str:
        return await slow(prompt=prompt, seconds=seconds)

    parts = [asyncio.create_task(after(5, "slow")), asyncio.create_task(after(0.01, "quick"))]
    done, pending = await asyncio.wait(parts, return_when=asyncio.FIRST_COMPLETED)
    for each in pending:
        each.cancel()
    await asyncio.gather(*pending, return_exceptions=True)
    try:
        await asyncio.wait_for(slow(prompt="late", seconds=5), 0.05)
    except TimeoutError:
        return [each.result() for each in done] + ["timed out"]
    return "no timeout"


@butfor.tool(effect="none")
async def look_long(seconds: float) -> str:
    LIVE.append("long")
    await asyncio.sleep(seconds)
    return f"{seconds}"


async def grouped(task: Any) -> Any:
    """Lose the calls of a group because one of them fails, then make one of them again."""
    said = await slow(prompt="first", seconds=0)
    try:
        async with asyncio.TaskGroup() as group:
            group.create_task(look_long(0.2))
            group.create_task(failing())
    except* Refused as errors:
        said += str(errors.exceptions[0])
    return [said, await slow(prompt="second", seconds=0), await look_long(0.2)]


@butfor.tool(effect="none")
async def failing() -> str:
    await asyncio.sleep(0.01)
    raise Refused("failed")


@butfor.model
async def slow(*, prompt: str, seconds: float) -> str:
    LIVE.append(prompt)
    await asyncio.sleep(seconds)
    return f"said {prompt}"


AGENTS = [
    consumed, closed_early, raising_midway, consumed_later, closed_early_later, raising_midway_later, typed_chunks,
    typed_answers, dispatching, giving_up, grouped,
]  # fmt: skip
