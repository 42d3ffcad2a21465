"""An agent whose tools are agents, several calls in a step, and histories in every shape."""

import asyncio
from typing import Any

import butfor
from butfor import noise

LIVE: list[tuple[str, Any]] = []
SEEN: list[Any] = []
"""What the model was really asked, in order."""


@butfor.model
def think(*, messages: list[dict[str, str]], model: str = "small", seed: int = 1) -> str:
    """Answer with a word that depends on everything that was said, and on the seed."""
    LIVE.append(("model", messages[0]["content"]))
    SEEN.append([model, [message["content"] for message in messages]])
    return f"w{noise.seed_of(str(messages), model, seed) % 10_000}"


@butfor.model
async def think_later(messages: list[dict[str, str]], seed: int = 1) -> str:
    """Take its history as a positional argument."""
    await asyncio.sleep(0)
    LIVE.append(("model", messages[0]["content"]))
    SEEN.append([message["content"] for message in messages])
    return f"w{noise.seed_of(str(messages), seed) % 10_000}"


@butfor.model
def continue_text(text: str) -> str:
    """Take its history as one text that grows."""
    SEEN.append(text)
    return f" {len(text)}"


@butfor.tool(effect="read")
def look(word: str) -> str:
    LIVE.append(("look", word))
    return f"about {word}"


@butfor.tool(effect="read")
async def look_later(word: str) -> str:
    LIVE.append(("look", word))
    await asyncio.sleep(0)
    return f"about {word}"


@butfor.tool(effect="write")
def file(word: str) -> str:
    LIVE.append(("file", word))
    return "filed"


@butfor.tool(effect="write")
def pay(amount: int) -> str:
    LIVE.append(("pay", amount))
    return "paid"


@butfor.tool(effect="none")
def research(topic: str) -> str:
    """Run an agent of three steps as a tool."""
    LIVE.append(("research", topic))
    messages = [{"role": "user", "content": f"research {topic}"}]
    for _ in range(3):
        word = think(messages=messages, seed=1)
        messages += [{"role": "assistant", "content": word}, {"role": "tool", "content": look(word)}]
    file("found")
    return messages[-1]["content"]


def agent(task: Any) -> Any:
    """Decide (step 0), have it researched (steps 1 to 3), decide again (step 4), pay."""
    messages = [{"role": "user", "content": "start"}]
    messages.append({"role": "assistant", "content": think(messages=messages, seed=1)})
    found = research("topic")
    messages.append({"role": "tool", "content": found})
    last = think(messages=messages, seed=1)
    pay(5)
    return [found, last]


async def parallel(task: Any) -> Any:
    """Make three calls at once in each of two steps."""
    messages = [{"role": "user", "content": "start"}]
    for _ in range(2):
        word = await think_later(messages, seed=1)
        found = await asyncio.gather(*(look_later(f"{word}{i}") for i in range(3)))
        messages += [{"role": "assistant", "content": word}, *({"role": "tool", "content": each} for each in found)]
    return [message["content"] for message in messages] + [await think_later(messages, seed=1)]


async def awaited(task: Any) -> Any:
    """Await each decision in a task of its own."""
    messages = [{"role": "user", "content": "hello you"}]
    for _ in range(4):
        word = await asyncio.wait_for(think_later(messages, seed=1), 30)
        messages.append({"role": "assistant", "content": word})
    return [message["content"] for message in messages]


def conversation(task: Any) -> Any:
    messages = [{"role": "user", "content": "hello you"}]
    for _ in range(4):
        messages.append({"role": "assistant", "content": think(messages=messages, model="small", seed=1)})
    other = think(messages=[{"role": "user", "content": "hello you, elsewhere"}], model="small", seed=1)
    return [*(message["content"] for message in messages), other]


def growing(task: Any) -> Any:
    text = "hello you:"
    for _ in range(3):
        text += continue_text(text)
    return text


def other_policy(*, messages: list[dict[str, str]], model: str, seed: int) -> str:
    """Stand in for the model from a step on."""
    LIVE.append(("other", model))
    return "other"


@butfor.tool(effect="write")
def delegate(topic: str) -> str:
    """Run an agent as a tool, and declare what it may do in the end."""
    LIVE.append(("delegate", topic))
    pay(1)
    return think(messages=[{"role": "user", "content": topic}], seed=1)


@butfor.tool(effect="write")
def composite(amount: int) -> str:
    """Call another tool inside, without deciding anything."""
    return pay(amount)


def delegating(task: Any) -> Any:
    first = think(messages=[{"role": "user", "content": "start"}], seed=1)
    found = delegate("topic")
    return [first, found, think(messages=[{"role": "user", "content": found}], seed=1)]


def composing(task: Any) -> Any:
    first = think(messages=[{"role": "user", "content": "start"}], seed=1)
    second = think(messages=[{"role": "user", "content": "next"}], seed=1)
    return [first, second, composite(3), look("after")]
