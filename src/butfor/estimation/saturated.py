"""Exact standardisation from rows, which show clusters, order in time and skewness."""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING

import numpy as np

from butfor.estimation.answers import EffectEstimate
from butfor.estimation.cells import Cells, combinations
from butfor.estimation.diagnostics import refuse_order
from butfor.estimation.questions import Contrast
from butfor.estimation.randomised import coded
from butfor.estimation.scores import refuse_spread, spread_of
from butfor.estimation.standardise import standardise

if TYPE_CHECKING:
    from collections.abc import Iterable

    from numpy.typing import NDArray

    from butfor.estimation.answers import Effect
    from butfor.estimation.columns import Columns
    from butfor.estimation.questions import Target

# With more units skewness / √n is negligible unless it is refused for leverage anyway, and the cells are enough.
MANY_UNITS = 50_000


def saturated(
    columns: Columns,
    adjust_for: Iterable[str],
    *,
    target: Target,
    alpha: float = 0.05,
    outcome_range: tuple[float, float] | None = None,
) -> Effect:
    """Standardise over every combination of discrete columns.

    Estimand, assumptions, guarantee and reference: as `standardise`.

    Raises:
        InputError: A column is not discrete.
    """
    names, asked = tuple(adjust_for), coded(columns, target)
    cells = Cells.of(columns, names)
    plain = columns.time is None and columns.clusters is None
    answer = standardise(cells, target=asked, alpha=alpha, outcome_range=outcome_range)
    if not isinstance(answer, EffectEstimate) or (plain and columns.n > MANY_UNITS):
        return answer
    scores = _scores(columns, cells, names, asked)
    measured, refusal = refuse_order(columns, scores)
    if refusal is not None:
        return refusal
    spread = spread_of(scores, clusters=columns.clusters, fitted=0)
    if columns.clusters is not None:
        measured, refusal = refuse_spread(spread, float(columns.y.std()), columns.clusters)
        if refusal is not None:
            return refusal
        lower, upper = spread.lower(answer.point, alpha), spread.upper(answer.point, alpha)
        # The bound for few events counts units, which clusters are not.
        return dataclasses.replace(
            answer,
            lower=min(lower, answer.lower),
            upper=max(upper, answer.upper if answer.upper is not None else upper),
            assumptions=("independent clusters", *answer.assumptions[1:]),
            diagnostics={**answer.diagnostics, **measured},
        )
    rows = dataclasses.replace(spread, se=0.0)
    final = standardise(cells, target=asked, alpha=alpha, rows=rows, outcome_range=outcome_range)
    if not isinstance(final, EffectEstimate):
        return final
    return dataclasses.replace(final, diagnostics={**final.diagnostics, **measured})


def _scores(columns: Columns, cells: Cells, names: tuple[str, ...], target: Target) -> NDArray[np.float64]:
    """Return each unit's influence on the estimate, shape (n,)."""
    _, stratum = combinations([columns.table[name] for name in names], columns.n)
    units = cells.n.sum(axis=1)
    scores = np.zeros(columns.n)
    wanted = (target.to, target.against) if isinstance(target, Contrast) else (target.at,)
    for sign, value in zip((1.0, -1.0), wanted, strict=False):
        place = int(np.flatnonzero(cells.arms == value)[0])
        mean = cells.total[:, place] * cells.unit / cells.n[:, place]
        weight = units / cells.n[:, place]
        received = columns.t == value
        scores += sign * mean[stratum]
        at = stratum[received]
        scores[received] += sign * weight[at] * (columns.y[received] - mean[at])
    return scores
