"""Shapley values of steps from random orders: as published, and stratified by position."""

from __future__ import annotations

import math
import random
from statistics import NormalDist
from typing import TYPE_CHECKING

import numpy as np
from scipy.special import stdtrit

from butfor.attribution.sampling import Coalition, Draw, DrawResult, check_results
from butfor.attribution.shapley_result import Shapley, StepShapley, middle
from butfor.confidence import Estimate, Interval, Undefined
from butfor.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from numpy.typing import NDArray


class _BlocksOfOrders:
    """Walks along orders in blocks; fresh draws for every coalition met, so that block averages are independent."""

    estimator: str
    simultaneous: bool

    def __init__(self, blocks: Sequence[Sequence[list[int]]], *, samples: int, alpha: float) -> None:
        self._size, self._steps = len(blocks[0]), len(blocks[0][0])
        self._walks = [order for block in blocks for order in block]
        self._samples, self._alpha = samples, alpha
        self._ordinals: dict[frozenset[int], int] = {}
        self._plan = tuple(draw for walk in self._walks for held in _path(walk) for draw in self._fresh(held))
        self._results: list[DrawResult] | None = None

    def propose(self) -> tuple[Draw, ...]:
        """Name all rollouts, order by order; empty once results were entered."""
        return self._plan if self._results is None else ()

    def enter(self, results: Sequence[DrawResult]) -> None:
        """Take the results; a block that a stopped budget left unfinished is dropped."""
        check_results(self.propose(), results)
        self._results = list(results)

    def answer(self) -> Shapley:
        """Average the marginal contributions over finished blocks."""
        results = self._results or []
        marginals = self._marginals(results)
        steps = tuple(StepShapley(step=k, value=self._interval(marginals[:, k])) for k in range(self._steps))
        return Shapley(
            estimator=self.estimator,
            steps=steps,
            efficiency=Undefined(reason="not estimated apart from the sum of the values"),
            total=math.fsum(step.value.point for step in steps if isinstance(step.value, Estimate)),
            alpha=self._alpha,
            simultaneous=self.simultaneous,
            rollouts=len(results),
            policy_calls=sum(result.policy_calls for result in results),
            missing=sum(result.outcome is None for result in results),
            complete=len(results) == len(self._plan),
        )

    def _marginals(self, results: Sequence[DrawResult]) -> NDArray[np.float64]:
        """Return the average contribution of each step in each finished block, shape (blocks, steps)."""
        per_walk = (self._steps + 1) * self._samples
        finished = len(results) // (self._size * per_walk)
        marginals = np.zeros((finished, self._steps))
        for i in range(self._size * finished):
            drawn = np.array([middle(result) for result in results[i * per_walk : (i + 1) * per_walk]])
            values = drawn.reshape(self._steps + 1, self._samples).mean(axis=1)
            marginals[i // self._size, self._walks[i]] += np.diff(values) / self._size
        return marginals

    def _fresh(self, held: frozenset[int]) -> list[Draw]:
        start = self._ordinals.get(held, 0)
        self._ordinals[held] = start + self._samples
        return [Draw(arm=Coalition(held=held), ordinal=start + i) for i in range(self._samples)]

    def _interval(self, marginals: NDArray[np.float64]) -> Interval:
        if marginals.size < 2:
            return Undefined(reason="fewer than two finished blocks of orders")
        point = float(marginals.mean())
        half = self._quantile(marginals.size) * float(marginals.std(ddof=1)) / math.sqrt(marginals.size)
        return Estimate(
            point=point,
            lower=point - half,
            upper=point + half,
            alpha=self._alpha,
            n=marginals.size,
            method=f"normal limit over orders (approximate, {'simultaneous' if self.simultaneous else 'per step'})",
            assumptions=("independent orders with fresh draws", "missing outcomes are ½ on average"),
        )

    def _quantile(self, blocks: int) -> float:
        raise NotImplementedError


class PublishedShapley(_BlocksOfOrders):
    """CAR's estimator: random orders, each with its reverse, fresh draws for every coalition met on the way.

    Estimand: φ_k.
    Assumptions: independent rollouts; many orders; a missing outcome counts as ½.
    Guarantee: asymptotic, per step (not simultaneous).
    Reference: arXiv 2606.08275 (ApproShapley with antithetic pairs; v(S) is not cached between orders).

    Args:
        steps: n ≥ 1.
        orders: Number of random orders; each costs 2·(n + 1)·samples rollouts.
        samples: Rollouts for each coalition value.
        alpha: Allowed miss probability of each interval.
        seed: Root of the orders.
    """

    estimator = "as published: random orders with their reverse"
    simultaneous = False

    def __init__(self, *, steps: int, orders: int = 64, samples: int = 1, alpha: float = 0.05, seed: int = 0) -> None:
        _check(steps, orders, samples)
        rng = random.Random(seed)
        drawn = [rng.sample(range(steps), steps) for _ in range(orders)]
        super().__init__([(order, order[::-1]) for order in drawn], samples=samples, alpha=alpha)

    def _quantile(self, blocks: int) -> float:
        del blocks
        return NormalDist().inv_cdf(1.0 - self._alpha / 2.0)


class StratifiedShapley(_BlocksOfOrders):
    """Random orders in all their rotations, so that every step takes every position equally often.

    Estimand: φ_k, all k at once.
    Assumptions: independent rollouts; several blocks; a missing outcome counts as ½.
    Guarantee: asymptotic, simultaneous over steps (Bonferroni, Student's t over blocks).
    Reference: stratification by position, Castro et al. 2017 (Computers & Operations Research 82).

    Args:
        steps: n ≥ 1.
        blocks: Number of random orders; each costs n·(n + 1)·samples rollouts.
        samples: Rollouts for each coalition value.
        alpha: Allowed probability that any of the n intervals misses.
        seed: Root of the orders.
    """

    estimator = "stratified: random orders in all rotations"
    simultaneous = True

    def __init__(self, *, steps: int, blocks: int = 16, samples: int = 1, alpha: float = 0.05, seed: int = 0) -> None:
        _check(steps, blocks, samples)
        rng = random.Random(seed)
        drawn = [rng.sample(range(steps), steps) for _ in range(blocks)]
        rotated = [[order[i:] + order[:i] for i in range(steps)] for order in drawn]
        super().__init__(rotated, samples=samples, alpha=alpha)

    def _quantile(self, blocks: int) -> float:
        return float(stdtrit(blocks - 1, 1.0 - self._alpha / (2.0 * self._steps)))


def _check(steps: int, orders: int, samples: int) -> None:
    if min(steps, orders, samples) < 1:
        raise InputError("a Shapley estimate needs steps, orders and samples", fix="pass at least 1 of each")


def _path(order: Iterable[int]) -> list[frozenset[int]]:
    """List ∅ and the coalitions that arise as steps are added in this order."""
    held: list[frozenset[int]] = [frozenset()]
    for step in order:
        held.append(held[-1] | {step})
    return held
