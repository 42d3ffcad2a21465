"""Augmented inverse propensity weighting, cross-fitted."""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING

import numpy as np

from butfor.estimation import limits
from butfor.estimation.answers import Effect, EffectEstimate, Insufficient
from butfor.estimation.basis import dictionary, knots_for, linear_basis, series_basis
from butfor.estimation.diagnostics import (
    refuse_arms,
    refuse_constant,
    refuse_few_events,
    refuse_order,
    refuse_overlap,
)
from butfor.estimation.folds import fold_count, folds_of
from butfor.estimation.nuisances import SeriesNuisances
from butfor.estimation.questions import Contrast
from butfor.estimation.scores import refuse_spread, spread_of
from butfor.estimation.sparse import SparseNuisances

if TYPE_CHECKING:
    from collections.abc import Iterable

    from numpy.typing import NDArray

    from butfor.estimation.columns import Columns
    from butfor.estimation.nuisances import Nuisances
    from butfor.estimation.questions import Target

# Four knots missed a curve at n = 500 9% of the time (nominal 5%), six 6.7%. A bound that assumes straight lines must
# be asked for by name.
FEWEST_KNOTS = 5
# Units of the smaller arm for each picked function. At 9, products among 20 covariates biased 2,000 units by a third of
# a standard error; at 12 nothing was seen.
UNITS_A_PICKED_FUNCTION = 12
# A sparse series has room for every covariate as it is and for so many curves and products, and for so many in all:
# with 10 covariates and 500 units, where it has that, bounds kept their level.
FREE_ROOM = 8
SMALLEST_ROOM = 18
# However many the units: a whole series of 60 covariates has 2,800 functions, 2 GB and minutes for 100,000 units.
MOST_WHOLE_COVARIATES = 20
MOST_PICKED_FUNCTIONS = 300
# A residual, in standard deviations of the outcome, below which only rounding and the ridge are left; half of them may.
SMALLEST_RESIDUAL = 1e-4


@dataclasses.dataclass(frozen=True, kw_only=True, eq=False)
class Arms:
    """The arms of a question, t* first.

    Attributes:
        names: As printed.
        received: Units in each, each shape (n,).
    """

    names: tuple[str, ...]
    received: tuple[NDArray[np.bool_], ...]

    @classmethod
    def of(cls, columns: Columns, target: Target) -> Arms:
        """Find the arms that a target compares."""
        wanted = (target.to, target.against) if isinstance(target, Contrast) else (target.at,)
        received = tuple(columns.t == columns.value(columns.treatment, value) for value in wanted)
        return cls(names=tuple(_printed(value) for value in wanted), received=received)

    @property
    def n(self) -> dict[str, int]:
        """Units by arm."""
        return {name: int(rows.sum()) for name, rows in zip(self.names, self.received, strict=True)}

    def smaller(self, columns: Columns) -> int:
        """Count the independent units of the smaller arm."""
        return min(columns.independent(rows) for rows in self.received)


def _printed(value: float | str) -> str:
    return value if isinstance(value, str) else f"{float(value):g}"


def aipw_linear(
    columns: Columns, adjust_for: Iterable[str], *, target: Target, alpha: float = 0.05, seed: int = 0
) -> Effect:
    """Estimate with outcome and log-odds that are linear in the covariates.

    Estimand: E[Y | do(t*)] − E[Y | do(t0)], or the first alone.
    Assumptions: the covariates close every back-door path; independent units (or clusters); overlap; the outcome is
    linear in the covariates within each arm *or* the log-odds of the arm are.
    Guarantee: asymptotic.
    Reference: Robins, Rotnitzky and Zhao 1994; Chernozhukov et al. 2018.
    """
    names = tuple(adjust_for)
    early = refuse_early(columns, target)
    if early is not None:
        return early
    nuisances = SeriesNuisances(linear_basis(columns, names))
    assumption = "outcome or log-odds of treatment linear in the covariates"
    return cross_fitted(columns, nuisances, "linear", (assumption,), target=target, alpha=alpha, seed=seed)


def aipw_series(
    columns: Columns, adjust_for: Iterable[str], *, target: Target, alpha: float = 0.05, seed: int = 0
) -> Effect:
    """Estimate with a piecewise linear series that is as rich as the smaller arm allows.

    Where the arm is too small for every function of every covariate, as many are picked as it allows, by what they
    explain of treatment and outcome in the other folds.

    Estimand: as `aipw_linear`.
    Assumptions: the covariates close every back-door path; independent units (or clusters); overlap; outcome and
    log-odds are smooth in each covariate and have no interaction beyond pairwise products; where functions are picked,
    so few of them come close.
    Guarantee: asymptotic.
    Reference: as `aipw_linear`; Belloni, Chernozhukov and Hansen 2014 for picking.
    """
    names = tuple(adjust_for)
    early = refuse_early(columns, target)
    if early is not None:
        return early
    nuisances, kind, assumption = _series(columns, names, Arms.of(columns, target).smaller(columns))
    if isinstance(nuisances, Insufficient):
        return nuisances
    return cross_fitted(columns, nuisances, kind, (assumption,), target=target, alpha=alpha, seed=seed)


def _series(
    columns: Columns, names: tuple[str, ...], smaller: int
) -> tuple[SeriesNuisances | SparseNuisances | Insufficient, str, str]:
    """Return the whole series where the smaller arm supports it, else a sparse one, with its name and assumption."""
    knots = knots_for(columns, names, smaller_arm=smaller)
    if knots >= FEWEST_KNOTS and len(names) <= MOST_WHOLE_COVARIATES:
        assumption = "outcome and log-odds of treatment smooth in each covariate, interactions pairwise products"
        return SeriesNuisances(series_basis(columns, names, smaller_arm=smaller)), "series", assumption
    picked = dictionary(columns, names)
    room = min(MOST_PICKED_FUNCTIONS, smaller // UNITS_A_PICKED_FUNCTION)
    needed = max(SMALLEST_ROOM, picked.plain.shape[1] + FREE_ROOM)
    if room >= needed:
        assumption = (
            f"outcome and log-odds of treatment close to sums of {room} functions of one covariate or products of two"
        )
        return SparseNuisances(picked, columns.t, room), "sparse series", assumption
    what = "units" if columns.clusters is None else "clusters"
    sentence = (
        f"{smaller} {what} in the smaller arm allow {room} functions of {len(names)} covariates, fewer than {needed}: "
        "too few to rule out a curve"
    )
    measured = {f"{what} in the smaller arm": float(smaller), "functions": float(room)}
    return Insufficient(reason_code="insufficient_evidence", sentence=sentence, diagnostics=measured), "", ""


def refuse_early(columns: Columns, target: Target) -> Insufficient | None:
    """Refuse too few units or events in an arm, and an outcome that never varies."""
    arms = Arms.of(columns, target)
    return (
        refuse_arms(arms.n)
        or refuse_constant(columns.y)
        or refuse_few_events(columns.y, dict(zip(arms.names, arms.received, strict=True)))
    )


def cross_fitted(
    columns: Columns,
    nuisances: Nuisances,
    kind: str,
    assumptions: tuple[str, ...],
    *,
    target: Target,
    alpha: float,
    seed: int,
) -> Effect:
    """Average cross-fitted scores m_t(x) + 1{T = t}/e_t(x)·(y − m_t(x)), or differences of two arms' scores.

    Args:
        columns: The units.
        nuisances: Models of outcome and propensity.
        kind: What the nuisances are, in a word.
        assumptions: What they assume.
        target: What is asked.
        alpha: Level of the bound.
        seed: Of the folds.
    """
    arms = Arms.of(columns, target)
    scores, measured, refusal = _scores(columns, arms, nuisances, seed)
    if refusal is not None:
        return refusal
    in_order, refusal = refuse_order(columns, scores)
    measured |= in_order
    if refusal is not None:
        return refusal
    spread = spread_of(scores, clusters=columns.clusters, fitted=0)
    found, refusal = refuse_spread(spread, float(columns.y.std()), columns.clusters)
    if refusal is not None:
        return refusal
    point = float(scores.mean())
    return EffectEstimate(
        point=point,
        lower=spread.lower(point, alpha),
        upper=spread.upper(point, alpha),
        alpha=alpha,
        n_per_arm=arms.n,
        target="contrast" if isinstance(target, Contrast) else "level",
        estimator=f"cross-fitted AIPW, {kind} nuisances",
        assumptions=(
            "independent units" if columns.clusters is None else "independent clusters",
            "overlap",
            *assumptions,
        ),
        diagnostics={**measured, **found},
        guarantee="asymptotic",
    )


def _scores(
    columns: Columns, arms: Arms, nuisances: Nuisances, seed: int
) -> tuple[NDArray[np.float64], dict[str, float], Insufficient | None]:
    y, n = columns.y, columns.n
    numbered = np.zeros(n, dtype=np.int64)
    for number, rows in enumerate(arms.received, start=1):
        numbered[rows] = number
    count = fold_count(n)
    fold = folds_of(numbered, columns.clusters, count, seed).astype(np.int8)
    outside = [fold != k for k in range(count)]
    within = [np.flatnonzero(~others) for others in outside]
    # Of two folds each is fitted on the other, and its rows are taken once.
    rest = within[::-1] if count == 2 else [np.flatnonzero(others) for others in outside]
    places = list(zip(rest, within, strict=True))
    smallest_residual = SMALLEST_RESIDUAL * float(y.std())
    scores = np.zeros(n)
    measured: dict[str, float] = {}
    first: NDArray[np.float64] | None = None
    for number, (name, received) in enumerate(zip(arms.names, arms.received, strict=True)):
        outcome, chance = np.empty(n), np.empty(n)
        for others, (_, predict) in zip(outside, places, strict=True):
            fit = np.flatnonzero(received & others)
            if fit.size < 2:
                return scores, measured, _empty_fold(name)
            outcome[predict] = nuisances.outcome(fit, predict, y)
        # With two arms in all, the second one's chance is what the first one's leaves.
        if first is not None and bool((numbered > 0).all()):
            chance = 1.0 - first
        else:
            for fit, predict in places:
                chance[predict] = nuisances.propensity(fit, predict, received)
        first = chance
        units = np.flatnonzero(received)  # taking units by number is several times faster than by mask
        own = chance[units]
        found, refusal = refuse_overlap(chance, own, name)
        measured |= found
        if refusal is not None:
            return scores, measured, refusal
        residual = y[units] - outcome[units]
        if 2 * np.count_nonzero(np.abs(residual) < smallest_residual) >= residual.size:
            return scores, measured, _no_residual(name)
        outcome[units] += residual / np.maximum(own, limits.CLIP)
        scores += outcome if number == 0 else -outcome
    return scores, measured, None


def _no_residual(name: str) -> Insufficient:
    return Insufficient(
        reason_code="separation",
        sentence=f"in arm {name} the outcome is a function of the covariates, so no error can be estimated",
        diagnostics={},
    )


def _empty_fold(name: str) -> Insufficient:
    return Insufficient(
        reason_code="insufficient_evidence",
        sentence=f"a fold leaves fewer than 2 units of arm {name} to fit on",
        diagnostics={},
    )
