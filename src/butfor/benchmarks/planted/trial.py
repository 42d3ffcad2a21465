"""Repeat a method on a planted run and count what it answers."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.stats import binom

from butfor.attribution.judged import VERDICTS, judged_outcome
from butfor.attribution.margins import Margins
from butfor.attribution.search import SearchSampler
from butfor.benchmarks.harness import Check
from butfor.benchmarks.planted.side_by_side import search_side_by_side
from butfor.benchmarks.planted.simulate import simulate, simulate_on_slots

if TYPE_CHECKING:
    from collections.abc import Sequence

    from butfor.attribution.pursuit import Pursuit
    from butfor.attribution.sampling import Sampler
    from butfor.attribution.search_result import Search
    from butfor.benchmarks.planted.world import World
    from butfor.confidence import Estimate

ALPHA = Margins().alpha
TIE = Margins().tie
# Repetitions side by side; more of them take memory and save nothing.
TOGETHER = 250


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


def searches(
    world: World,
    seeds: Sequence[int],
    *,
    max_help: float | None,
    calls: int | None = None,
    factual: Sequence[float | Estimate] | None = None,
) -> list[Outcome]:
    """Run `search` once for each seed: side by side where all rollouts take the same time."""
    ys: Sequence[float | Estimate] = [1.0] * len(seeds) if factual is None else factual
    if world.slow > 1.0:
        return [
            search(world, seed, max_help=max_help, calls=calls, factual=y) for seed, y in zip(seeds, ys, strict=True)
        ]
    found: list[Outcome] = []
    for start in range(0, len(seeds), TOGETHER):
        part = slice(start, start + TOGETHER)
        pursuit = search_side_by_side(world, seeds[part], max_help=max_help, calls=calls, factual=ys[part])
        found += outcomes_of(pursuit, world)
    return found


def outcomes_of(pursuit: Pursuit, world: World) -> list[Outcome]:
    """Hold searches that went side by side against the truth."""
    alpha, named = pursuit.margins.alpha, pursuit.settled().one_left & ~pursuit.outcomeless
    left, right = pursuit.evidence.open(alpha), np.zeros(world.steps, dtype=bool)
    right[list(world.right(TIE))] = True
    point = world.commit_point(pursuit.margins.commit)
    return [
        Outcome(
            right=bool((left[run] & right).any()) if named[run] else None,
            missed=not (left[run] & right).any(),
            commit_missed=point not in pursuit.commitment.candidates(alpha, run),
            size=int(left[run].sum()),
            rollouts=int(pursuit.rollouts[run]),
            calls=int(pursuit.calls[run]),
        )
        for run in range(pursuit.runs)
    ]


def outcome_of(sampler: Sampler[Search], world: World, seed: int) -> Outcome:
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
