"""A series basis in NumPy: linear, or piecewise linear with pairwise products, its size set by the smaller arm."""

from __future__ import annotations

import dataclasses
import itertools
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Iterable

    from numpy.typing import NDArray

    from butfor.estimation.columns import Columns

# One basis function for so many units of the smaller arm.
UNITS_A_FUNCTION = 9
# More knots buy nothing below hundreds of thousands of units, and cost time everywhere.
MOST_KNOTS = 16
# Knots a covariate in the dictionary that a sparse series picks from.
DICTIONARY_KNOTS = 7
# A number that takes at most so many whole values enters as one indicator a value.
MOST_INDICATORS = 8


def linear_basis(columns: Columns, names: Iterable[str]) -> NDArray[np.float64]:
    """Return an intercept and the standardised columns, constant ones left out, shape (n, functions).

    Text enters as one indicator a value, the first left out.
    """
    parts: list[NDArray[np.float64]] = []
    for name in names:
        values = columns.table[name]
        if name in columns.levels:
            parts += [(values == code).astype(float) for code in range(1, len(columns.levels[name]))]
        elif (scale := values.std()) > 0.0:
            part = values - values.mean()
            part /= scale
            parts.append(part)
    return np.column_stack([np.ones(columns.n), *parts])


def series_basis(columns: Columns, names: Iterable[str], *, smaller_arm: int) -> NDArray[np.float64]:
    """Return an intercept, columns, hinges at quantiles, indicators of discrete values and pairwise products.

    The covariates alone decide it, never the outcome. Knots are as many as the smaller arm supports.

    Args:
        columns: The units.
        names: The covariates.
        smaller_arm: Units in the smaller arm.

    Returns:
        Shape (n, functions), each function but the intercept standardised.
    """
    wanted = [name for name in names if not _constant(columns.table[name])]
    plain = [(columns.table[name] - columns.table[name].mean()) / columns.table[name].std() for name in wanted]
    discrete = [name for name in wanted if _has_indicators(columns, name)]
    smooth = [values for name, values in zip(wanted, plain, strict=True) if name not in discrete]
    parts = [values for name, values in zip(wanted, plain, strict=True) if name not in discrete]
    for name in discrete:
        parts += [(columns.table[name] == value).astype(float) for value in np.unique(columns.table[name])[1:]]
    products = [one * other for one, other in itertools.combinations(plain, 2)]
    room = smaller_arm // UNITS_A_FUNCTION - 1 - len(parts) - len(products)
    knots = max(0, min(MOST_KNOTS, room // max(1, len(smooth))))
    for values in smooth:
        at = np.unique(np.quantile(values, np.arange(1, knots + 1) / (knots + 1)))
        parts += [np.maximum(values - knot, 0.0) for knot in at]
    functions = [_standardised(part) for part in [*parts, *products] if not _constant(part)]
    return np.column_stack([np.ones(columns.n), *functions])


def knots_for(columns: Columns, names: Iterable[str], *, smaller_arm: int) -> int:
    """Return how many knots a continuous covariate gets; with no continuous covariate, the most."""
    wanted = [name for name in names if not _constant(columns.table[name])]
    discrete = [name for name in wanted if _has_indicators(columns, name)]
    fixed = len(wanted) - len(discrete) + sum(np.unique(columns.table[name]).size - 1 for name in discrete)
    fixed += len(wanted) * (len(wanted) - 1) // 2
    smooth = len(wanted) - len(discrete)
    room = smaller_arm // UNITS_A_FUNCTION - 1 - fixed
    return min(MOST_KNOTS, max(0, room // smooth)) if smooth else MOST_KNOTS


@dataclasses.dataclass(frozen=True, kw_only=True, eq=False)
class Dictionary:
    """Functions of the covariates for a sparse series to pick from.

    Attributes:
        functions: Columns, indicators and hinges, standardised, without an intercept, shape (n, functions).
        plain: What products are made of: numbers, and an indicator for each text but the first; shape (n, columns).
    """

    functions: NDArray[np.float64]
    plain: NDArray[np.float64]


def dictionary(columns: Columns, names: Iterable[str]) -> Dictionary:
    """Make the dictionary of some covariates; they alone decide it, never the outcome."""
    plain: list[NDArray[np.float64]] = []
    functions: list[NDArray[np.float64]] = []
    for name in names:
        values = columns.table[name]
        if _constant(values):
            continue
        counted = _has_indicators(columns, name)
        kinds = np.unique(values)[1:] if counted else ()
        indicators = [_standardised((values == kind).astype(float)) for kind in kinds]
        own = indicators if name in columns.levels else [_standardised(values)]
        plain += own
        functions += indicators if counted else own
        if not counted:
            at = np.unique(np.quantile(own[0], np.arange(1, DICTIONARY_KNOTS + 1) / (DICTIONARY_KNOTS + 1)))
            hinges = [np.maximum(own[0] - knot, 0.0) for knot in at]
            functions += [_standardised(part) for part in hinges if not _constant(part)]
    return Dictionary(functions=np.column_stack(functions), plain=np.column_stack(plain))


def _has_indicators(columns: Columns, name: str) -> bool:
    values = columns.table[name]
    return name in columns.levels or (name in columns.discrete and values.max() - values.min() < MOST_INDICATORS)


def _constant(values: NDArray[np.float64]) -> bool:
    return bool((values == values[0]).all())


def _standardised(values: NDArray[np.float64]) -> NDArray[np.float64]:
    scaled: NDArray[np.float64] = (values - values.mean()) / values.std()
    return scaled
