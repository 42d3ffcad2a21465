"""Nuisances for many covariates: the few functions of a large dictionary that the units outside a fold point to."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from butfor.estimation.nuisances import OUTCOME_RIDGE, chance_of, logistic

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from butfor.estimation.basis import Dictionary

# So many pairwise products join the dictionary, those that a residual shows most.
PRODUCTS = 30
# Share of the outcome's room for functions that predict the treatment: what confounds predicts both, and what predicts
# either is kept (Belloni, Chernozhukov and Hansen 2014).
FOR_TREATMENT = 0.34
# Share of the room that the propensity gets. With all of it half of the tables with 60 covariates and 2,000 units were
# refused for overlap that was there: so rich a fit invents certainty. With half none was, and bounds missed as rarely.
TREATMENT_ROOM = 0.5
# Picking looks at no more units than this; the fit that follows sees all.
MOST_UNITS = 20_000
_NOTHING: NDArray[np.intp] = np.empty(0, dtype=np.intp)
# A function of whose variance less than this is left beside the picked ones repeats them.
REPEATED = 1e-6


class SparseNuisances:
    """Least squares and logistic regression on functions picked by forward regression, as many as the room allows.

    The room is always filled: a function that does not matter costs a unit of variance, one that is left out costs
    bias. Picking sees only units outside the predicted fold.

    Args:
        dictionary: The functions to pick from; products of two covariates are added where a residual shows them.
        treatment: Code of each unit's treatment, shape (n,).
        room: How many functions are picked.
    """

    def __init__(self, dictionary: Dictionary, treatment: NDArray[np.float64], room: int) -> None:
        self._dictionary, self._treatment, self._room = dictionary, treatment, room
        self._known: list[tuple[NDArray[np.intp], NDArray[np.float64], NDArray[np.intp]]] = []

    def outcome(self, fit: NDArray[np.intp], predict: NDArray[np.intp], y: NDArray[np.float64]) -> NDArray[np.float64]:
        """Fit by least squares; predictions stay within the fitted units' range."""
        products, first = self._for_treatment(predict)
        products = np.hstack([products, self._products(fit, y)])
        picked = self._picked(fit, products, y, self._room, first[: int(self._room * FOR_TREATMENT)])
        known, design = y[fit], self._design(fit, products, picked)
        predicted = self._design(predict, products, picked) @ _least_squares(design, known)
        return np.clip(predicted, known.min(), known.max())

    def propensity(
        self, fit: NDArray[np.intp], predict: NDArray[np.intp], treated: NDArray[np.bool_]
    ) -> NDArray[np.float64]:
        """Fit by logistic regression."""
        products, _ = self._for_treatment(predict)
        received = treated.astype(float)
        picked = self._picked(fit, products, received, int(self._room * TREATMENT_ROOM), _NOTHING)
        weights = logistic(self._design(fit, products, picked), received[fit])
        return chance_of(self._design(predict, products, picked) @ weights)

    def _for_treatment(self, predict: NDArray[np.intp]) -> tuple[NDArray[np.float64], NDArray[np.intp]]:
        """Return a fold's products, and the functions that predict the treatment in the other folds, best first."""
        for fold, products, picked in self._known:
            if fold is predict:
                return products, picked
        rest = np.setdiff1d(np.arange(self._treatment.size), predict)
        products = self._products(rest, self._treatment)
        picked = self._picked(rest, products, self._treatment, self._room, _NOTHING)
        self._known.append((predict, products, picked))
        return products, picked

    def _picked(
        self,
        rows: NDArray[np.intp],
        products: NDArray[np.float64],
        target: NDArray[np.float64],
        room: int,
        start: NDArray[np.intp],
    ) -> NDArray[np.intp]:
        some = _some_of(rows)
        return forward(np.hstack([self._dictionary.functions[some], products[some]]), target[some], room, start)

    def _design(
        self, rows: NDArray[np.intp], products: NDArray[np.float64], picked: NDArray[np.intp]
    ) -> NDArray[np.float64]:
        """Return an intercept and the picked functions, which are numbered dictionary first, then products."""
        own = self._dictionary.functions
        size = own.shape[1]
        parts = [own[np.ix_(rows, picked[picked < size])], products[np.ix_(rows, picked[picked >= size] - size)]]
        return np.column_stack([np.ones(rows.size), *parts])

    def _products(self, rows: NDArray[np.intp], target: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the products of two covariates that go most with what single covariates leave of a target.

        All pairs are looked at in one matrix product, so none needs to matter by itself to be seen.
        """
        some, plain = _some_of(rows), self._dictionary.plain
        functions, known = self._dictionary.functions[some], target[some]
        picked = forward(functions, known, self._room, _NOTHING)
        design = np.column_stack([np.ones(some.size), functions[:, picked]])
        residual = known - design @ _least_squares(design, known)
        own = plain[some]
        size = np.sqrt((own**2).T @ own**2)
        shown = np.triu(np.abs((own * residual[:, None]).T @ own) / np.maximum(size, 1e-300), k=1)
        best = np.argsort(shown, axis=None)[::-1][:PRODUCTS]
        one, other = np.unravel_index(best[shown.ravel()[best] > 0.0], shown.shape)
        products = plain[:, one] * plain[:, other]
        scale = products.std(axis=0)
        varying = scale > 0.0
        standardised: NDArray[np.float64] = (products[:, varying] - products[:, varying].mean(axis=0)) / scale[varying]
        return standardised


def _some_of(rows: NDArray[np.intp]) -> NDArray[np.intp]:
    return rows[:: -(-rows.size // MOST_UNITS)] if rows.size > MOST_UNITS else rows


def _least_squares(design: NDArray[np.float64], target: NDArray[np.float64]) -> NDArray[np.float64]:
    gram = design.T @ design
    gram[np.diag_indices_from(gram)] += OUTCOME_RIDGE
    return np.asarray(np.linalg.solve(gram, design.T @ target), dtype=np.float64)


def forward(
    functions: NDArray[np.float64], target: NDArray[np.float64], room: int, start: NDArray[np.intp]
) -> NDArray[np.intp]:
    """Pick functions one by one, each the one that explains most of what the picked ones leave of the target.

    Args:
        functions: Shape (n, functions).
        target: Shape (n,).
        room: How many, those of `start` included.
        start: Picked already.

    Returns:
        Their numbers, in the order in which they were picked.

    Reference: Pati et al. 1993 (orthogonal matching pursuit), by a partial Cholesky factor of the Gram matrix.
    """
    n = target.size
    centred = functions - functions.mean(axis=0)
    gram = centred.T @ centred / n
    left, toward = gram.diagonal().copy(), centred.T @ (target - target.mean()) / n
    whole = np.maximum(left, 1e-300)
    rows = np.empty((room, gram.shape[0]))
    picked: list[int] = []
    for turn in range(min(room, gram.shape[0])):
        usable = left > REPEATED * whole
        if turn < start.size:
            best = int(start[turn])
            if not usable[best]:
                continue
        else:
            gain = np.where(usable, toward**2 / np.maximum(left, 1e-300), -1.0)
            best = int(np.argmax(gain))
            if gain[best] < 0.0:
                break
        k = len(picked)
        row = (gram[best] - rows[:k, best] @ rows[:k]) / np.sqrt(left[best])
        rows[k] = row
        toward = toward - row * (toward[best] / row[best])
        left = left - row**2
        picked.append(best)
    return np.array(picked, dtype=np.intp)
