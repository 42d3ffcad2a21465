"""Checks that refuse before or after an estimate, each a measured number held against a limit of `limits`."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from butfor.estimation import limits
from butfor.estimation.answers import Insufficient

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

    from butfor.estimation.answers import ReasonCode
    from butfor.estimation.columns import Columns


def refuse_arms(n_per_arm: Mapping[str, int]) -> Insufficient | None:
    """Refuse an arm without enough units for an average to be nearly normal."""
    for name, n in n_per_arm.items():
        if n < limits.SMALLEST_ARM:
            return Insufficient(
                reason_code="insufficient_evidence",
                sentence=f"the arm {name} has {n} units, fewer than {limits.SMALLEST_ARM}",
                diagnostics={f"units in arm {arm}": float(count) for arm, count in n_per_arm.items()},
            )
    return None


def refuse_constant(y: NDArray[np.float64]) -> Insufficient | None:
    """Refuse an outcome that never varies: any bound on its mean would come from rounding."""
    if y.max() > y.min():
        return None
    return Insufficient(
        reason_code="constant_outcome", sentence=f"the outcome is {y[0]:g} for every unit", diagnostics={}
    )


def refuse_few_events(y: NDArray[np.float64], arms: Mapping[str, NDArray[np.bool_]]) -> Insufficient | None:
    """Refuse a two-valued outcome whose rarer value is too rare in an arm."""
    low, high = y.min(), y.max()
    if not bool(((y == low) | (y == high)).all()):
        return None
    for name, rows in arms.items():
        high_count = int((y[rows] == high).sum())
        fewest = min(high_count, int(rows.sum()) - high_count)
        if fewest < limits.FEWEST_EVENTS:
            return Insufficient(
                reason_code="insufficient_evidence",
                sentence=f"the rarer outcome was seen {fewest} times in arm {name}, fewer than {limits.FEWEST_EVENTS}",
                diagnostics={f"rarer outcomes in arm {name}": float(fewest)},
            )
    return None


def refuse_overlap(
    propensity: NDArray[np.float64], own: NDArray[np.float64], name: str
) -> tuple[dict[str, float], Insufficient | None]:
    """Refuse where too many units could hardly have got an arm, or a few of its units carry the weight.

    Args:
        propensity: Estimated P(arm | x) before clipping, shape (n,).
        own: The same of the units in the arm, shape (units,).
        name: The arm, for the sentence.
    """
    clipped = float((propensity < limits.CLIP).mean())
    weights = 1.0 / np.maximum(own, limits.CLIP)
    ess = float(weights.sum() ** 2 / (weights**2).sum())
    share = ess / weights.size
    measured = {
        f"clipped share, arm {name}": clipped,
        f"effective sample size, arm {name}": ess,
        f"effective share, arm {name}": share,
    }
    if clipped > limits.MOST_CLIPPED:
        sentence = f"{clipped:.1%} of the units had a chance below {limits.CLIP:g} of arm {name}"
        return measured, _refusal("positivity", sentence, measured)
    if ess < limits.SMALLEST_ESS or share < limits.SMALLEST_ESS_SHARE:
        sentence = f"the {weights.size} units of arm {name} are worth {ess:.1f} after weighting"
        return measured, _refusal("positivity", sentence, measured)
    return measured, None


def refuse_order(columns: Columns, scores: NDArray[np.float64]) -> tuple[dict[str, float], Insufficient | None]:
    """Refuse scores that are correlated in time, or drift over the window, where times are known.

    Args:
        columns: The units; without times nothing is measured.
        scores: What is averaged, shape (n,).
    """
    if columns.time is None or columns.n < 3:
        return {}, None
    ordered = scores[np.argsort(columns.time, kind="stable")]
    centred = ordered - ordered.mean()
    square = float((centred**2).sum())
    if square <= 0.0:
        return {}, None
    n = centred.size
    position = np.arange(n) - (n - 1) / 2.0
    drift = float((position * centred).sum()) / math.sqrt(float((position**2).sum()) * square / n)
    lagged = float((centred[1:] * centred[:-1]).sum()) / square
    measured = {"autocorrelation": lagged, "drift over the window, z": drift}
    if abs(drift) > limits.DRIFT_Z:
        sentence = f"what is averaged drifts over the window (z = {drift:.1f}): older units speak of another world"
        return measured, _refusal("stale", sentence, measured)
    if (
        columns.clusters is None
        and lagged > limits.AUTOCORRELATION
        and lagged * math.sqrt(n) > limits.AUTOCORRELATION_Z
    ):
        sentence = f"neighbouring units are alike (autocorrelation {lagged:.2f}): name the clusters they come in"
        return measured, _refusal("autocorrelation", sentence, measured)
    return measured, None


def _refusal(code: ReasonCode, sentence: str, measured: dict[str, float]) -> Insufficient:
    return Insufficient(reason_code=code, sentence=sentence, diagnostics=measured)
