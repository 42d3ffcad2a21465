"""The effect on those who got the treatment: it needs units like them among the others, not the reverse."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from butfor.estimation import limits
from butfor.estimation.aipw import Arms, refuse_early
from butfor.estimation.answers import Effect, EffectEstimate, Insufficient
from butfor.estimation.basis import linear_basis, series_basis
from butfor.estimation.diagnostics import refuse_order
from butfor.estimation.folds import fold_count, folds_of
from butfor.estimation.nuisances import SeriesNuisances
from butfor.estimation.scores import refuse_spread, spread_of

if TYPE_CHECKING:
    from collections.abc import Iterable

    from numpy.typing import NDArray

    from butfor.estimation.columns import Columns
    from butfor.estimation.questions import Contrast


def effect_on_treated(
    columns: Columns, adjust_for: Iterable[str], *, target: Contrast, alpha: float = 0.05, seed: int = 0
) -> Effect:
    """Estimate the effect on the units that got t*.

    Estimand: E[Y(t*) − Y(t0) | T = t*] among units with either value.
    Assumptions: the covariates close every back-door path; independent units (or clusters); every unit of t* could have
    got t0 (the reverse is not needed); the outcome under t0 is smooth in the covariates *or* the log-odds are linear.
    Guarantee: asymptotic.
    Reference: Hahn 1998; Mercatanti and Li 2014 (the doubly robust score).

    Args:
        columns: The units; those with another treatment value are left out.
        adjust_for: Covariates, by name.
        target: t* and t0.
        alpha: Level of the bound.
        seed: Of the folds.

    Returns:
        The estimate, or the reason why there is none.

    Raises:
        InputError: There is no such column or value.
    """
    names = tuple(adjust_for)
    columns.require(names)
    received = Arms.of(columns, target).received
    columns = columns.where(received[0] | received[1])
    early = refuse_early(columns, target)
    if early is not None:
        return early
    arms = Arms.of(columns, target)
    treated, controls = arms.received
    outcome = SeriesNuisances(series_basis(columns, names, smaller_arm=columns.independent(controls)))
    chance = SeriesNuisances(linear_basis(columns, names))
    expected, odds = _predicted(columns, treated, outcome, chance, seed)
    measured, refusal = _overlap(odds, treated)
    if refusal is not None:
        return refusal
    share = float(treated.mean())
    residual = (columns.y - expected) / share
    scores = np.where(treated, residual, -odds * residual)
    point = float(scores.mean())
    # The share of the treated is estimated too: its part of the influence is −point · T / share.
    influence = scores - point * treated / share
    in_order, refusal = refuse_order(columns, influence)
    measured |= in_order
    if refusal is not None:
        return refusal
    spread = spread_of(influence, clusters=columns.clusters, fitted=0)
    found, refusal = refuse_spread(spread, float(columns.y.std()), columns.clusters)
    if refusal is not None:
        return refusal
    return EffectEstimate(
        point=point,
        lower=spread.lower(point, alpha),
        upper=spread.upper(point, alpha),
        alpha=alpha,
        n_per_arm=arms.n,
        target="contrast",
        estimator="cross-fitted AIPW for the effect on the treated",
        assumptions=(
            "independent units" if columns.clusters is None else "independent clusters",
            "every treated unit could have gone without",
            "outcome smooth in each covariate, or log-odds of treatment linear",
        ),
        diagnostics={**measured, **found},
        guarantee="asymptotic",
    )


def _predicted(
    columns: Columns, treated: NDArray[np.bool_], outcome: SeriesNuisances, chance: SeriesNuisances, seed: int
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return E[Y | x, t0] and the odds of treatment for each unit, fitted on the other folds."""
    count = fold_count(columns.n)
    fold = folds_of(treated.astype(np.int64), columns.clusters, count, seed)
    expected, odds = np.empty(columns.n), np.empty(columns.n)
    for k in range(count):
        fit, predict = np.flatnonzero(fold != k), np.flatnonzero(fold == k)
        expected[predict] = outcome.outcome(fit[~treated[fit]], predict, columns.y)
        found = np.minimum(chance.propensity(fit, predict, treated), 1.0 - limits.CLIP)
        odds[predict] = found / (1.0 - found)
    return expected, odds


def _overlap(odds: NDArray[np.float64], treated: NDArray[np.bool_]) -> tuple[dict[str, float], Insufficient | None]:
    """Refuse treated units like whom there are no others, and controls of whom a few carry the weight."""
    clipped = float((odds[treated] >= (1.0 - limits.CLIP) / limits.CLIP - 1e-9).mean())
    weights = odds[~treated]
    worth = float(weights.sum() ** 2 / (weights**2).sum())
    measured = {"treated without controls": clipped, "effective sample size of the controls": worth}
    if clipped > limits.MOST_CLIPPED:
        sentence = f"{clipped:.1%} of the treated units had a chance below {limits.CLIP:g} of going without"
        return measured, Insufficient(reason_code="positivity", sentence=sentence, diagnostics=measured)
    if worth < limits.SMALLEST_ESS:
        sentence = f"the {weights.size} controls are worth {worth:.1f} after weighting"
        return measured, Insufficient(reason_code="positivity", sentence=sentence, diagnostics=measured)
    return measured, None
