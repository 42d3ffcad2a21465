"""An agent whose model answers in a format of its own."""

from typing import Any

import butfor
from butfor import noise


@butfor.model
def move(*, made: list[str], seed: int) -> dict[str, Any]:
    """Go left or right."""
    drawn = noise.generator("opaque", seed, len(made)).random()
    return {"move": "left" if drawn < 0.6 else "right", "why": "I feel like it"}


def agent(task: dict[str, Any]) -> dict[str, Any]:
    """Make two moves."""
    made: list[str] = []
    for _ in range(2):
        made.append(move(made=made, seed=task["seed"])["move"])
    return {"moves": made}


def factual_seed() -> int:
    """Find noise with which both moves go left."""
    return next(seed for seed in range(100) if agent({"seed": seed})["moves"] == ["left", "left"])
