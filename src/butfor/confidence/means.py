"""Betting intervals for the mean of draws in [0, 1]: finite-sample, and valid at every look."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from butfor.confidence.betting import lower_betting_bound
from butfor.confidence.estimates import Estimate, Interval, Undefined
from butfor.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Sequence

BOUNDED = "the draws are independent with one mean, each in [0, 1]"


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
