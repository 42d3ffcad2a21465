"""From one score a unit to one-sided bounds on their mean."""

from __future__ import annotations

import dataclasses
import math
from typing import TYPE_CHECKING

import numpy as np

from butfor.estimation import limits
from butfor.estimation.answers import Insufficient
from butfor.estimation.quantiles import t_quantile

if TYPE_CHECKING:
    from numpy.typing import NDArray


@dataclasses.dataclass(frozen=True, kw_only=True)
class Spread:
    """How an estimate varies.

    Attributes:
        se: Standard error.
        df: Degrees of freedom of its square.
        skew: Skewness of the estimate itself, that is of one score divided by √n.
    """

    se: float
    df: float
    skew: float

    def lower(self, point: float, alpha: float) -> float:
        """Return a lower bound at level alpha."""
        return point - self.se * self._reach(alpha)

    def upper(self, point: float, alpha: float) -> float:
        """Return an upper bound at level alpha."""
        return point + self.se * dataclasses.replace(self, skew=-self.skew)._reach(alpha)

    def _reach(self, alpha: float) -> float:
        """Standard errors between point and bound: the larger of Student's and Hall's.

        Estimand: the (1 − alpha)-quantile of (estimate − truth) / se.
        Assumptions: independent scores with finite third moment.
        Guarantee: asymptotic, second order where skewness matters. Taking the larger costs width, never coverage.
        Reference: Hall 1992, On the removal of skewness by transformation, JRSS B 54.
        """
        t = t_quantile(1.0 - alpha, _coarse(self.df))
        g = self.skew
        if abs(g) < 1e-9:
            return t
        inside = 1.0 + g * (t - g / 6.0)
        hall = 3.0 / g * (math.copysign(abs(inside) ** (1.0 / 3.0), inside) - 1.0)
        return max(t, hall)


def _coarse(df: float) -> float:
    """Round degrees of freedom down to three digits: a quantile is a millisecond, and the next one is remembered."""
    digits = 10.0 ** (math.floor(math.log10(df)) - 2)
    return math.floor(df / digits) * digits


def spread_of(scores: NDArray[np.float64], *, clusters: NDArray[np.int64] | None, fitted: int) -> Spread:
    """Measure how the mean of scores varies.

    Args:
        scores: One a unit, shape (n,).
        clusters: Code of each unit's cluster, or None.
        fitted: Parameters that were fitted to the same units; they widen the standard error.

    The degrees of freedom are those of a χ² with the variance that the mean square has: 2m / (kurtosis − 1).
    """
    n = scores.size
    centred = scores - scores.mean()
    if clusters is not None:
        centred = np.bincount(clusters, weights=centred)
    m = centred.size
    square = centred * centred
    second, third, fourth = float(square.sum()), float((square * centred).sum()), float((square * square).sum())
    if second <= 0.0:
        return Spread(se=0.0, df=1.0, skew=0.0)
    kurtosis = fourth * m / second**2
    room = max(1.0, n - fitted)
    se = math.sqrt(second) / n * math.sqrt(m / max(1, m - 1) * n / room)
    df = min(m - 1.0, 2.0 * m / max(kurtosis - 1.0, 1e-9))
    return Spread(se=se, df=max(df, 1.0), skew=third / second**1.5)


def refuse_spread(
    spread: Spread, scale: float, clusters: NDArray[np.int64] | None
) -> tuple[dict[str, float], Insufficient | None]:
    """Refuse where a handful of units decide, or where nothing varies.

    Args:
        spread: The spread of the estimate.
        scale: Standard deviation of the outcome: what a vanishing standard error is compared with.
        clusters: As in `spread_of`.
    """
    measured = {"degrees of freedom": spread.df, "skewness of the estimate": spread.skew}
    if clusters is not None:
        measured["clusters"] = float(clusters.max() + 1)
        if measured["clusters"] < limits.FEWEST_CLUSTERS:
            return measured, Insufficient(
                reason_code="insufficient_evidence",
                sentence=f"there are {measured['clusters']:.0f} clusters, fewer than {limits.FEWEST_CLUSTERS}",
                diagnostics=measured,
            )
    if not spread.se > 1e-9 * scale:
        return measured, Insufficient(
            reason_code="separation",
            sentence="the outcome is a function of the other columns, so no error can be estimated",
            diagnostics=measured,
        )
    if spread.df < limits.FEWEST_DF or abs(spread.skew) > limits.MOST_SKEW:
        return measured, Insufficient(
            reason_code="leverage",
            sentence=(
                f"a handful of units decide: {spread.df:.1f} degrees of freedom (limit {limits.FEWEST_DF:g}), "
                f"skewness {spread.skew:.2f} (limit ±{limits.MOST_SKEW:g})"
            ),
            diagnostics=measured,
        )
    return measured, None
