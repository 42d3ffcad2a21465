"""Bounds that hold without identification: Manski's from the outcome's range, Balke and Pearl's from an instrument."""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING, TypeAlias

import numpy as np

from butfor.confidence import Undefined
from butfor.errors import InputError
from butfor.estimation.endpoints import Moments, Range, clustered_lower, mean_lower, mean_upper, moments_of
from butfor.estimation.limits import FEWEST_CLUSTERS

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import ArrayLike, NDArray

CONSISTENCY = "a unit's outcome depends on its own treatment only, and is the one observed under it"
INSTRUMENT = "the instrument is as good as assigned at random and acts on the outcome only through the treatment"
ROWS = "the rows are independent with one law"
CLUSTERS = "the clusters of rows are independent"


@dataclasses.dataclass(frozen=True, kw_only=True)
class Bounds:
    """An interval that contains the effect, and confidence bounds on its ends.

    Attributes:
        lower: The lower end, estimated, in units of the outcome.
        upper: The upper end, estimated.
        lower_bound: Below the lower end, and so below the effect, except with probability alpha.
        upper_bound: Above the upper end, and so above the effect, except with probability alpha.
        alpha: Allowed miss probability of each bound by itself.
        n: Rows behind it.
        method: The method in words.
        guarantee: ``finite-sample`` or ``asymptotic``.
        assumptions: What must hold.
    """

    lower: float
    upper: float
    lower_bound: float
    upper_bound: float
    alpha: float
    n: int
    method: str
    guarantee: str
    assumptions: tuple[str, ...]


PartialAnswer: TypeAlias = Bounds | Undefined


def manski_level(
    outcome: ArrayLike,
    treatment: ArrayLike,
    *,
    level: object,
    limits: Range,
    alpha: float = 0.05,
    clusters: ArrayLike | None = None,
) -> PartialAnswer:
    """Bound a level without any assumption on how the treatment was chosen.

    Estimand: E[Y | do(T = level)].
    Assumptions: consistency; Y within the declared range; independent rows (or clusters).
    Guarantee: the ends are sharp. Their confidence bounds are finite-sample; with clusters asymptotic.
    Reference: Manski, *Nonparametric bounds on treatment effects*, AER 1990.

    Args:
        outcome: Shape (n,), in the outcome's units.
        treatment: Shape (n,), any values.
        level: The value t* of the treatment.
        limits: The outcome's range as its owner declares it; never take it from these data.
        alpha: Allowed miss probability of each bound by itself.
        clusters: Cluster of each row, shape (n,); None where rows are independent.

    Returns:
        The bounds, or why there are none.

    Raises:
        InputError: Shapes differ, or an outcome is outside the declared range.
    """
    y, t = _columns(outcome, treatment, limits)
    if y.size == 0:
        return Undefined(reason="there are no rows")
    taken = t == level
    return _from_scores(
        np.where(taken, y, limits.low),
        np.where(taken, y, limits.high),
        limits=limits,
        alpha=alpha,
        clusters=clusters,
        method="Manski bounds on a level",
    )


def manski_contrast(
    outcome: ArrayLike,
    treatment: ArrayLike,
    *,
    level: object,
    reference: object,
    limits: Range,
    alpha: float = 0.05,
    clusters: ArrayLike | None = None,
) -> PartialAnswer:
    """Bound a contrast without any assumption on how the treatment was chosen.

    The lower end is never above 0 and the upper one never below: each row counts as its worst, level − reference ≤ 0.

    Estimand: E[Y | do(T = level)] − E[Y | do(T = reference)].
    Assumptions, guarantee, reference and errors: see `manski_level`.
    """
    y, t = _columns(outcome, treatment, limits)
    if level == reference:
        return Undefined(reason="level and reference are the same value")
    if y.size == 0:
        return Undefined(reason="there are no rows")
    treated, control = t == level, t == reference
    low, high = limits.low, limits.high
    return _from_scores(
        np.where(treated, y - high, np.where(control, low - y, low - high)),
        np.where(treated, y - low, np.where(control, high - y, high - low)),
        limits=Range(low=low - high, high=high - low),
        alpha=alpha,
        clusters=clusters,
        method="Manski bounds on a contrast",
    )


def manski_level_from_sums(arm: Moments, *, rows: int, limits: Range, alpha: float = 0.05) -> PartialAnswer:
    """Bound a level from the sums of its arm, as an aggregate query gives them.

    Estimand, assumptions, guarantee and reference: see `manski_level`.

    Args:
        arm: The sums of Y over the rows with T = level.
        rows: All rows, whatever their treatment.
        limits: The outcome's declared range.
        alpha: Allowed miss probability of each bound by itself.

    Raises:
        InputError: The arm has more rows than there are.
    """
    if not 0 <= arm.n <= rows:
        raise InputError(f"an arm of {arm.n} rows is not part of {rows}", fix="pass the number of all rows")
    if rows == 0:
        return Undefined(reason="there are no rows")
    rest = rows - arm.n
    low, high = (
        Moments(n=rows, total=arm.total + rest * end, squares=arm.squares + rest * end**2)
        for end in (limits.low, limits.high)
    )
    return _bounds(low, high, limits, alpha, method="Manski bounds on a level")


def instrument_level(
    outcome: ArrayLike,
    treatment: ArrayLike,
    instrument: ArrayLike,
    *,
    level: object,
    limits: Range,
    alpha: float = 0.05,
) -> PartialAnswer:
    """Bound a level with an instrument of any number of values: Manski's bound within each, the best of them.

    Estimand: E[Y | do(T = level)].
    Assumptions: consistency; Y within the declared range; the instrument is independent of Y's potential outcomes.
    Guarantee: valid, not always sharp; confidence bounds finite-sample, Bonferroni over the instrument's values.
    Reference: Robins 1989; Manski 1990.

    Args:
        outcome: Shape (n,).
        treatment: Shape (n,).
        instrument: Shape (n,), few distinct values.
        level: The value t* of the treatment.
        limits: The outcome's declared range.
        alpha: Allowed miss probability of each bound by itself.

    Raises:
        InputError: Shapes differ, or an outcome is outside the declared range.
    """
    y, t = _columns(outcome, treatment, limits)
    z = np.asarray(instrument)
    if z.shape != y.shape:
        raise InputError(f"the instrument has shape {z.shape}, the outcome {y.shape}", fix="pass one value a row")
    values = np.unique(z)
    if values.size < 2:
        return Undefined(reason="the instrument takes one value only")
    arms = [
        manski_level(y[z == each], t[z == each], level=level, limits=limits, alpha=alpha / values.size)
        for each in values
    ]
    known = [arm for arm in arms if isinstance(arm, Bounds)]
    best = Bounds(
        lower=max(arm.lower for arm in known),
        upper=min(arm.upper for arm in known),
        lower_bound=max(arm.lower_bound for arm in known),
        upper_bound=min(arm.upper_bound for arm in known),
        alpha=alpha,
        n=y.size,
        method="natural instrument bounds on a level",
        guarantee="finite-sample",
        assumptions=(CONSISTENCY, INSTRUMENT, ROWS),
    )
    return _unless_crossed(best)


# Each lower bound on E[Y|do(1)] − E[Y|do(0)] as a sum of ± P(y, t | z): entries (sign, y, t, z), and a constant.
# Pearl, *Causality* (2009), equation 8.14a, in the printed order; the upper bounds are these for 1 − Y, negated.
_TERMS: Sequence[tuple[float, Sequence[tuple[int, int, int, int]]]] = (
    (-1.0, ((1, 1, 1, 1), (1, 0, 0, 0))),
    (-1.0, ((1, 1, 1, 0), (1, 0, 0, 1))),
    (0.0, ((1, 1, 1, 0), (-1, 1, 1, 1), (-1, 1, 0, 1), (-1, 0, 1, 0), (-1, 1, 0, 0))),
    (0.0, ((1, 1, 1, 1), (-1, 1, 1, 0), (-1, 1, 0, 0), (-1, 0, 1, 1), (-1, 1, 0, 1))),
    (0.0, ((-1, 0, 1, 1), (-1, 1, 0, 1))),
    (0.0, ((-1, 0, 1, 0), (-1, 1, 0, 0))),
    (0.0, ((1, 0, 0, 1), (-1, 0, 1, 1), (-1, 1, 0, 1), (-1, 0, 1, 0), (-1, 0, 0, 0))),
    (0.0, ((1, 0, 0, 0), (-1, 0, 1, 0), (-1, 1, 0, 0), (-1, 0, 1, 1), (-1, 0, 0, 1))),
)


def balke_pearl(counts: ArrayLike, *, alpha: float = 0.05) -> PartialAnswer:
    """Bound the contrast of a binary treatment on a binary outcome with a binary instrument.

    Estimand: E[Y | do(T = 1)] − E[Y | do(T = 0)], Y in {0, 1}.
    Assumptions: consistency; the instrument is independent of all hidden causes and acts only through T. No
    monotonicity.
    Guarantee: the ends are sharp; their confidence bounds are finite-sample (each of eight terms at alpha/8).
    Reference: Balke and Pearl, *Bounds on treatment effects from studies with imperfect compliance*, JASA 1997.

    Args:
        counts: Rows by instrument, treatment and outcome, shape (2, 2, 2), integers.
        alpha: Allowed miss probability of each bound by itself.

    Returns:
        The bounds, or that an arm of the instrument is empty, or that the data refute the instrument.

    Raises:
        InputError: The shape differs, or a count is negative or no integer.
    """
    table = np.asarray(counts, dtype=float)
    if table.shape != (2, 2, 2) or np.any(table < 0) or np.any(table != np.floor(table)):
        raise InputError("the counts are not a table [instrument, treatment, outcome] of 2 × 2 × 2 whole numbers")
    if np.any(table.sum(axis=(1, 2)) == 0):
        return Undefined(reason="the instrument takes one value only")
    lower, lower_bound = _largest_term(table, alpha)
    upper, upper_bound = _largest_term(table[:, :, ::-1], alpha)
    return _unless_crossed(
        Bounds(
            lower=lower,
            upper=-upper,
            lower_bound=lower_bound,
            upper_bound=-upper_bound,
            alpha=alpha,
            n=int(table.sum()),
            method="Balke–Pearl bounds for a binary instrument",
            guarantee="finite-sample",
            assumptions=(CONSISTENCY, INSTRUMENT, ROWS),
        )
    )


def _largest_term(table: NDArray[np.float64], alpha: float) -> tuple[float, float]:
    """Return the largest of the eight terms, and the largest of their lower bounds."""
    terms = [_term(table, constant, entries, alpha / len(_TERMS)) for constant, entries in _TERMS]
    return max(value for value, _ in terms), max(-1.0, *(bound for _, bound in terms))


def _term(
    table: NDArray[np.float64], constant: float, entries: Sequence[tuple[int, int, int, int]], alpha: float
) -> tuple[float, float]:
    """Estimate one term, and bound it from below: each arm of the instrument is a sample of a bounded score."""
    score = np.zeros((2, 2, 2))
    for sign, y, t, z in entries:
        score[z, t, y] = sign
    arms = [z for z in (0, 1) if score[z].any()]
    value = bound = constant
    for z in arms:
        counts, scores = table[z].ravel(), score[z].ravel()
        sums = Moments(n=int(counts.sum()), total=float(counts @ scores), squares=float(counts @ scores**2))
        low, high = float(scores.min()), float(scores.max())
        # Which values a score can take follows from the term, not from the counts.
        limits = Range(low=low, high=high, two_valued=bool(np.all((scores == low) | (scores == high))))
        value += sums.mean
        bound += mean_lower(sums, limits, alpha=alpha / len(arms))
    return value, bound


def _unless_crossed(bounds: Bounds) -> PartialAnswer:
    """Refuse bounds whose confidence bounds cross: no effect is compatible with the instrument's assumptions."""
    if bounds.lower_bound > bounds.upper_bound:
        return Undefined(
            reason=f"the data refute the instrument: its lower bound {bounds.lower_bound:.3g} is above its upper bound "
            f"{bounds.upper_bound:.3g}"
        )
    return bounds


def _columns(
    outcome: ArrayLike, treatment: ArrayLike, limits: Range
) -> tuple[NDArray[np.float64], NDArray[np.generic]]:
    y, t = np.asarray(outcome, dtype=float), np.asarray(treatment)
    if y.ndim != 1 or t.shape != y.shape:
        raise InputError(f"outcome and treatment have shapes {y.shape} and {t.shape}", fix="pass one value a row")
    if not limits.holds(y):
        kind = "one of its two declared values" if limits.two_valued else f"in [{limits.low:g}, {limits.high:g}]"
        allowed = (
            (y == limits.low) | (y == limits.high) if limits.two_valued else (y >= limits.low) & (y <= limits.high)
        )
        bad = int(np.argmin(allowed))
        raise InputError(
            f"an outcome is not {kind}", where=f"row {bad + 1}", fix="correct the declared range or the row"
        )
    return y, t


def _from_scores(
    low: NDArray[np.float64],
    high: NDArray[np.float64],
    *,
    limits: Range,
    alpha: float,
    clusters: ArrayLike | None,
    method: str,
) -> PartialAnswer:
    if clusters is None:
        return _bounds(moments_of(low), moments_of(high), limits, alpha, method=method)
    _, numbers = np.unique(np.asarray(clusters), return_inverse=True)
    if numbers.shape != low.shape:
        raise InputError("clusters and rows differ in number", fix="pass one cluster a row")
    count = int(numbers.max()) + 1
    if count < FEWEST_CLUSTERS:
        return Undefined(reason=f"there are {count} clusters, fewer than {FEWEST_CLUSTERS}")
    return Bounds(
        lower=float(low.mean()),
        upper=float(high.mean()),
        lower_bound=clustered_lower(low, numbers, limits, alpha=alpha),
        upper_bound=-clustered_lower(-high, numbers, Range(low=-limits.high, high=-limits.low), alpha=alpha),
        alpha=alpha,
        n=low.size,
        method=f"{method}, clustered",
        guarantee="asymptotic",
        assumptions=(CONSISTENCY, CLUSTERS),
    )


def _bounds(low: Moments, high: Moments, limits: Range, alpha: float, *, method: str) -> Bounds:
    return Bounds(
        lower=low.mean,
        upper=high.mean,
        lower_bound=mean_lower(low, limits, alpha=alpha),
        upper_bound=mean_upper(high, limits, alpha=alpha),
        alpha=alpha,
        n=low.n,
        method=method,
        guarantee="finite-sample",
        assumptions=(CONSISTENCY, ROWS),
    )
