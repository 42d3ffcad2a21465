"""Least squares and normal bounds for the baselines: independent of the estimators that are being judged."""

from __future__ import annotations

import math
from statistics import NormalDist
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Iterable

    from numpy.typing import NDArray

    from butfor.benchmarks.toolbench.families import Rows

NORMAL = NormalDist()


def fit(
    y: NDArray[np.float64], regressors: Iterable[NDArray[np.float64]]
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return coefficients and classical standard errors, intercept first."""
    design = np.column_stack([np.ones(y.size), *regressors])
    inverse = np.linalg.inv(design.T @ design)
    coefficients = inverse @ (design.T @ y)
    left = y - design @ coefficients
    variance = float(left @ left) / (y.size - design.shape[1])
    return coefficients, np.sqrt(variance * np.diag(inverse))


def effect_of(rows: Rows, treatment: str, outcome: str, adjust_for: Iterable[str] = ()) -> tuple[float, float]:
    """Return the coefficient of the treatment and its standard error."""
    coefficients, errors = fit(rows[outcome], [rows[treatment], *(rows[name] for name in adjust_for)])
    return float(coefficients[1]), float(errors[1])


def through(rows: Rows, treatment: str, mediator: str, outcome: str) -> tuple[float, float]:
    """Return the product of the slopes treatment → mediator → outcome, and its standard error by the delta method."""
    first, error_first = effect_of(rows, treatment, mediator)
    slopes, errors = fit(rows[outcome], [rows[mediator], rows[treatment]])
    second, error_second = float(slopes[1]), float(errors[1])
    return first * second, math.hypot(second * error_first, first * error_second)


def lower(estimate: tuple[float, float], alpha: float) -> float:
    """Bound from below by the normal quantile."""
    return estimate[0] - NORMAL.inv_cdf(1.0 - alpha) * estimate[1]
