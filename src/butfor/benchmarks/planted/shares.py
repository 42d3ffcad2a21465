"""Shapley values on the AND run: the published estimator, and ours for half of its rollouts."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from butfor.attribution.shapley import PooledShapley
from butfor.attribution.shapley_orders import PublishedShapley, StratifiedShapley
from butfor.benchmarks.harness import Check
from butfor.benchmarks.planted.simulate import simulate
from butfor.benchmarks.planted.table import TableWorld
from butfor.benchmarks.planted.trial import ALPHA, at_most
from butfor.confidence import Estimate

if TYPE_CHECKING:
    from collections.abc import Callable

    from butfor.attribution.sampling import Sampler
    from butfor.attribution.shapley_result import Shapley
    from butfor.benchmarks.planted.part import Part

# CAR's run: 960 pairs of orders of three steps, 2·4 rollouts each.
ORDERS, ROLLOUTS = 960, 7680
# Per-step intervals of the published estimator made simultaneous, to compare like with like: z(.05/6) / z(.05/2).
SIMULTANEOUS = 2.3940 / 1.9600
MOST_REPETITIONS = 1000


def shares(ask: Part) -> tuple[list[dict[str, Any]], list[Check]]:
    """Compare widths on the AND run of three steps, and false flags of null steps at n = 3, 5, 10."""
    seed, repetitions = ask.seed, min(ask.repetitions, MOST_REPETITIONS)
    rows: list[dict[str, Any]] = []
    checks: list[Check] = []
    world = TableWorld(steps=3, bad={0: 0.3, 1: 0.3})
    few = max(10, repetitions // 10)
    theirs = _repeat(lambda s: PublishedShapley(steps=3, orders=ORDERS, seed=s), world, seed, few)
    ours = _repeat(lambda s: PooledShapley(steps=3, rollouts=ROLLOUTS // 2), world, seed, repetitions)
    rows += [_row(world, "published", theirs), _row(world, "pooled, half the rollouts", ours)]
    ratio = _width(ours) / (_width(theirs) * SIMULTANEOUS)
    checks.append(
        Check(
            name="width of pooled at 3,840 rollouts / published at 7,680, both simultaneous",
            value=ratio,
            bound=1.0,
            ok=ratio <= 1.0,
        )
    )
    checks.append(at_most("pooled misses φ = (.455, .455, 0) ≤ α", _misses(ours, world), repetitions, ALPHA))
    total = float(np.mean([answer.total for answer in ours]))
    checks.append(Check(name="|Σφ − .91|", value=abs(total - 0.91), bound=0.01, ok=abs(total - 0.91) <= 0.01))
    rows.append(
        {
            "family": "and",
            "n": 3,
            "method": f"Σ of contrastive effects {sum(world.contrastive()):.2f}; Σφ {total:.3f}; truth 0.91",
        }
    )
    for n in (3, 5) if ask.quick else (3, 5, 10):
        wide = TableWorld(steps=n, bad={0: 0.3, n // 2: 0.3})
        published = _repeat(partial(_as_published, n), wide, seed, repetitions)
        rows.append(_row(wide, "published", published))
        better = _repeat(partial(_ours, n), wide, seed, repetitions)
        rows.append(_row(wide, better[0].estimator, better))
        flagged = sum(_flags_a_null(answer, wide) for answer in better)
        checks.append(
            at_most(f"any null step flagged ≤ α: n = {n}, {better[0].estimator}", flagged, repetitions, ALPHA)
        )
    return rows, checks


def _as_published(n: int, seed: int) -> Sampler[Shapley]:
    return PublishedShapley(steps=n, seed=seed)


def _ours(n: int, seed: int) -> Sampler[Shapley]:
    """Return our estimator for as many rollouts as the published one takes with its defaults."""
    cost = 128 * (n + 1)
    if n <= 5:
        return PooledShapley(steps=n, rollouts=cost)
    return StratifiedShapley(steps=n, blocks=cost // (n * (n + 1)), seed=seed)


def _repeat(make: Callable[[int], Sampler[Shapley]], world: TableWorld, seed: int, repetitions: int) -> list[Shapley]:
    return [simulate(make(s), world, s)[0] for s in range(seed, seed + repetitions)]


def _row(world: TableWorld, method: str, answers: list[Shapley]) -> dict[str, Any]:
    return {
        "family": "and",
        "n": world.steps,
        "method": f"Shapley {method}: width {_width(answers):.4f}",
        "wrong": float(np.mean([_flags_a_null(answer, world) for answer in answers])),
        "missed": _misses(answers, world) / len(answers),
        "rollouts": float(np.mean([answer.rollouts for answer in answers])),
        "calls": float(np.mean([answer.policy_calls for answer in answers])),
    }


def _width(answers: list[Shapley]) -> float:
    return float(np.mean([s.value.width for a in answers for s in a.steps if isinstance(s.value, Estimate)]))


def _misses(answers: list[Shapley], world: TableWorld) -> int:
    truth = world.shapley()
    return sum(
        any(isinstance(s.value, Estimate) and not s.value.contains(truth[s.step]) for s in answer.steps)
        for answer in answers
    )


def _flags_a_null(answer: Shapley, world: TableWorld) -> bool:
    return any(step.flagged for step in answer.steps if step.step not in world.bad)
