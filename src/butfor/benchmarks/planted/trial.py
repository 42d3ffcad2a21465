"""Repeat a method on a planted run and count what it answers."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.stats import binom

from butfor.attribution.judged import VERDICTS, judged_outcome
from butfor.attribution.margins import Margins
from butfor.attribution.profile import ProfileSampler
from butfor.attribution.search import SearchSampler
from butfor.benchmarks.harness import Check
from butfor.benchmarks.planted.simulate import simulate, simulate_on_slots

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from butfor.attribution.profile_result import Profile
    from butfor.attribution.sampling import Sampler
    from butfor.attribution.search_result import Search
    from butfor.benchmarks.planted.world import World
    from butfor.confidence import Estimate

ALPHA = Margins().alpha
TIE = Margins().tie


@dataclass(frozen=True, kw_only=True)
class Outcome:
    """One repetition.

    Attributes:
        right: True, False, or None where no step was named.
        missed: Whether the set lacks every right step.
        commit_missed: Whether the set for the commit point lacks it.
        size: Size of the set.
        rollouts: Rollouts spent.
        calls: Policy calls spent.
    """

    right: bool | None
    missed: bool
    commit_missed: bool
    size: int
    rollouts: int
    calls: int


def search(world: World, seed: int, *, max_help: float | None, calls: int | None = None, factual: Any = 1.0) -> Outcome:
    """Run `search` once."""
    sampler = SearchSampler(steps=world.steps, factual=factual, max_help=max_help, policy_calls=calls)
    return outcome_of(sampler, world, seed)


def profile(world: World, seed: int, *, draws: int, factual: Any = 1.0) -> Outcome:
    """Run `profile` once."""
    return outcome_of(ProfileSampler(steps=world.steps, factual=factual, draws=draws), world, seed)


def outcome_of(sampler: Sampler[Search | Profile], world: World, seed: int) -> Outcome:
    """Run a sampler and hold its answer against the truth.

    Where failures are slow, the clock stops it on 16 slots, at a time that differs from seed to seed.
    """
    if world.slow > 1.0:
        answer, spent = simulate_on_slots(sampler, world, seed, slots=16, seconds=20.0 * (1 + seed % 10))
    else:
        answer, spent = simulate(sampler, world, seed)
    right = world.right(TIE)
    return Outcome(
        right=None if answer.decisive is None else answer.decisive in right,
        missed=not right & set(answer.candidates),
        commit_missed=world.commit_point(answer.margins.commit) not in answer.commit_points,
        size=len(answer.candidates),
        rollouts=spent.rollouts,
        calls=spent.policy_calls,
    )


def judge_on_the_factual_run(world: World, seed: int) -> Estimate:
    """Judge the factual run many times: y is the judge's mean with its interval."""
    rng = np.random.default_rng([seed, 1])
    return judged_outcome((rng.random(VERDICTS) < world.v[-1]).astype(float).tolist())


def repeat(once: Callable[[int], Outcome], seeds: Iterable[int]) -> list[Outcome]:
    """Run once for each seed."""
    return [once(seed) for seed in seeds]


def row(family: str, n: int, method: str, outcomes: list[Outcome]) -> dict[str, Any]:
    """Summarise repetitions as a line of the table."""
    total = len(outcomes)
    return {
        "family": family,
        "n": n,
        "method": method,
        "right": sum(o.right is True for o in outcomes) / total,
        "wrong": sum(o.right is False for o in outcomes) / total,
        "withheld": sum(o.right is None for o in outcomes) / total,
        "missed": sum(o.missed for o in outcomes) / total,
        "size": float(np.mean([o.size for o in outcomes])),
        "rollouts": float(np.mean([o.rollouts for o in outcomes])),
        "calls": float(np.mean([o.calls for o in outcomes])),
    }


def at_most(name: str, count: int, total: int, rate: float) -> Check:
    """Check that a rate is not above `rate`: the bound is what chance exceeds once in a million at that rate."""
    bound = float(binom.ppf(1 - 1e-6, total, rate)) / total
    return Check(name=name, value=count / total, bound=bound, ok=count / total <= bound)


def at_least(name: str, count: int, total: int, rate: float) -> Check:
    """Check that a rate is not below `rate`, likewise."""
    bound = float(binom.ppf(1e-6, total, rate)) / total
    return Check(name=name, value=count / total, bound=bound, ok=count / total >= bound)
