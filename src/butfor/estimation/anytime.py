"""Bounds that hold at every look, for outcomes with a declared range and known assignment probabilities."""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING

import numpy as np

from butfor.confidence import lower_betting_bound
from butfor.estimation.aipw import Arms
from butfor.estimation.answers import Effect, EffectEstimate, Insufficient
from butfor.estimation.basis import linear_basis
from butfor.estimation.questions import Contrast
from butfor.estimation.randomised import checked_range

if TYPE_CHECKING:
    from collections.abc import Iterable

    from numpy.typing import NDArray

    from butfor.estimation.columns import Columns
    from butfor.estimation.questions import Target

# Units between two fits of the predictions.
REFIT = 100
FEWEST_TO_FIT = 50
# Outcome of a unit that nobody has seen the like of.
_NO_IDEA = 0.5


@dataclasses.dataclass(frozen=True, kw_only=True, eq=False)
class Scores:
    """Scores in order of arrival, with the limits that were known before each.

    Attributes:
        score: Conditional mean θ given everything earlier, shape (n,).
        least: Smallest value that the score could have taken, shape (n,).
        most: Largest.
    """

    score: NDArray[np.float64]
    least: NDArray[np.float64]
    most: NDArray[np.float64]


def anytime_bounded(
    columns: Columns,
    *,
    target: Target,
    outcome_range: tuple[float, float],
    alpha: float = 0.05,
    adjust_for: Iterable[str] = (),
) -> Effect:
    """Bound an effect so that the bounds hold at every number of units at once.

    Estimand: E[Y | do(t*)] − E[Y | do(t0)], or the first alone.
    Assumptions: each unit's assignment probability, given everything earlier, is the known one (it may depend on
    earlier outcomes); the declared range. Covariates enter through predictions that are fitted on earlier units only,
    so a wrong prediction costs width, never coverage.
    Guarantee: finite-sample, P(at some look the lower bound exceeds the truth) ≤ alpha, rare and unbalanced outcomes
    included; the upper bound likewise.
    Reference: Waudby-Smith and Ramdas 2024 (arXiv 2010.09686); Waudby-Smith et al. 2022 (arXiv 2210.10768).

    Args:
        columns: The units in order of arrival (of their times, where known), with `probability`.
        target: What is asked.
        outcome_range: Lowest and highest possible outcome, from the policy, never from the data.
        alpha: Level of each bound.
        adjust_for: Columns from which outcomes are predicted.

    Raises:
        InputError: An outcome lies outside the declared range.
    """
    low, high = checked_range(columns.y, outcome_range)
    refusal = _refuse(columns)
    if refusal is not None:
        return refusal
    order = np.arange(columns.n) if columns.time is None else np.argsort(columns.time, kind="stable")
    scaled = ((columns.y - low) / (high - low))[order]
    arms = Arms.of(columns, target)
    scores = scored(columns, arms, order, scaled, tuple(adjust_for))
    shift, scale = (0.0, high - low) if isinstance(target, Contrast) else (low, high - low)
    ends = (-1.0, 1.0) if isinstance(target, Contrast) else (0.0, 1.0)
    below = lower_betting_bound(scores.score, alpha=alpha, least=scores.least, among=ends)
    above = lower_betting_bound(-scores.score, alpha=alpha, least=-scores.most, among=(-ends[1], -ends[0]))
    return EffectEstimate(
        point=shift + scale * float(scores.score.mean()),
        lower=shift + scale * below,
        upper=shift - scale * above,
        alpha=alpha,
        n_per_arm=arms.n,
        target="contrast" if isinstance(target, Contrast) else "level",
        estimator="betting on inverse-probability scores",
        assumptions=("known assignment probabilities", f"outcomes in [{low:g}, {high:g}]"),
        diagnostics={},
        guarantee="anytime_finite_sample",
    )


def _refuse(columns: Columns) -> Insufficient | None:
    if columns.probability is None:
        sentence = "a bound at every look needs each unit's known assignment probability"
        return Insufficient(reason_code="unsupported", sentence=sentence)
    if np.unique(columns.t).size > 2:
        sentence = "a bound at every look compares two treatments; here are more"
        return Insufficient(reason_code="unsupported", sentence=sentence)
    if not (columns.probability < 1.0).all():
        return Insufficient(reason_code="positivity", sentence="a unit was assigned with probability 1")
    if columns.clusters is not None:
        return Insufficient(reason_code="unsupported", sentence="clustered units do not arrive one by one")
    return None


def scored(
    columns: Columns, arms: Arms, order: NDArray[np.intp], y: NDArray[np.float64], names: tuple[str, ...]
) -> Scores:
    """Compute m_1 − m_0 + (1{T = t*}/p − 1{T = t0}/(1 − p))·(y − m_T), for a level without the second arm."""
    assert columns.probability is not None
    received = [rows[order] for rows in arms.received]
    chance = columns.probability[order]
    one = np.where(received[0], chance, 1.0 - chance)
    basis = linear_basis(columns, names)[order] if names else np.ones((columns.n, 1))
    predicted = [predict_from_earlier(basis, y, rows) for rows in received]
    chances = [one, 1.0 - one]
    score, centre = np.zeros(columns.n), np.zeros(columns.n)
    least, most = np.zeros(columns.n), np.zeros(columns.n)
    for sign, rows, m, p in zip((1.0, -1.0), received, predicted, chances, strict=False):
        centre += sign * m
        score += np.where(rows, sign * (y - m) / p, 0.0)
        # The unit's residual lies in [−m, 1 − m].
        ends = (-m / p, (1.0 - m) / p) if sign > 0 else (-(1.0 - m) / p, m / p)
        least, most = np.minimum(least, ends[0]), np.maximum(most, ends[1])
    return Scores(score=centre + score, least=centre + least, most=centre + most)


def predict_from_earlier(
    basis: NDArray[np.float64], y: NDArray[np.float64], rows: NDArray[np.bool_]
) -> NDArray[np.float64]:
    """Predict each unit's outcome from earlier units of an arm: their mean, or a regression refitted now and then.

    Args:
        basis: Shape (n, functions), known at arrival.
        y: Outcomes in [0, 1], shape (n,).
        rows: Units of the arm, shape (n,).
    """
    seen: NDArray[np.int64] = np.cumsum(rows) - rows.astype(np.int64)
    total = np.cumsum(np.where(rows, y, 0.0)) - np.where(rows, y, 0.0)
    predicted: NDArray[np.float64] = (total + _NO_IDEA) / (seen + 1.0)
    if basis.shape[1] == 1:
        return predicted
    for start in range(REFIT, y.size, REFIT):
        earlier = np.flatnonzero(rows[:start])
        if earlier.size < FEWEST_TO_FIT:
            continue
        design = basis[earlier]
        gram = design.T @ design + np.eye(basis.shape[1])
        weights = np.linalg.solve(gram, design.T @ y[earlier])
        predicted[start : start + REFIT] = np.clip(basis[start : start + REFIT] @ weights, 0.0, 1.0)
    return predicted
