"""Families of planted runs: which v(k), and so which blame, a run has."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from butfor.benchmarks.planted.world import World

if TYPE_CHECKING:
    from numpy.typing import NDArray


def pivotal(steps: int, *, at: int, fails: float = 0.3, match: float = 0.0) -> World:
    """One step decides: before it the run fails with probability `fails`, after it always (CAR's pivotal SCM)."""
    return _world("pivotal", np.where(np.arange(steps + 1) <= at, fails, 1.0), match)


def both(steps: int, *, first: int, second: int, bad: float = 0.3, match: float = 0.0) -> World:
    """AND: the run fails if two steps both go wrong, each with probability `bad` (CAR's AND SCM)."""
    k = np.arange(steps + 1)
    return _world("and", np.where(k <= first, bad * bad, np.where(k <= second, bad, 1.0)), match)


def either(steps: int, *, first: int, second: int, bad: float = 0.3, match: float = 0.0) -> World:
    """OR: the run fails if either of two steps goes wrong; both did, so the first one settled it."""
    del second  # once the first went wrong, the second no longer matters
    k = np.arange(steps + 1)
    return _world("or", np.where(k <= first, 1 - (1 - bad) ** 2, 1.0), match)


def soft(steps: int, *, at: int, fails: float = 0.3, rescue: float = 0.02, match: float = 0.0) -> World:
    """A step that decides but for a rescue of probability `rescue` as long as anything is decided again."""
    k = np.arange(steps + 1)
    v = np.where(k <= at, fails * (1 - rescue), 1 - rescue)
    v[steps] = 1.0
    return _world("soft", v, match)


def late_rescue(steps: int, *, at: int, fails: float = 0.3, rescue: float = 0.02, match: float = 0.0) -> World:
    """After the deciding step every later step, decided again, rescues the run with probability `rescue`."""
    k = np.arange(steps + 1)
    held = (1 - rescue) ** (steps - np.maximum(k, at + 1)).astype(float)
    return _world("late_rescue", np.where(k <= at, fails * held, held), match)


def undone(steps: int, *, helped: int, at: int, before: float = 0.5, between: float = 0.1, match: float = 0.0) -> World:
    """A step that helps (v falls from `before` to `between`), and a later one that undoes it and more."""
    k = np.arange(steps + 1)
    return _world("undone", np.where(k <= helped, before, np.where(k <= at, between, 1.0)), match)


def hidden_help(steps: int, *, at: int, fails: float = 0.3, dip: float = 0.55, match: float = 0.0) -> World:
    """Two large blames with a large help between them, placed so that only the ends of the run look flat.

    v = fails up to `at`, rises by `dip`, falls back by `dip` at the next step, and rises to 1 in the last two steps.
    Limited help is violated by `dip`; a method that assumes it may skip the true step.
    """
    v = np.full(steps + 1, fails)
    v[at + 1] = fails + dip
    v[steps - 1], v[steps] = 0.5 * (1 + fails), 1.0
    return _world("hidden_help", v, match)


def gradual(steps: int, *, fails: float = 0.3, match: float = 0.0) -> World:
    """The chance to fail rises evenly over all steps: a flaky task without a decisive step where n is large."""
    return _world("gradual", np.linspace(fails, 1.0, steps + 1), match)


def doomed(steps: int, *, match: float = 0.0) -> World:
    """The run fails whatever is decided."""
    return _world("doomed", np.ones(steps + 1), match)


def tied(steps: int, *, first: int, second: int, match: float = 0.0) -> World:
    """Two steps with the same blame."""
    k = np.arange(steps + 1)
    return _world("tied", np.where(k <= first, 0.2, np.where(k <= second, 0.6, 1.0)), match)


def judged(world: World, *, flips: float) -> World:
    """The same run under a judge that flips its verdict with probability `flips`; v and y are the judge's means."""
    return replace(world, name=f"{world.name}+judge", v=flips + (1 - 2 * flips) * world.v)


def losing_calls(world: World, *, missing: float) -> World:
    """The same run where a share of the rollouts ends without an outcome."""
    return replace(world, name=f"{world.name}+missing", missing=missing)


def variable_length(world: World, *, spread: float = 0.8) -> World:
    """The same run where rollouts are shorter or longer than the recorded one."""
    return replace(world, name=f"{world.name}+length", spread=spread)


def parallel_calls(world: World, *, calls: int = 3) -> World:
    """The same run with several tool calls a step: it comes out the same only if all of them do."""
    return replace(world, name=f"{world.name}+parallel", match=world.match**calls)


def slow_failures(world: World, *, slow: float = 10.0) -> World:
    """The same run where a rollout that fails takes so many times as long."""
    return replace(world, name=f"{world.name}+slow", slow=slow)


def _world(name: str, v: NDArray[np.float64], match: float) -> World:
    """Give every step that does not move v the match probability; a step that moves it never comes out the same."""
    flat = np.isclose(np.diff(v), 0.0)
    return World(name=name, v=v, match=np.where(flat, match, 0.0))
