"""Effects where the treatment was assigned at random."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from butfor.errors import InputError
from butfor.estimation.aipw import Arms, cross_fitted
from butfor.estimation.answers import Effect, EffectEstimate, Insufficient
from butfor.estimation.basis import linear_basis
from butfor.estimation.cells import Cells
from butfor.estimation.diagnostics import refuse_arms, refuse_constant, refuse_order
from butfor.estimation.nuisances import SeriesNuisances
from butfor.estimation.questions import Contrast, Level
from butfor.estimation.scores import Spread, refuse_spread
from butfor.estimation.standardise import standardise

if TYPE_CHECKING:
    from collections.abc import Iterable

    from numpy.typing import NDArray

    from butfor.estimation.columns import Columns
    from butfor.estimation.questions import Target

ASSIGNED = "the treatment was assigned at random, to each unit by itself"


def difference_in_means(columns: Columns, *, target: Target, alpha: float = 0.05) -> Effect:
    """Compare arm means, or bound one.

    Estimand: E[Y | do(t*)] − E[Y | do(t0)], or the first alone.
    Assumptions: random assignment at one rate for all; independent units.
    Guarantee: asymptotic (Welch's t, Hall's correction for skewness, the exact binomial where a 0/1 outcome is rare).
    Reference: Welch 1947; Hall 1992.
    """
    arms = Arms.of(columns, target)
    if columns.treatment in columns.discrete and _zero_one(columns.y):
        return standardise(Cells.of(columns, ()), target=coded(columns, target), alpha=alpha)
    early = refuse_arms(arms.n) or refuse_constant(columns.y)
    if early is not None:
        return early
    outcomes = [columns.y[rows] for rows in arms.received]
    point = float(outcomes[0].mean()) - (float(outcomes[1].mean()) if len(outcomes) > 1 else 0.0)
    scores = np.zeros(columns.n)
    for rows, own in zip(arms.received, outcomes, strict=True):
        scores[rows] = own - own.mean()
    measured, refusal = refuse_order(columns, scores)
    if refusal is not None:
        return refusal
    spread = _welch(outcomes)
    found, refusal = refuse_spread(spread, float(columns.y.std()), None)
    if refusal is not None:
        return refusal
    return EffectEstimate(
        point=point,
        lower=spread.lower(point, alpha),
        upper=spread.upper(point, alpha),
        alpha=alpha,
        n_per_arm=arms.n,
        target="contrast" if isinstance(target, Contrast) else "level",
        estimator="difference in means (Welch)" if isinstance(target, Contrast) else "mean of the arm",
        assumptions=(ASSIGNED, "independent units"),
        diagnostics={**measured, **found},
        guarantee="asymptotic",
    )


def coded(columns: Columns, target: Target) -> Target:
    """Return a target with numbers in place of texts."""
    if isinstance(target, Level):
        return Level(at=columns.value(columns.treatment, target.at))
    to, against = (columns.value(columns.treatment, value) for value in (target.to, target.against))
    return Contrast(to=to, against=against)


def _zero_one(y: NDArray[np.float64]) -> bool:
    return bool(((y == 0.0) | (y == 1.0)).all() or ((y == 0.0) | (y == -1.0)).all())


def _welch(outcomes: list[NDArray[np.float64]]) -> Spread:
    """Satterthwaite's degrees of freedom with each arm's own kurtosis (Welch's where it is the normal's 3)."""
    total = third = uncertain = 0.0
    for sign, y in zip((1.0, -1.0), outcomes, strict=False):
        centred = y - y.mean()
        variance = float((centred**2).sum()) / (y.size - 1)
        if variance == 0.0:
            continue
        kurtosis = float((centred**4).mean()) / float((centred**2).mean()) ** 2
        total += variance / y.size
        third += sign * float((centred**3).mean()) / y.size**2
        uncertain += max(kurtosis - 1.0, 2.0) * (variance / y.size) ** 2 / (y.size - 1)
    if total == 0.0:
        return Spread(se=0.0, df=1.0, skew=0.0)
    return Spread(se=math.sqrt(total), df=2.0 * total**2 / uncertain, skew=third / total**1.5)


def bounded_difference(
    columns: Columns, *, target: Target, outcome_range: tuple[float, float], alpha: float = 0.05
) -> Effect:
    """Bound a difference of means of outcomes with a known range, at any number of units.

    Estimand: as `difference_in_means`.
    Assumptions: random assignment at one rate for all; independent units; the declared range.
    Guarantee: finite-sample. Each arm's own bound is at half the level (Clopper–Pearson for 0/1, betting for graded
    outcomes, see `confidence.bounded_mean`).
    Reference: Clopper and Pearson 1934; Waudby-Smith and Ramdas 2024.

    Args:
        columns: The units; where times are known, in their order.
        target: What is asked.
        outcome_range: Lowest and highest possible outcome, from the policy, never from the data.
        alpha: Level of each bound.

    Raises:
        InputError: An outcome lies outside the declared range.
    """
    # SciPy, which the exact bounds need, is loaded here: the warm path from cells does without.
    from butfor.confidence import Undefined, bounded_mean

    low, high = checked_range(columns.y, outcome_range)
    arms = Arms.of(columns, target)
    ordered = np.arange(columns.n) if columns.time is None else np.argsort(columns.time, kind="stable")
    scaled = ((columns.y - low) / (high - low))[ordered]
    # A two-sided interval at 2a has each side at a; a contrast spends alpha / 2 on either arm.
    each = 2.0 * alpha / len(arms.received)
    bounds = [bounded_mean(scaled[rows[ordered]].tolist(), alpha=each) for rows in arms.received]
    one, other = bounds[0], bounds[1] if len(bounds) > 1 else None
    if isinstance(one, Undefined) or isinstance(other, Undefined):
        return Insufficient(reason_code="insufficient_evidence", sentence="an arm has no units")
    shift, scale = (low, high - low) if other is None else (0.0, high - low)
    return EffectEstimate(
        point=shift + scale * (one.point - (other.point if other else 0.0)),
        lower=shift + scale * (one.lower - (other.upper if other else 0.0)),
        upper=shift + scale * (one.upper - (other.lower if other else 0.0)),
        alpha=alpha,
        n_per_arm=arms.n,
        target="contrast" if isinstance(target, Contrast) else "level",
        estimator=f"bounded means ({one.method})",
        assumptions=(ASSIGNED, "independent units", f"outcomes in [{low:g}, {high:g}]"),
        diagnostics={},
        guarantee="finite_sample",
    )


def checked_range(y: NDArray[np.float64], outcome_range: tuple[float, float]) -> tuple[float, float]:
    """Return a declared range, made sure of.

    Raises:
        InputError: The range is empty, or an outcome lies outside it.
    """
    low, high = outcome_range
    if not (math.isfinite(low) and math.isfinite(high) and low < high):
        raise InputError(f"the outcome range [{low!r}, {high!r}] is empty", fix="declare low < high, both finite")
    if y.size and (y.min() < low or y.max() > high):
        seen = f"[{y.min():g}, {y.max():g}]"
        raise InputError(f"outcomes in {seen} leave the declared range [{low:g}, {high:g}]", fix="correct either")
    return low, high


class KnownChances:
    """Least squares for the outcome, and the assignment probabilities of the design.

    Args:
        basis: Shape (n, functions).
        probability: P(the unit gets what it got), shape (n,); None for one rate for all.
    """

    def __init__(self, basis: NDArray[np.float64], probability: NDArray[np.float64] | None) -> None:
        self._series = SeriesNuisances(basis)
        self._probability = probability

    def outcome(self, fit: NDArray[np.intp], predict: NDArray[np.intp], y: NDArray[np.float64]) -> NDArray[np.float64]:
        """Fit by least squares."""
        return self._series.outcome(fit, predict, y)

    def propensity(
        self, fit: NDArray[np.intp], predict: NDArray[np.intp], treated: NDArray[np.bool_]
    ) -> NDArray[np.float64]:
        """Return the design's probabilities; units outside the arm, whose weight is 0, get 1."""
        if self._probability is None:
            return np.full(predict.size, treated[fit].mean())
        return np.where(treated[predict], self._probability[predict], 1.0)


def adjusted_difference(
    columns: Columns, adjust_for: Iterable[str], *, target: Target, alpha: float = 0.05, seed: int = 0
) -> Effect:
    """Compare arms after taking off what pre-treatment columns predict, with the design's own probabilities.

    Estimand: as `difference_in_means`.
    Assumptions: random assignment, with the known probabilities where they differ between units; the columns precede
    the treatment. The outcome need not be linear in them.
    Guarantee: asymptotic.
    Reference: Lin 2013; cross-fitted as in Wager et al. 2016.
    """
    arms = Arms.of(columns, target)
    early = refuse_arms(arms.n) or refuse_constant(columns.y)
    if early is not None:
        return early
    nuisances = KnownChances(linear_basis(columns, adjust_for), columns.probability)
    return cross_fitted(columns, nuisances, "assigned", (ASSIGNED,), target=target, alpha=alpha, seed=seed)
