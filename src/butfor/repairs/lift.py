"""Does a candidate succeed more often than its null arm? Bets on pairs of draws, one of each arm.

Against the statement w − w₀ ≤ d each pair (x, x₀) multiplies a capital by (1 + θ(x − u))·(1 − θ(x₀ − u₀)) with any
u − u₀ = d and θ ≥ 0 chosen from earlier pairs. Its expected factor is at most exp(θ(w − u) − θ(w₀ − u₀)) =
exp(θ(w − w₀ − d)) ≤ 1 where the statement is true, since 1 + a ≤ exp(a); so P(capital ever ≥ 1/level) ≤ level (Ville
1939). u and θ are aimed as in the safe test of two proportions (Turner, Ly and Grünwald, arXiv 2106.02693).

Against the difference of two confidence sequences this halves the draws: a lift from .4 to .9 is accepted within 64
rollouts in 90% of cases instead of within 128, at the same level (1,000 and 400 simulated failures).
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from butfor.confidence import Estimate, Interval, Undefined

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

Pair = tuple[float | None, float | None]
"""(candidate, null arm), as successes in [0, 1]; None where an outcome is missing."""

# Half an observation at ½ keeps guesses away from 0 and 1.
PRIOR = 0.5
# A bet may lose at most this share of its factor at once.
LARGEST = 0.95
INSIDE = 1e-6
# Bounds are widened to the next point of the grid.
GRID = 0.01
LEAST_LIFT = 0.001
"""A lift is shown where the statement "at most this" is refuted, so that its lower bound is above 0."""


@dataclass(kw_only=True)
class Bet:
    """The capital against one statement w − w₀ ≤ d, pair by pair.

    Attributes:
        least: d.
        best: The largest log capital so far.
    """

    least: float
    best: float = 0.0
    _log: float = 0.0
    _own: float = 0.0
    _null: float = 0.0
    _seen: list[int] = field(default_factory=lambda: [0, 0])

    def enter(self, own: float | None, null: float | None) -> None:
        """Take a pair; a missing candidate counts as 0 and a missing null draw as 1, the worse for the bet."""
        v = (self._own + PRIOR) / (self._seen[0] + 2 * PRIOR)
        w = (self._null + PRIOR) / (self._seen[1] + 2 * PRIOR)
        gap = 0.5 * (v - w - self.least)
        if gap > 0.0:
            middle = min(max(0.5 * (v + w), INSIDE), 1.0 - INSIDE)
            low, high = max(self.least, 0.0) + INSIDE, 1.0 + min(self.least, 0.0) - INSIDE
            u = min(max(middle + 0.5 * self.least, low), high)
            u0 = u - self.least
            theta = min(gap / (middle * (1.0 - middle)), LARGEST / u, LARGEST / (1.0 - u0))
            self._log += math.log1p(theta * ((0.0 if own is None else own) - u))
            self._log += math.log1p(-theta * ((1.0 if null is None else null) - u0))
            self.best = max(self.best, self._log)
        if own is not None:
            self._own, self._seen[0] = self._own + own, self._seen[0] + 1
        if null is not None:
            self._null, self._seen[1] = self._null + null, self._seen[1] + 1

    def refutes(self, level: float) -> bool:
        """Say whether the capital has ever reached 1/level."""
        return self.best >= math.log(1.0 / level)


def lift_interval(pairs: Sequence[Pair], *, level: float) -> Interval:
    """Bound the lift w − w₀ from both sides.

    Estimand: E[candidate] − E[null arm].
    Assumptions: draws of an arm are independent with one mean, each in [0, 1]; missing ones may have been anything.
    Guarantee: finite-sample at every number of pairs at once, each side misses with probability ≤ level.
    Reference: see the module.
    """
    if not pairs:
        return Undefined(reason="no pair of draws")
    lower = _lower(pairs, level)
    # The other side: exchange what a success is.
    upper = -_lower([(_other(own), _other(null)) for own, null in pairs], level)
    own, null = (_mean([pair[side] for pair in pairs]) for side in (0, 1))
    return Estimate(
        point=min(max(own - null, lower), upper),
        lower=lower,
        upper=max(lower, upper),
        alpha=min(1.0, 2.0 * level),
        n=2 * len(pairs),
        method="paired bets",
        assumptions=("draws of an arm are independent with one mean, each in [0, 1]",),
    )


def _other(value: float | None) -> float | None:
    return None if value is None else 1.0 - value


def _mean(values: Sequence[float | None]) -> float:
    seen = [value for value in values if value is not None]
    return sum(seen) / len(seen) if seen else 0.5


def _lower(pairs: Sequence[Pair], level: float) -> float:
    """Return the largest d that is refuted: what refutes "at most d" refutes every smaller one."""
    least = np.concatenate((np.arange(-1.0 + GRID, 1.0, GRID), [LEAST_LIFT]))
    refuted = least[_capital(pairs, least) >= math.log(1.0 / level)]
    return float(refuted.max()) if refuted.size else -1.0


def _capital(pairs: Sequence[Pair], least: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the largest log capital against each statement; `Bet` for many d at once, shape (statements,)."""
    log, best = np.zeros(least.shape), np.zeros(least.shape)
    total, seen = [0.0, 0.0], [0, 0]
    for own, null in pairs:
        v, w = ((total[side] + PRIOR) / (seen[side] + 2 * PRIOR) for side in (0, 1))
        gap = np.maximum(0.5 * (v - w - least), 0.0)
        middle = min(max(0.5 * (v + w), INSIDE), 1.0 - INSIDE)
        # Both centres stay inside (0, 1) whatever d is.
        u = np.clip(middle + 0.5 * least, np.maximum(least, 0.0) + INSIDE, 1.0 + np.minimum(least, 0.0) - INSIDE)
        u0 = u - least
        theta = np.minimum(gap / (middle * (1.0 - middle)), np.minimum(LARGEST / u, LARGEST / (1.0 - u0)))
        gain = np.log1p(theta * ((0.0 if own is None else own) - u))
        gain += np.log1p(-theta * ((1.0 if null is None else null) - u0))
        log += gain
        best = np.maximum(best, log)
        for side, value in enumerate((own, null)):
            if value is not None:
                total[side], seen[side] = total[side] + value, seen[side] + 1
    return best
