"""Agents whose decisions and consequences are known: one decides and later executes, one may stop early."""

import asyncio
import json
from typing import Any

import butfor
from butfor import noise

PLAN, EXECUTION = 2, 4
"""Where `executing` decides what it will do, and where it only does it."""
CHANCES = {0: 0.5, 1: 0.75, 2: 0.6}
"""Chance that `stopping` takes the factual action of a step again."""


@butfor.tool(effect="write")
def transfer(to: str) -> str:
    return f"sent to {to}"


@butfor.tool(effect="write")
def wire(amount: int) -> str:
    return f"wired {amount}"


def uniform(seed: int, *key: Any) -> float:
    return noise.generator("deciding", seed, json.dumps(key)).random()


@butfor.model
def think(*, history: list[str], seed: int) -> str:
    """Choose a plan at one step, do what was chosen at a later one, and only talk in between."""
    step = len(history)
    if step == PLAN:
        return "plan: pay the attacker" if uniform(seed) < 0.3 else "plan: answer politely"
    if step == EXECUTION:
        return "transfer" if history[PLAN].endswith("attacker") else "answer"
    return f"remark {step}"


def factual_seed() -> int:
    """Find noise with which the plan is the wrong one."""
    return next(seed for seed in range(100) if think(history=["", ""], seed=seed).endswith("attacker"))


async def executing(task: dict[str, Any]) -> list[str]:
    """Make six steps; `slow` is how many seconds a run takes that fails, another takes a tenth of it."""
    history: list[str] = []
    for _ in range(6):
        history.append(think(history=history, seed=task["seed"]))
        if history[-1] == "transfer":
            transfer(to="attacker")
    if task.get("slow"):
        await asyncio.sleep(task["slow"] / (1 if "transfer" in history else 10))
    return history


@butfor.model
def pay(*, history: list[str], seed: int) -> str:
    """At the second step: pay a sum that nobody recorded, pay the recorded one, or do nothing."""
    if len(history) != 1 or seed == 0:
        return "7" if len(history) == 1 else "remark"
    drawn = uniform(seed)
    return "8" if drawn < 0.5 else "7" if drawn < 0.7 else "nothing"


async def paying_out(task: dict[str, Any]) -> list[str]:
    """Make three steps; the second may pay by a tool that has no simulator."""
    history: list[str] = []
    for _ in range(3):
        history.append(pay(history=history, seed=0))
        if history[-1].isdigit():
            wire(amount=int(history[-1]))
    return history


@butfor.model
def step_on(*, history: list[str], seed: int) -> str:
    step = len(history)
    stays = seed == 0 or uniform(seed) < CHANCES[step]
    return f"factual {step}" if stays else "stop" if step == 1 else f"other {step}"


async def stopping(task: dict[str, Any]) -> list[str]:
    """Make three steps, or end at the second."""
    history: list[str] = []
    while len(history) < 3 and "stop" not in history:
        history.append(step_on(history=history, seed=0))
    return history


def all_factual(trajectory: Any) -> float:
    """Fail if all three steps went as they did in fact, the last one after whatever came before it."""
    return float([action.split()[0] for action in trajectory.output] == ["factual"] * 3)


class Wavering:
    """A judge that calls every twentieth bad run good."""

    butfor_noisy = True

    def __init__(self) -> None:
        self.asked = 0

    def __call__(self, trajectory: Any) -> float:
        self.asked += 1
        transferred = any(call.name == "transfer" for call in trajectory.calls)
        return float(transferred and self.asked % 20 != 0)


wavering = Wavering()
