"""Outcome and propensity models on a basis, fitted on some units and predicted for others."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

# Just enough to solve: a ridge of 1 on the outcome's basis cost 3 to 4 points of coverage.
OUTCOME_RIDGE = 1e-3
PROPENSITY_RIDGE = 0.1
_NEWTON_STEPS = 30
_LARGEST_LOGIT = 30.0
# Folds whose rows are kept.
_KEPT = 5


class Nuisances(Protocol):
    """Predictions for units that took no part in the fit."""

    def outcome(self, fit: NDArray[np.intp], predict: NDArray[np.intp], y: NDArray[np.float64]) -> NDArray[np.float64]:
        """Fit E[Y | x] on the units `fit`, return it for the units `predict`."""
        ...

    def propensity(
        self, fit: NDArray[np.intp], predict: NDArray[np.intp], treated: NDArray[np.bool_]
    ) -> NDArray[np.float64]:
        """Fit P(treated | x) on the units `fit`, return it for the units `predict`."""
        ...


class SeriesNuisances:
    """Least squares and logistic regression on a basis.

    Args:
        basis: Shape (n, functions), the intercept first.
    """

    def __init__(self, basis: NDArray[np.float64]) -> None:
        self._basis = basis
        self._predicted: list[tuple[NDArray[np.intp], NDArray[np.float64]]] = []

    def outcome(self, fit: NDArray[np.intp], predict: NDArray[np.intp], y: NDArray[np.float64]) -> NDArray[np.float64]:
        """Fit by least squares; predictions stay within the fitted units' range."""
        design, known = self._basis[fit], y[fit]
        gram = design.T @ design
        gram[np.diag_indices_from(gram)] += OUTCOME_RIDGE
        predicted = self._of(predict) @ np.linalg.solve(gram, design.T @ known)
        return np.clip(predicted, known.min(), known.max())

    def propensity(
        self, fit: NDArray[np.intp], predict: NDArray[np.intp], treated: NDArray[np.bool_]
    ) -> NDArray[np.float64]:
        """Fit by logistic regression."""
        known = self._known(fit)
        weights = logistic(self._basis[fit] if known is None else known, treated[fit].astype(float))
        return chance_of(self._of(predict) @ weights)

    def _of(self, predict: NDArray[np.intp]) -> NDArray[np.float64]:
        """Return the basis of units that are predicted more than once: both arms and the propensity ask for one fold.

        Taking half a million rows out of a table costs as much as a regression on them.
        """
        known = self._known(predict)
        if known is None:
            known = self._basis[predict]
            self._predicted = [*self._predicted[-(_KEPT - 1) :], (predict, known)]
        return known

    def _known(self, units: NDArray[np.intp]) -> NDArray[np.float64] | None:
        return next((rows for kept, rows in self._predicted if kept is units), None)


def logistic(design: NDArray[np.float64], treated: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the weights of a logistic regression with a slight ridge, which separated arms need to end at all.

    Newton's method; with many units it starts from the weights of a part of them, so that two passes over all suffice.
    """
    weights = np.zeros(design.shape[1])
    n, size = design.shape
    part = max(2_000, 40 * size)
    if n > 10 * part:
        weights = logistic(design[:: n // part], treated[:: n // part])
    weighted = np.empty_like(design)
    for _ in range(_NEWTON_STEPS):
        chance = chance_of(design @ weights)
        slope = np.maximum(chance * (1.0 - chance), 1e-6)
        np.multiply(design, slope[:, None], out=weighted)
        hessian = weighted.T @ design
        hessian[np.diag_indices_from(hessian)] += PROPENSITY_RIDGE
        step = np.linalg.solve(hessian, design.T @ (treated - chance) - PROPENSITY_RIDGE * weights)
        # A long step is shortened: from a flat start Newton's method overshoots where arms are nearly separated.
        longest = float(np.abs(step).max())
        weights = weights + step * min(1.0, 5.0 / max(longest, 1e-300))
        # The error after a Newton step is of the order of its square.
        if longest < 1e-3:
            break
    return weights


def chance_of(logit: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the probability that a log-odds stands for."""
    chance: NDArray[np.float64] = np.clip(logit, -_LARGEST_LOGIT, _LARGEST_LOGIT)
    np.negative(chance, out=chance)
    np.exp(chance, out=chance)
    chance += 1.0
    np.reciprocal(chance, out=chance)
    return chance
