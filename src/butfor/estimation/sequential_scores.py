"""Bounds that hold at every look for outcomes without a declared range: asymptotic, and labelled so."""

from __future__ import annotations

from hashlib import sha256
from typing import TYPE_CHECKING

import numpy as np

from butfor.estimation import limits
from butfor.estimation.aipw import Arms
from butfor.estimation.answers import Effect, EffectEstimate, Insufficient
from butfor.estimation.basis import linear_basis
from butfor.estimation.diagnostics import refuse_overlap
from butfor.estimation.nuisances import SeriesNuisances
from butfor.estimation.questions import Contrast

if TYPE_CHECKING:
    from collections.abc import Iterable

    from numpy.typing import NDArray

    from butfor.estimation.columns import Columns
    from butfor.estimation.questions import Target

FOLDS = 2
# Units between two fits.
REFIT = 100
# Units of each arm and fold before scores are computed.
FEWEST_TO_FIT = 25
# Events and non-events of a two-valued outcome, or units, in each arm before the sequence starts.
BURN_IN = 50


def anytime_asymptotic(
    columns: Columns, *, target: Target, alpha: float = 0.05, adjust_for: Iterable[str] = (), tuned_for: int = 500
) -> Effect:
    """Bound an effect at every number of units at once, after a burn-in.

    Estimand: E[Y | do(t*)] − E[Y | do(t0)], or the first alone.
    Assumptions: units arrive independently; the columns close every back-door path; overlap; outcome or log-odds of
    the treatment linear in them; finite variance, many units.
    Guarantee: asymptotic. Each score is computed once, from strictly earlier units of the other fold, and then frozen.
    For rare or unbalanced 0/1 outcomes it errs up to 20% of the time even so (`butfor bench coverage`, peeking): where
    the range is known use `anytime_bounded`.
    Reference: Waudby-Smith et al. 2021 (arXiv 2103.06476).

    Args:
        columns: The units in order of arrival (of their times, where known).
        target: What is asked.
        alpha: Level of each bound.
        adjust_for: Columns that close the back-door paths; with `probability` it is used for the treatment.
        tuned_for: Scores at which the bounds are tightest.
    """
    # SciPy comes with `confidence`.
    from butfor.confidence import Undefined, asymptotic_sequence

    if columns.clusters is not None:
        return Insufficient(reason_code="unsupported", sentence="clustered units do not arrive one by one")
    order = np.arange(columns.n) if columns.time is None else np.argsort(columns.time, kind="stable")
    arms = Arms.of(columns, target)
    received = [rows[order] for rows in arms.received]
    y = columns.y[order]
    start = burn_in(y, received)
    if start is None:
        sentence = f"an arm has fewer than {BURN_IN} events and non-events, or units: the sequence has not started"
        return Insufficient(reason_code="insufficient_evidence", sentence=sentence)
    basis = linear_basis(columns, adjust_for)[order]
    known = None if columns.probability is None else columns.probability[order]
    scores, chances = frozen_scores(basis, y, received, known)
    measured: dict[str, float] = {}
    for name, rows, chance in zip(arms.names, received, chances, strict=True):
        found, refusal = refuse_overlap(chance[start:], chance[start:][rows[start:]], name)
        measured |= found
        if refusal is not None:
            return refusal
    used = scores[start:]
    used = used[np.isfinite(used)]
    # Its two sides miss equally often, so one side at alpha is a two-sided sequence at 2 · alpha.
    bound = asymptotic_sequence(used.tolist(), alpha=2.0 * alpha, tuned_for=tuned_for)
    if isinstance(bound, Undefined):
        return Insufficient(reason_code="insufficient_evidence", sentence=bound.reason)
    return EffectEstimate(
        point=bound.point,
        lower=bound.lower,
        upper=bound.upper,
        alpha=alpha,
        n_per_arm=arms.n,
        target="contrast" if isinstance(target, Contrast) else "level",
        estimator="asymptotic confidence sequence of sequentially cross-fitted scores",
        assumptions=("independent units", "overlap", "finite variance", "many units"),
        diagnostics={**measured, "burn-in": float(start), "scores": float(used.size)},
        guarantee="anytime_asymptotic",
    )


def burn_in(y: NDArray[np.float64], received: list[NDArray[np.bool_]]) -> int | None:
    """Return the number of units after which every arm has enough; None where that never happens.

    The rarer of two values is what counts; both values count where there are two.
    """
    two = np.unique(y[:10_000]).size <= 2
    values = np.unique(y[:10_000]) if two else [None]
    starts = []
    for rows in received:
        for value in values:
            counted = np.cumsum(rows if value is None else rows & (y == value))
            if counted[-1] < BURN_IN:
                return None
            starts.append(int(np.searchsorted(counted, BURN_IN)) + 1)
    return max(starts)


def frozen_scores(
    basis: NDArray[np.float64],
    y: NDArray[np.float64],
    received: list[NDArray[np.bool_]],
    known: NDArray[np.float64] | None,
) -> tuple[NDArray[np.float64], list[NDArray[np.float64]]]:
    """Return one score a unit (NaN before anything could be fitted) and each arm's chances.

    Args:
        basis: Shape (n, functions), in order of arrival.
        y: Outcomes, shape (n,).
        received: Units of each arm, t* first.
        known: P(the unit gets what it got), by design; None where it is estimated.
    """
    n = y.size
    fold = np.array([sha256(b"fold %d" % i).digest()[0] % FOLDS for i in range(n)])
    scores = np.full(n, np.nan)
    chances = [np.ones(n) for _ in received]
    series = SeriesNuisances(basis)
    for start in range(REFIT, n, REFIT):
        for k in range(FOLDS):
            earlier = np.flatnonzero(fold[:start] != k)
            now = start + np.flatnonzero(fold[start : start + REFIT] == k)
            fits = [earlier[rows[earlier]] for rows in received]
            if now.size == 0 or min(fit.size for fit in fits) < max(FEWEST_TO_FIT, 2 * basis.shape[1]):
                continue
            own = np.zeros(now.size)
            for sign, rows, fit, chance in zip((1.0, -1.0), received, fits, chances, strict=False):
                outcome = series.outcome(fit, now, y)
                p = known[now] if known is not None else series.propensity(earlier, now, rows)
                chance[now] = np.where(rows[now], p, 1.0) if known is not None else p
                weight = rows[now] / np.maximum(p, limits.CLIP if known is None else 0.0)
                own += sign * (outcome + weight * (y[now] - outcome))
            scores[now] = own
    return scores, chances
