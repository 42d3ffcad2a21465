"""An agent that writes sums down and then only computes them: what it decides is all that can go wrong."""

from pathlib import Path
from typing import Any

import butfor
from butfor import noise
from butfor.replay import Trajectory
from tests.agents.pacing import answer

GOLD = 45
RIGHT = "apples = 3 + 4\npears = apples * 5\nall = pears + 10"
WRONG = "apples = 3 - 4\npears = apples * 5\nall = pears + 10"
ODDS = 0.3
"""How often the policy writes the right sums when it is asked again."""


def _count(task: dict[str, Any]) -> None:
    if "log" in task:
        answer(Path(task["log"]), task.get("pause", 0.0))
        with Path(task["log"]).open("a") as log:
            log.write("call\n")


@butfor.model
def greet(*, task: dict[str, Any], seed: int) -> str:
    """Say the same every time."""
    del seed
    _count(task)
    return "I will write the sums down."


@butfor.model
def write(*, task: dict[str, Any], history: list[str], seed: int) -> str:
    """Write the sums, rightly or not; the seed alone decides."""
    _count(task)
    return RIGHT if noise.generator("mending", seed, len(history)).random() < ODDS else WRONG


@butfor.model
def check(*, task: dict[str, Any], sums: str, seed: int) -> str:
    """Look the sums over, which now and then spoils them."""
    _count(task)
    return sums if noise.generator("check", seed).random() < 0.9 else WRONG


def agent(task: dict[str, Any]) -> dict[str, Any]:
    """Greet, write, and compute; with `check` the sums are looked over by the model once more."""
    history = [greet(task=task, seed=task["seed"])]
    sums = write(task=task, history=history, seed=task["seed"])
    if task.get("check"):
        sums = check(task=task, sums=sums, seed=task["seed"])
    return {"answer": computed(sums), "said": sums}


def computed(sums: str) -> int | None:
    """Compute the sums line by line; None where a line is none."""
    known: dict[str, int] = {}
    for line in sums.splitlines():
        parts = line.split()
        if len(parts) != 5 or parts[1] != "=" or parts[3] not in "+-*":
            return None
        try:
            left, right = (known[each] if each in known else int(each) for each in (parts[2], parts[4]))
        except ValueError:
            return None
        known[parts[0]] = {"+": left + right, "-": left - right, "*": left * right}[parts[3]]
    return next(reversed(known.values()), None)


def wrong(trajectory: Trajectory) -> float:
    """Bad where the answer is not the right one, whatever was said about it."""
    return float(trajectory.output["answer"] != GOLD)


def factual_seed() -> int:
    """Find noise with which the sums are wrong."""
    return next(seed for seed in range(100) if write(task={}, history=["x"], seed=seed) == WRONG)


def fixer(**request: Any) -> str:
    """A model that knows how to add."""
    del request
    return RIGHT


def critic(**request: Any) -> str:
    """A model that agrees with everything."""
    del request
    return '{"verdict": "AGREE", "confidence": 0.9, "reason": "it adds"}'


def predictor(**request: Any) -> str:
    """A model that is sure of what adds."""
    return "0.9" if "3 + 4" in request["messages"][0]["content"].split("instead:")[1] else "0.1"


def broken(**request: Any) -> str:
    """A model that is down."""
    raise RuntimeError(f"no answer to {len(request)} fields")
