"""Betting intervals for the mean of draws in [0, 1]: finite-sample, and valid at every look."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from butfor.confidence.estimates import Estimate, Interval, Undefined
from butfor.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

BOUNDED = "the draws are independent with one mean, each in [0, 1]"
# The bounds are widened to the next grid point, so a coarser grid costs width, never coverage.
GRID = 1001
# A bet may lose at most this share of the capital at once; ½ is the choice of the paper.
LARGEST_LOSS = 0.5


def betting_interval(values: Sequence[float | None], *, alpha: float = 0.05) -> Interval:
    """Bound the mean of draws in [0, 1] by the capital of bets against every candidate mean.

    Estimand: μ = E[x].
    Assumptions: each draw has conditional mean μ given the earlier ones; missing ones may have been anything.
    Guarantee: finite-sample, at every n at once (so it may be read at any time).
    Reference: Waudby-Smith and Ramdas 2024 (arXiv 2010.09686), hedged capital with predictable plug-in bets.
    """
    if not values:
        return Undefined(reason="no draws")
    low = np.array([0.0 if value is None else value for value in values], dtype=float)
    high = np.array([1.0 if value is None else value for value in values], dtype=float)
    if not (np.all(low >= 0.0) and np.all(high <= 1.0)):
        raise InputError("a draw lies outside [0, 1]", fix="scale the outcome to [0, 1]")
    lower = lower_betting_bound(low, alpha=alpha / 2.0)
    upper = 1.0 - lower_betting_bound(1.0 - high, alpha=alpha / 2.0)
    seen = [value for value in values if value is not None]
    missing = len(values) - len(seen)
    return Estimate(
        point=float(np.mean(seen)) if seen else 0.5 * (lower + upper),
        lower=min(lower, upper),
        upper=max(lower, upper),
        alpha=alpha,
        n=len(values),
        method="betting" + (f", {missing} missing counted as 0 and as 1" if missing else ""),
        assumptions=(BOUNDED,),
    )


def lower_betting_bound(values: NDArray[np.float64], *, alpha: float) -> float:
    """Return the largest grid point below every mean that the bets did not refute.

    Args:
        values: Draws in [0, 1], shape (n,), in order.
        alpha: Allowed miss probability of this one side.
    """
    candidates = np.linspace(0.0, 1.0, GRID)
    bets = plug_in_bets(values, alpha=alpha)
    with np.errstate(divide="ignore"):
        capped = np.minimum(bets[:, None], LARGEST_LOSS / candidates[None, :])
    capital = np.cumsum(np.log1p(capped * (values[:, None] - candidates[None, :])), axis=0).max(axis=0)
    alive = capital < math.log(1.0 / alpha)
    # At least candidate 1 survives: no draw exceeds it, so its capital never grows.
    first = int(np.argmax(alive))
    return float(candidates[max(first - 1, 0)])


def plug_in_bets(values: NDArray[np.float64], *, alpha: float) -> NDArray[np.float64]:
    """Size each bet from the draws before it: λ_t = √(2 ln(1/α) / (σ̂²_{t−1} · t · ln(1 + t))), shape (n,)."""
    t = np.arange(1, values.size + 1)
    mean = (0.5 + np.cumsum(values)) / (t + 1)
    variance = (0.25 + np.cumsum((values - mean) ** 2)) / (t + 1)
    before = np.concatenate(([0.25], variance[:-1]))
    bets: NDArray[np.float64] = np.sqrt(2.0 * math.log(1.0 / alpha) / (before * t * np.log1p(t)))
    return bets
