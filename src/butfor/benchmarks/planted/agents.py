"""Planted runs as ordinary agents around `butfor.model`, for the engine to record and to decide again."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import butfor
from butfor import noise

if TYPE_CHECKING:
    from butfor.replay import Trajectory

FACTUAL = "as it was"
FACTUAL_SEED = 0
"""The seed that the agents ask with: the noise that led to the recorded run. A draw replaces it with its own."""


def uniform_of(seed: int) -> float:
    """Return the uniform in [0, 1) that a seed stands for."""
    return noise.generator("planted", seed).random()


@butfor.model
def stay(*, history: list[str], chance: float, seed: int) -> str:
    """Take the factual action again with probability `chance`."""
    return FACTUAL if seed == FACTUAL_SEED or uniform_of(seed) < chance else "something else"


async def commit(task: dict[str, list[float]]) -> bool:
    """Decide n times; fail with the probability of the step at which the factual path was left (see `World`).

    Args:
        task: `match` and `off_path` of n steps, and `end`, the chance to fail on the factual path.

    Returns:
        Whether it failed.
    """
    history: list[str] = []
    for chance in task["match"]:
        history.append(stay(history=history, chance=chance, seed=FACTUAL_SEED))
    chances = [*task["off_path"], *task["end"]]
    left = next((k for k, action in enumerate(history) if action != FACTUAL), len(history))
    return butfor.rng().random() < chances[left]


@butfor.model
def go_wrong(*, step: int, chance: float, seed: int) -> bool:
    """Go wrong, as in fact, with probability `chance`, whatever was decided before."""
    return seed == FACTUAL_SEED or uniform_of(seed) < chance


async def combine(task: dict[str, Any]) -> bool:
    """Decide n times; fail if all, or any, of the steps that matter went wrong (see `TableWorld`).

    Args:
        task: `bad`, the chance to go wrong by step, None where it does not matter; `fails_if`, "all" or "any".

    Returns:
        Whether it failed.
    """
    wrong = [
        went
        for k, chance in enumerate(task["bad"])
        for went in [go_wrong(step=k, chance=chance or 0.0, seed=FACTUAL_SEED)]
        if chance is not None
    ]
    return all(wrong) if task["fails_if"] == "all" else any(wrong)


def failed(trajectory: Trajectory) -> float:
    """Return 1 where the agent says that it failed."""
    return float(trajectory.output)
