"""Intervals for the mean of 0/1 draws."""

from __future__ import annotations

import math
from statistics import NormalDist
from typing import TYPE_CHECKING

import numpy as np
from scipy.special import betaincinv

from butfor.confidence.estimates import Estimate, Interval, Undefined
from butfor.errors import InputError

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

INDEPENDENT = "the draws are independent with one mean"


def clopper_pearson(successes: int, n: int, *, missing: int = 0, alpha: float = 0.05) -> Interval:
    """Bound a proportion exactly.

    Estimand: p = E[x] of independent 0/1 draws.
    Assumptions: independent draws with one mean; missing draws may have been anything.
    Guarantee: finite-sample, P(lower ≤ p ≤ upper) ≥ 1 − alpha for every p and n, each side at alpha/2.
    Reference: Clopper and Pearson 1934.

    Args:
        successes: Number of ones among the observed draws.
        n: Number of draws, missing ones included.
        missing: Draws without an outcome: zeros for the lower bound, ones for the upper.
        alpha: Allowed miss probability.

    Raises:
        InputError: Counts that cannot be.
    """
    _check_counts(successes, n, missing)
    if n == 0:
        return Undefined(reason="no draws")
    lower, upper = clopper_pearson_bounds(successes, n, missing=missing, alpha=alpha)
    observed = n - missing
    return Estimate(
        point=successes / observed if observed else 0.5 * float(lower + upper),
        lower=float(lower),
        upper=float(upper),
        alpha=alpha,
        n=n,
        method="Clopper–Pearson" + (f", {missing} missing counted as 0 and as 1" if missing else ""),
        assumptions=(INDEPENDENT,),
    )


def clopper_pearson_bounds(
    successes: ArrayLike, n: ArrayLike, *, missing: ArrayLike = 0, alpha: ArrayLike = 0.05
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Compute Clopper–Pearson bounds for arrays of counts of any common shape; with n = 0 they are 0 and 1."""
    low_count = np.asarray(successes, dtype=float)
    size = np.asarray(n, dtype=float)
    high_count = low_count + np.asarray(missing, dtype=float)
    tail = np.asarray(alpha, dtype=float) / 2.0
    # betaincinv wants positive parameters; the clamped entries are overwritten by np.where.
    lower = betaincinv(np.maximum(low_count, 1.0), size - low_count + 1.0, tail)
    upper = betaincinv(high_count + 1.0, np.maximum(size - high_count, 1.0), 1.0 - tail)
    return np.where(low_count > 0, lower, 0.0), np.where(high_count < size, upper, 1.0)


def wilson(successes: int, n: int, *, alpha: float = 0.05) -> Interval:
    """Bound a proportion approximately, for display.

    Estimand: p = E[x] of independent 0/1 draws.
    Assumptions: independent draws with one mean, n not small.
    Guarantee: asymptotic; it covers .89 at worst for a nominal .95.
    Reference: Wilson 1927.
    """
    _check_counts(successes, n, 0)
    if n == 0:
        return Undefined(reason="no draws")
    z = NormalDist().inv_cdf(1.0 - alpha / 2.0)
    p = successes / n
    middle = (p + z * z / (2 * n)) / (1 + z * z / n)
    half = z * math.sqrt(p * (1 - p) / n + z * z / (4 * n * n)) / (1 + z * z / n)
    return Estimate(
        point=p,
        lower=max(0.0, middle - half),
        upper=min(1.0, middle + half),
        alpha=alpha,
        n=n,
        method="Wilson (approximate)",
        assumptions=(INDEPENDENT, "n is large enough for a normal limit"),
    )


def _check_counts(successes: int, n: int, missing: int) -> None:
    if min(successes, missing) < 0 or successes + missing > n:
        raise InputError(
            f"{successes} successes and {missing} missing among {n} draws cannot be",
            fix="count each draw once, as a success, a failure or missing",
        )
