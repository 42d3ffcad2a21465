"""Effects through an instrument: two-stage least squares for the point, Anderson–Rubin for the bounds."""

from __future__ import annotations

import math
import sys
from typing import TYPE_CHECKING

import numpy as np

from butfor.estimation import limits
from butfor.estimation.answers import Effect, EffectEstimate, Insufficient
from butfor.estimation.basis import linear_basis
from butfor.estimation.diagnostics import refuse_constant, refuse_order
from butfor.estimation.quantiles import t_quantile
from butfor.estimation.questions import Contrast
from butfor.estimation.scores import refuse_spread, spread_of
from butfor.identification import ASSUMPTIONS

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from butfor.estimation.columns import Columns
    from butfor.estimation.questions import Target
    from butfor.identification import Instrument

FEWEST_OVER = 10
# Stands for no bound at all.
_LARGEST = sys.float_info.max / 4.0


def instrumented(columns: Columns, argument: Instrument, *, target: Target, alpha: float = 0.05) -> Effect:
    """Bound an effect by the slopes β for which y − βt is not seen to be correlated with the instrument.

    Estimand: under `linear_effect` the effect for everyone; under `monotonicity` the effect among units whose treatment
    the instrument moves. Times t* − t0.
    Assumptions: the instrument's, one of the two above, covariates enter linearly; independent units (or clusters).
    Guarantee: asymptotic, and valid however weak the instrument is. Where no slope can be excluded the bounds are the
    largest finite numbers: refusing instead would leave, among what is answered, the samples in which a weak instrument
    looks strong by chance (40% of those missed), and no rule avoids that (Gleser and Hwang 1987).
    Reference: Anderson and Rubin 1949; heteroscedasticity-robust as in Chernozhukov and Hansen 2008.
    """
    refusal = _refuse(columns, argument, target)
    if refusal is not None:
        return refusal
    assert isinstance(target, Contrast)
    z, t, y = _without(columns, argument)
    first = z * t
    if not float((z**2).sum()) > 1e-9 * columns.n * float(columns.table[argument.instrument].var()):
        return Insufficient(reason_code="collinear", sentence="the covariates determine the instrument")
    if first.sum() == 0.0:
        return Insufficient(reason_code="weak_instrument", sentence="the instrument does not move the treatment")
    slope = float(z @ y) / float(first.sum())
    strength = _strength(z, t, columns.clusters)
    measured = {"first-stage F": strength}
    scores = columns.n * z * (y - slope * t) / abs(float(first.sum()))
    in_order, refusal = refuse_order(columns, scores)
    if refusal is not None:
        return refusal
    spread = spread_of(scores, clusters=columns.clusters, fitted=0)
    found, refusal = refuse_spread(spread, float(columns.y.std()), columns.clusters)
    measured |= {**in_order, **found}
    if refusal is not None:
        return refusal
    # Where the first stage's sign is in doubt a miss may lie on either side.
    level = alpha if strength >= limits.DOUBTFUL_F else alpha / 2.0
    critical = t_quantile(1.0 - level, float(min(columns.n, max(1, math.floor(spread.df)))))
    ends = _anderson_rubin(z, t, y, columns.clusters, critical)
    if ends is None:
        nothing = (-_LARGEST, _LARGEST)
        return _estimate(columns, argument, target, slope, nothing, alpha, measured)
    # Where the estimate itself is skewed the wider of the two answers.
    ends = (min(ends[0], spread.lower(slope, alpha)), max(ends[1], spread.upper(slope, alpha)))
    return _estimate(columns, argument, target, slope, ends, alpha, measured)


def _estimate(
    columns: Columns,
    argument: Instrument,
    target: Contrast,
    slope: float,
    ends: tuple[float, float],
    alpha: float,
    measured: dict[str, float],
) -> EffectEstimate:
    to, against = (columns.value(columns.treatment, value) for value in (target.to, target.against))
    step = to - against
    ends = (max(ends[0], -_LARGEST / abs(step)), min(ends[1], _LARGEST / abs(step)))
    lower, upper = sorted((step * ends[0], step * ends[1]))
    return EffectEstimate(
        point=step * slope,
        lower=lower,
        upper=upper,
        alpha=alpha,
        n_per_arm={"all": columns.n},
        target="contrast",
        estimator="two-stage least squares, Anderson–Rubin bounds",
        assumptions=(
            "independent units" if columns.clusters is None else "independent clusters",
            ASSUMPTIONS[argument.assumption],
            *(("covariates enter linearly",) if argument.adjust_for else ()),
        ),
        diagnostics=measured,
        guarantee="asymptotic",
    )


def _refuse(columns: Columns, argument: Instrument, target: Target) -> Insufficient | None:
    columns.require([argument.instrument, *argument.adjust_for])
    if not isinstance(target, Contrast):
        return Insufficient(reason_code="unsupported", sentence="an instrument identifies a contrast, not a level")
    z = columns.table[argument.instrument]
    if (z == z[0]).all():
        return Insufficient(reason_code="weak_instrument", sentence="the instrument is constant")
    if columns.n - len(argument.adjust_for) - 2 < FEWEST_OVER:
        return Insufficient(reason_code="insufficient_evidence", sentence=f"{columns.n} units are too few")
    values, counts = np.unique(z, return_counts=True)
    if values.size == 2 and counts.min() < limits.SMALLEST_ARM:
        sentence = f"the instrument takes its rarer value {counts.min()} times, fewer than {limits.SMALLEST_ARM}"
        return Insufficient(reason_code="insufficient_evidence", sentence=sentence)
    return refuse_constant(columns.y)


def _without(
    columns: Columns, argument: Instrument
) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.float64]]:
    """Return instrument, treatment and outcome without what the covariates predict linearly."""
    q, _ = np.linalg.qr(linear_basis(columns, argument.adjust_for))
    parts = [columns.table[argument.instrument], columns.t, columns.y]
    z, t, y = (part - q @ (q.T @ part) for part in parts)
    return z, t, y


def _strength(z: NDArray[np.float64], t: NDArray[np.float64], clusters: NDArray[np.int64] | None) -> float:
    """Return the robust first-stage F of one instrument."""
    gamma = float(z @ t) / float((z**2).sum())
    moved = _summed(z * (t - gamma * z), clusters)
    variance = float((moved**2).sum())
    return float(z @ t) ** 2 / variance if variance > 0.0 else math.inf


def _summed(part: NDArray[np.float64], clusters: NDArray[np.int64] | None) -> NDArray[np.float64]:
    if clusters is None:
        return part
    return np.bincount(clusters, weights=part).astype(np.float64)


def _anderson_rubin(
    z: NDArray[np.float64],
    t: NDArray[np.float64],
    y: NDArray[np.float64],
    clusters: NDArray[np.int64] | None,
    critical: float,
) -> tuple[float, float] | None:
    """Return the slopes that are not excluded at |statistic| ≤ critical; None where they are not an interval.

    The statistic's square is a ratio of quadratics in β, so the set is where one quadratic is not positive:
    (Σ zy − βΣ zt)² ≤ c² Σ (zy − β zt − mean)², residuals under the null.
    """
    a, b = _summed(z * y, clusters), _summed(z * t, clusters)
    # Each end of the interval is a one-sided test: in an interval it is where the statistic is +c or −c.
    top_y, top_t = float(a.sum()), float(b.sum())
    da, db = a - a.mean(), b - b.mean()
    n = a.size
    c2 = critical**2 * n / max(1, n - 1)
    two = top_t**2 - c2 * float(db @ db)
    one = -2.0 * (top_y * top_t - c2 * float(da @ db))
    none = top_y**2 - c2 * float(da @ da)
    inside = one**2 - 4.0 * two * none
    if two <= 0.0 or inside <= 0.0:
        return None
    root = math.sqrt(inside)
    return (-one - root) / (2.0 * two), (-one + root) / (2.0 * two)
