"""Bounds for rare 0/1 outcomes: exact binomial bounds at the effective sample size."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from butfor.estimation import limits
from butfor.estimation.quantiles import beta_quantile, normal_quantile

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from butfor.estimation.cells import Cells


def few_event_bounds(
    cells: Cells, arms: list[str], share: NDArray[np.float64], alpha: float, among: float
) -> tuple[float, float] | None:
    """Bound a standardised proportion, or a difference of two, where an arm has few events or few non-events.

    Estimand: Σ_z P(z) p_az, or the difference of two.
    Assumptions: independent units.
    Guarantee: heuristic for unequal weights (exact where all are equal and a single level is asked); simulated it keeps
    its level at every rate, which the normal bound does not.
    Reference: Korn and Graubard 1998 (effective sample size); Zou and Donner 2008 (MOVER).

    Args:
        cells: Counts and sums of the outcome.
        arms: The arms, t* first, as printed numbers.
        share: P(z), shape (strata,).
        alpha: Level of each bound.
        among: Variance that the estimated shares add.

    Returns:
        (lower, upper); None where the outcome is not 0/1 or −1/0, or no arm has few events.
    """
    sign = two_valued(cells)
    if sign == 0:
        return None
    places = [int(np.flatnonzero([f"{value:g}" == arm for value in cells.arms])[0]) for arm in arms]
    events = [np.abs(cells.total[:, place]).astype(float) for place in places]
    units = [cells.n[:, place].astype(float) for place in places]
    rarest = min(min(k.sum(), (n - k).sum()) for k, n in zip(events, units, strict=True))
    if rarest >= limits.FEW_EVENTS:
        return None
    one, *other = [_proportion(k, n, share, alpha) for k, n in zip(events, units, strict=True)]
    lower, upper = _mover(one, other[0], among, alpha) if other else (one[1], one[2])
    return (lower, upper) if sign > 0 else (-upper, -lower)


def two_valued(cells: Cells) -> int:
    """Return 1 for 0/1, −1 for −1/0, 0 for anything else: y² = |y| for whole y only where it is −1, 0 or 1."""
    if cells.unit != 1.0:
        return 0
    if (cells.squares == cells.total).all():
        return 1
    return -1 if (cells.squares == -cells.total).all() else 0


def _proportion(
    events: NDArray[np.float64], units: NDArray[np.float64], share: NDArray[np.float64], alpha: float
) -> tuple[float, float, float]:
    """Return a standardised proportion with its lower and upper bound."""
    rate = events / units
    p = float((share * rate).sum())
    size = 1.0 / float((share**2 / units).sum())
    variance = float((share**2 * rate * (1.0 - rate) / units).sum())
    # Where the events sit in heavily weighted strata, the units are worth less than their weights alone say.
    size = min(size, p * (1.0 - p) / variance) if variance > 0.0 else size
    k = p * size
    lower = beta_quantile(alpha, k, size - k + 1.0) if k > 0.0 else 0.0
    upper = beta_quantile(1.0 - alpha, k + 1.0, size - k) if size > k else 1.0
    return p, lower, upper


def _mover(
    one: tuple[float, float, float], other: tuple[float, float, float], among: float, alpha: float
) -> tuple[float, float]:
    gap = one[0] - other[0]
    shares = normal_quantile(1.0 - alpha) ** 2 * among
    below = math.sqrt((one[0] - one[1]) ** 2 + (other[2] - other[0]) ** 2 + shares)
    above = math.sqrt((one[2] - one[0]) ** 2 + (other[0] - other[1]) ** 2 + shares)
    return gap - below, gap + above
