"""Ordinary least squares: as published for the gate's paper settings, and with a variance that can be defended."""

from __future__ import annotations

import dataclasses
import math
from typing import TYPE_CHECKING

import numpy as np

from butfor.estimation.answers import Effect, EffectEstimate, Insufficient
from butfor.estimation.basis import linear_basis
from butfor.estimation.diagnostics import refuse_constant, refuse_order
from butfor.estimation.quantiles import normal_quantile
from butfor.estimation.questions import Contrast
from butfor.estimation.scores import refuse_spread, spread_of

if TYPE_CHECKING:
    from collections.abc import Iterable

    from numpy.typing import NDArray

    from butfor.estimation.columns import Columns
    from butfor.estimation.questions import Target

# Units beyond the fitted coefficients that a regression must leave over.
FEWEST_OVER = 10
# Share of the treatment's variance that the other columns must leave unexplained.
UNEXPLAINED = 1e-6
LINEAR = "the outcome is linear in treatment and covariates, the effect the same for all"


@dataclasses.dataclass(frozen=True, kw_only=True, eq=False)
class _Fit:
    """Least squares of y on the treatment and the rest, by Frisch–Waugh–Lovell."""

    slope: float
    resid: NDArray[np.float64]  # of y on everything, shape (n,)
    part: NDArray[np.float64]  # of the treatment on the rest, shape (n,)
    leverage: NDArray[np.float64]  # of each unit in the full regression, shape (n,)
    coefficients: int


def ols_as_published(columns: Columns, adjust_for: Iterable[str], *, target: Target, alpha: float = 0.05) -> Effect:
    """Estimate as CIVeX does: least squares with the classical standard error and a normal bound.

    Estimand: the coefficient of the treatment, times t* − t0.
    Assumptions: the outcome is linear in treatment and covariates; errors of one variance; independent units.
    Guarantee: asymptotic; under nonlinear confounding it covers the truth almost never (`butfor bench coverage`).
    Reference: CIVeX, arXiv 2605.09168.
    """
    fit = _fitted(columns, tuple(adjust_for), target)
    if isinstance(fit, Insufficient):
        return fit
    variance = float((fit.resid**2).sum()) / (columns.n - fit.coefficients)
    se = math.sqrt(variance / float((fit.part**2).sum()))
    if not se > 1e-9 * float(columns.y.std()):
        return Insufficient(
            reason_code="separation",
            sentence="the outcome is a function of the other columns, so no error can be estimated",
            diagnostics={},
        )
    reach = normal_quantile(1.0 - alpha) * se
    return _estimate(columns, target, fit, alpha, (reach, reach), "OLS, classical normal bound (paper settings)", {})


def ols_robust(columns: Columns, adjust_for: Iterable[str], *, target: Target, alpha: float = 0.05) -> Effect:
    """Estimate by least squares with a leverage-robust standard error and Student's t.

    Estimand: the coefficient of the treatment, times t* − t0.
    Assumptions: the outcome is linear in treatment and covariates; independent units (or clusters).
    Guarantee: asymptotic.
    Reference: MacKinnon and White 1985 (HC3); Hall 1992.
    """
    fit = _fitted(columns, tuple(adjust_for), target)
    if isinstance(fit, Insufficient):
        return fit
    # One score a unit whose mean is the slope's error, each residual as if its unit had been left out.
    left_out = fit.resid / np.maximum(1.0 - fit.leverage, 1e-6)
    scores = columns.n * fit.part * left_out / float((fit.part**2).sum())
    measured, refusal = refuse_order(columns, scores)
    if refusal is not None:
        return refusal
    spread = spread_of(scores, clusters=columns.clusters, fitted=0)
    found, refusal = refuse_spread(spread, float(columns.y.std()), columns.clusters)
    if refusal is not None:
        return refusal
    spread = dataclasses.replace(spread, df=min(spread.df, columns.n - fit.coefficients))
    reach = (-spread.lower(0.0, alpha), spread.upper(0.0, alpha))
    measured = {**measured, **found, "largest leverage": float(fit.leverage.max())}
    return _estimate(columns, target, fit, alpha, reach, "OLS, HC3 and Student's t", measured)


def _fitted(columns: Columns, names: tuple[str, ...], target: Target) -> _Fit | Insufficient:
    if not isinstance(target, Contrast):
        return Insufficient(
            reason_code="unsupported",
            sentence="least squares estimates a contrast, not a level",
            diagnostics={},
        )
    constant = refuse_constant(columns.y)
    if constant is not None:
        return constant
    rest = linear_basis(columns, names)
    coefficients = rest.shape[1] + 1
    if columns.n - coefficients < FEWEST_OVER:
        return Insufficient(
            reason_code="insufficient_evidence",
            sentence=f"{columns.n} units for {coefficients} coefficients leave fewer than {FEWEST_OVER} over",
            diagnostics={"units": float(columns.n), "coefficients": float(coefficients)},
        )
    return _solve(columns, rest, coefficients)


def _solve(columns: Columns, rest: NDArray[np.float64], coefficients: int) -> _Fit | Insufficient:
    q, r = np.linalg.qr(rest)
    diagonal = np.abs(np.diag(r))
    if diagonal.min() <= 1e-9 * diagonal.max():
        return Insufficient(
            reason_code="collinear", sentence="one covariate is a combination of the others: leave it out"
        )
    part = columns.t - q @ (q.T @ columns.t)
    unexplained = float((part**2).sum()) / float(((columns.t - columns.t.mean()) ** 2).sum())
    if unexplained < UNEXPLAINED:
        return Insufficient(
            reason_code="positivity",
            sentence="the covariates determine the treatment",
            diagnostics={"unexplained share of the treatment": unexplained},
        )
    resid_y = columns.y - q @ (q.T @ columns.y)
    square = float((part**2).sum())
    slope = float(part @ resid_y) / square
    leverage = (q * q).sum(axis=1) + part**2 / square
    if refuse := _one_unit_decides(leverage, part):
        return refuse
    return _Fit(slope=slope, resid=resid_y - slope * part, part=part, leverage=leverage, coefficients=coefficients)


def _one_unit_decides(leverage: NDArray[np.float64], part: NDArray[np.float64]) -> Insufficient | None:
    """Refuse where one unit carries half of what the slope is estimated from, as one treated unit does."""
    share = float((part**2).max() / (part**2).sum())
    if share <= 0.5 and leverage.max() < 1.0 - 1e-9:
        return None
    return Insufficient(
        reason_code="leverage",
        sentence=f"one unit alone carries {share:.0%} of what the effect is estimated from",
        diagnostics={"largest share of the treatment's variation": share},
    )


def _estimate(
    columns: Columns,
    target: Target,
    fit: _Fit,
    alpha: float,
    reach: tuple[float, float],
    method: str,
    measured: dict[str, float],
) -> EffectEstimate:
    assert isinstance(target, Contrast)
    to, against = (columns.value(columns.treatment, value) for value in (target.to, target.against))
    step = to - against
    ends = sorted((step * (fit.slope - reach[0]), step * (fit.slope + reach[1])))
    counts = {f"{value:g}": int((columns.t == value).sum()) for value in (to, against)}
    return EffectEstimate(
        point=step * fit.slope,
        lower=ends[0],
        upper=ends[1],
        alpha=alpha,
        n_per_arm=counts if all(counts.values()) else {"all": columns.n},
        target="contrast",
        estimator=method,
        assumptions=("independent units" if columns.clusters is None else "independent clusters", LINEAR),
        diagnostics=measured,
        guarantee="asymptotic",
    )
