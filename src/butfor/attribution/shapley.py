"""Shapley values of steps from pooled coalition means.

v(S) = E[y | the steps in S keep their factual action, the others are decided again]; φ_k is the average of
v(S ∪ k) − v(S) over the orders in which steps can be added.
"""

from __future__ import annotations

import math
from itertools import combinations
from statistics import NormalDist
from typing import TYPE_CHECKING

import numpy as np

from butfor.attribution.sampling import Coalition, Draw, DrawResult, check_results
from butfor.attribution.shapley_result import Shapley, StepShapley, middle
from butfor.confidence import Estimate, Interval, Undefined
from butfor.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

# Beyond this many steps 2ⁿ coalitions are too many to draw one by one.
MOST_POOLED_STEPS = 10
# Draws of every coalition before the first allocation.
PILOT = 8


class PooledShapley:
    """Every coalition drawn, its mean used in all φ_k, more draws where they lower the variance most.

    Estimand: φ_k = Σ_S c_k(S)·v(S), all k at once, and v(all) − v(∅) = Σ_k φ_k.
    Assumptions: independent rollouts; a missing outcome lies in [0, 1] and moves every bound by its weight.
    Guarantee: asymptotic, simultaneous over steps (Bonferroni), with the propagated variance Σ_S c_k(S)²·σ²(S)/m(S);
    each σ²(S) counts one more 0 and one more 1, so that coalitions without variation are not taken as certain.
    Reference: Neyman 1934 for the allocation; Covert and Lee 2021 (arXiv 2012.01536) on pooling coalition values.

    Args:
        steps: 1 ≤ n ≤ 10; at more steps coalitions are too many.
        rollouts: Budget in rollouts; at least 8 for each of the 2ⁿ coalitions.
        alpha: Allowed probability that any of the n intervals misses.
    """

    def __init__(self, *, steps: int, rollouts: int, alpha: float = 0.05) -> None:
        if not 1 <= steps <= MOST_POOLED_STEPS:
            raise InputError(
                f"{steps} steps have too many coalitions to pool",
                fix=f"use the stratified estimator beyond {MOST_POOLED_STEPS} steps",
            )
        self._coalitions = [frozenset(c) for size in range(steps + 1) for c in combinations(range(steps), size)]
        if rollouts < PILOT * len(self._coalitions):
            raise InputError(
                f"{rollouts} rollouts cannot cover {len(self._coalitions)} coalitions",
                fix=f"allow at least {PILOT * len(self._coalitions)}",
            )
        self._steps, self._rollouts, self._alpha = steps, rollouts, alpha
        self._weights = shapley_weights(self._coalitions, steps)
        self._seen: list[list[DrawResult]] = [[] for _ in self._coalitions]
        self._proposed: tuple[tuple[int, Draw], ...] | None = None
        self._stage, self._stopped = 0, False

    def propose(self) -> tuple[Draw, ...]:
        """Name a pilot of each coalition, then in two more batches what lowers the variance most."""
        if self._proposed is None:
            self._proposed = () if self._stopped else self._next_batch()
        return tuple(draw for _, draw in self._proposed)

    def enter(self, results: Sequence[DrawResult]) -> None:
        """Take the results, or the prefix that the budget allowed."""
        check_results(self.propose(), results)
        proposed = self._proposed or ()
        for (i, _), result in zip(proposed, results, strict=False):
            self._seen[i].append(result)
        self._stopped = len(results) < len(proposed)
        self._stage += 1
        self._proposed = None

    def answer(self) -> Shapley:
        """Combine the coalition means."""
        drawn = [result for results in self._seen for result in results]
        level = self._alpha / self._steps
        whole = np.zeros(len(self._coalitions))
        whole[-1], whole[0] = 1.0, -1.0
        values = [self._interval(weights, level) for weights in self._weights]
        return Shapley(
            estimator="pooled coalition means",
            steps=tuple(StepShapley(step=k, value=value) for k, value in enumerate(values)),
            efficiency=self._interval(whole, self._alpha),
            total=math.fsum(value.point for value in values if isinstance(value, Estimate)),
            alpha=self._alpha,
            simultaneous=True,
            rollouts=len(drawn),
            policy_calls=sum(result.policy_calls for result in drawn),
            missing=sum(result.outcome is None for result in drawn),
            complete=len(drawn) >= self._rollouts,
        )

    def _next_batch(self) -> tuple[tuple[int, Draw], ...]:
        counts = np.array([len(results) for results in self._seen])
        left = self._rollouts - int(counts.sum())
        if self._stage == 0:
            more = np.full(counts.size, PILOT)
        elif left <= 0:
            return ()
        else:
            more = self._where_it_helps(counts, left if self._stage > 1 else (left + 1) // 2)
        return tuple(
            (i, Draw(arm=Coalition(held=self._coalitions[i]), ordinal=int(counts[i]) + j))
            for j in range(int(more.max(initial=0)))
            for i in range(counts.size)
            if j < more[i]
        )

    def _where_it_helps(self, counts: NDArray[np.int64], left: int) -> NDArray[np.int64]:
        """Split `left` draws so that the totals approach Neyman's allocation for Σ_k Var(φ̂_k)."""
        spread = np.sqrt((self._weights**2).sum(axis=0) * self._variances())
        target = spread / spread.sum() * (counts.sum() + left)
        wanted = np.maximum(target - counts, 0.0)
        share = wanted / wanted.sum() * left
        more = np.floor(share).astype(np.int64)
        more[np.argsort(more - share, kind="stable")[: left - int(more.sum())]] += 1
        return np.asarray(more, dtype=np.int64)

    def _variances(self) -> NDArray[np.float64]:
        """Estimate the variance of one draw of each coalition; ¼ where nothing was drawn."""
        return np.array([_shrunk_variance([middle(result) for result in results]) for results in self._seen])

    def _interval(self, weights: NDArray[np.float64], level: float) -> Interval:
        """Bound Σ_S weights(S)·v(S)."""
        used = np.flatnonzero(weights)
        if any(not self._seen[i] for i in used):
            return Undefined(reason="some coalition was not drawn")
        counts = np.array([len(self._seen[i]) for i in used])
        means = np.array([np.mean([middle(result) for result in self._seen[i]]) for i in used])
        gaps = np.array([np.mean([result.outcome is None for result in self._seen[i]]) for i in used])
        point = float(weights[used] @ means)
        noise = _z(level) * math.sqrt(float((weights[used] ** 2 * self._variances()[used] / counts).sum()))
        unknown = float(np.abs(weights[used]) @ gaps) / 2.0
        return Estimate(
            point=point,
            lower=point - noise - unknown,
            upper=point + noise + unknown,
            alpha=self._alpha,
            n=int(counts.sum()),
            method="normal limit with propagated variance (approximate, simultaneous)",
            assumptions=("independent rollouts", "each coalition's mean is near normal"),
        )


def shapley_weights(coalitions: Sequence[frozenset[int]], steps: int) -> NDArray[np.float64]:
    """Return c with φ_k = Σ_S c[k, S]·v(S), shape (steps, coalitions)."""
    weights = np.zeros((steps, len(coalitions)))
    for i, held in enumerate(coalitions):
        for k in range(steps):
            others = len(held) - (k in held)
            share = 1.0 / (steps * math.comb(steps - 1, others))
            weights[k, i] = share if k in held else -share
    return weights


def _shrunk_variance(values: Sequence[float]) -> float:
    """Variance with one draw each of 0 and 1 added."""
    padded = np.array([0.0, 1.0, *values])
    return float(padded.var())


def _z(alpha: float) -> float:
    return NormalDist().inv_cdf(1.0 - alpha / 2.0)
