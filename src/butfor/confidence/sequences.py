"""Confidence sequences: intervals that hold at every time at once, so that one may look and stop at will."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from butfor.confidence.estimates import Estimate, Interval, Undefined
from butfor.confidence.means import BOUNDED, betting_interval

if TYPE_CHECKING:
    from collections.abc import Sequence

# Beta(½, ½): it leaves the bounds tight where p is near 0 or 1, the usual place after a commitment.
PRIOR = 0.5


def bounded_sequence(values: Sequence[float | None], *, alpha: float = 0.05) -> Interval:
    """Bound the mean of draws in [0, 1] so that the bounds hold at every n at once.

    Estimand: μ, the common conditional mean of the draws.
    Assumptions: each draw has mean μ given the earlier ones; a missing one (None) may have been anything in [0, 1].
    Guarantee: finite-sample, P(some n at which the interval misses μ) ≤ alpha for an outcome known to be 0/1 or known
    to be graded; at most 2·alpha where a graded outcome first shows only 0 and 1 and is then found to be graded.
    Reference: Robbins 1970 (beta mixture, 0/1 draws); Waudby-Smith and Ramdas 2024 (betting, graded draws).
    """
    if not values:
        return Undefined(reason="no draws")
    seen = [value for value in values if value is not None]
    if not all(value in (0.0, 1.0) for value in seen):
        return betting_interval(values, alpha=alpha)
    n, ones = len(values), round(math.fsum(seen))
    missing = n - len(seen)
    lower = _mixture_lower(ones, n, alpha)
    upper = 1.0 - _mixture_lower(n - ones - missing, n, alpha)
    return Estimate(
        point=ones / len(seen) if seen else 0.5 * (lower + upper),
        lower=lower,
        upper=upper,
        alpha=alpha,
        n=n,
        method="beta-mixture confidence sequence" + (f", {missing} missing counted as 0 and as 1" if missing else ""),
        assumptions=(BOUNDED,),
    )


def log_mixture(ones: int, n: int) -> float:
    """Return the log probability of one sequence of n draws with so many ones under the beta mixture."""
    a, b = PRIOR + ones, PRIOR + n - ones
    start = 2.0 * math.lgamma(PRIOR) - math.lgamma(2.0 * PRIOR)
    return math.lgamma(a) + math.lgamma(b) - math.lgamma(a + b) - start


def _mixture_lower(ones: int, n: int, alpha: float) -> float:
    """Bisect for the smallest p whose likelihood ratio against the mixture stays below 1/alpha."""
    if ones == 0:
        return 0.0
    limit = log_mixture(ones, n) - math.log(1.0 / alpha)
    low, high = 0.0, ones / n
    for _ in range(50):
        p = 0.5 * (low + high)
        likelihood = ones * math.log(p) + (n - ones) * math.log1p(-p) if 0.0 < p < 1.0 else -math.inf
        low, high = (p, high) if likelihood < limit else (low, p)
    return low


def asymptotic_sequence(values: Sequence[float], *, alpha: float = 0.05, tuned_for: int = 500) -> Interval:
    """Bound a mean from below and above at every n at once, for draws without known range.

    Estimand: μ, the mean of the draws.
    Assumptions: independent draws with finite variance, many of them.
    Guarantee: asymptotic. For rare or unbalanced 0/1 outcomes it is invalid in practice (peeking every 50 rows the
    error was .62 at p = .01, .13 at p = .05): use `bounded_sequence` wherever the range is known.
    Reference: Waudby-Smith et al. 2021 (arXiv 2103.06476), two-sided normal mixture.

    Args:
        values: The draws, in order.
        alpha: Allowed miss probability over all times.
        tuned_for: n at which the bounds are tightest.
    """
    if len(values) < 2:
        return Undefined(reason="an asymptotic sequence needs at least two draws")
    x = np.asarray(values, dtype=float)
    t, rho2 = x.size, mixture_precision(alpha, tuned_for)
    half = float(x.std(ddof=1)) * math.sqrt(
        (t * rho2 + 1.0) / (t * t * rho2) * math.log((t * rho2 + 1.0) / (alpha * alpha))
    )
    middle = float(x.mean())
    return Estimate(
        point=middle,
        lower=middle - half,
        upper=middle + half,
        alpha=alpha,
        n=t,
        method="asymptotic confidence sequence (approximate)",
        assumptions=("independent draws with finite variance", "n is large"),
    )


def mixture_precision(alpha: float, tuned_for: int) -> float:
    """Return ρ² that makes the two-sided normal mixture (nearly) tightest at n = `tuned_for`."""
    return (-2.0 * math.log(alpha) + math.log(-2.0 * math.log(alpha) + 1.0)) / tuned_for
