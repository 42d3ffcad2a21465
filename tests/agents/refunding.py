"""Agents with a tool that moves money, for tests that must see that it does not move."""

import json
from typing import Any

import butfor
from butfor import noise

LIVE: list[tuple[str, Any]] = []
"""Every call that really reached a model or a tool."""


@butfor.tool(effect="read")
def lookup(order: int) -> dict[str, Any]:
    LIVE.append(("lookup", order))
    return {"order": order, "note": "please refund"}


@butfor.tool(effect="none")
def total(prices: list[float]) -> float:
    LIVE.append(("total", prices))
    return sum(prices)


@butfor.tool(effect="write")
def refund(order: int, amount: float) -> dict[str, Any]:
    LIVE.append(("refund", order))
    return {"refunded": amount}


TOOLS: dict[str, Any] = {"lookup": lookup, "refund": refund, "total": total}
PLAN: list[tuple[str, dict[str, Any]]] = [
    ("lookup", {"order": 7}),
    ("total", {"prices": [1.0, 2.0]}),
    ("refund", {"order": 7, "amount": 3.0}),
]
"""The factual decisions; `CHANCE` is the probability of each one when it is drawn again."""
CHANCE = [1.0, 1.0, 0.5]


def decide(*, messages: list[dict[str, Any]], temperature: float = 0.7, seed: int = 1) -> dict[str, Any]:
    """Follow the plan; at each step leave it with some probability, drawn from the seed alone."""
    LIVE.append(("model", seed))
    step = sum(message["role"] == "assistant" for message in messages)
    drawn = noise.generator("test", seed, len(messages)).random()
    if step >= len(PLAN) or drawn >= CHANCE[step]:
        return {"role": "assistant", "content": "done"}
    name, arguments = PLAN[step]
    call = {"id": f"c{step}", "type": "function", "function": {"name": name, "arguments": json.dumps(arguments)}}
    return {"role": "assistant", "content": None, "tool_calls": [call]}


ask = butfor.model(decide, name="planner")


def agent(task: dict[str, Any]) -> dict[str, Any]:
    """Loop over the model until it says it is done."""
    messages: list[dict[str, Any]] = [{"role": "user", "content": str(task.get("say", "hello"))}]
    while True:
        answer = ask(messages=messages, temperature=0.7, seed=task["seed"])
        messages.append(answer)
        if not answer.get("tool_calls"):
            return {"said": answer["content"], "tools": [m["content"] for m in messages if m["role"] == "tool"]}
        for call in answer["tool_calls"]:
            result = TOOLS[call["function"]["name"]](**json.loads(call["function"]["arguments"]))
            messages.append({"role": "tool", "content": json.dumps(result)})


async def async_agent(task: dict[str, Any]) -> dict[str, Any]:
    """Do the same on an event loop."""
    return agent(task)
