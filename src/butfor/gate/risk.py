"""The upper bound on what an action may do: the chance of harm, or the expected loss."""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING

import numpy as np

from butfor.estimation.answers import EffectEstimate
from butfor.estimation.cells import Cells
from butfor.estimation.few_events import two_valued
from butfor.estimation.questions import Level, Randomised
from butfor.estimation.risk import harm
from butfor.estimation.standardise import standardise
from butfor.gate.coding import code_of, treatment_code
from butfor.identification import Adjustment, Hedge, Proof

if TYPE_CHECKING:
    from butfor.estimation.answers import Effect
    from butfor.estimation.columns import Columns
    from butfor.gate.inputs import Inputs


@dataclasses.dataclass(frozen=True, kw_only=True)
class Risk:
    """An upper bound on the risk.

    Attributes:
        upper: The bound, above the risk except with probability alpha; None where there is none.
        point: The estimate, where there is one.
        words: Estimator in words, or why there is no bound.
    """

    upper: float | None
    point: float | None
    words: str


def bound_risk(inputs: Inputs, data: Columns | Cells, level: Effect | None) -> Risk | None:
    """Bound P(Y < harm line | do(t*)), or E[−Y | do(t*)] where no harm line is drawn.

    Estimand: as named.
    Assumptions: those of the estimator; where it gives no bound, only consistency and independent rows (Manski).
    Guarantee: above the risk except with probability alpha, as far as the estimator keeps its level.
    Reference: Manski 1990 for the bound without identification.

    Args:
        inputs: What is decided from.
        data: The stratum's units or cells.
        level: E[Y | do(t*)] as estimated; None where it is not identified.

    Returns:
        The bound; None where the policy states no limit.
    """
    rules = inputs.rules
    if rules.tau_r is None:
        return None
    if rules.harm_line is None:
        return _loss(level)
    found = _harm(inputs, data) if not isinstance(inputs.answer, Hedge) else None
    if isinstance(found, EffectEstimate) and found.upper is not None and np.isfinite(found.upper):
        return Risk(upper=float(found.upper), point=float(found.point), words=found.estimator)
    return _worst_harm(inputs, data)


def _loss(level: Effect | None) -> Risk:
    if not isinstance(level, EffectEstimate):
        return Risk(upper=None, point=None, words="the expected loss has no bound: the level is not estimated")
    return Risk(upper=-float(level.lower), point=-float(level.point), words=f"E[-outcome]: {level.estimator}")


def _harm(inputs: Inputs, data: Columns | Cells) -> Effect | None:
    line, at = inputs.rules.harm_line, inputs.rules.to
    assert line is not None
    assert isinstance(inputs.answer, Proof | Randomised)
    if not isinstance(data, Cells):
        return harm(
            inputs.query,
            inputs.answer,
            data,
            at=at,
            below=line,
            alpha=inputs.level,
            graph=inputs.graph,
            within=inputs.within,
        )
    cells = harm_cells(inputs, data)
    if cells is None:
        return None
    names = _adjusted(inputs.answer)
    if names is None:
        return None
    return standardise(
        cells.over(names), target=Level(at=treatment_code(inputs)), alpha=inputs.level, outcome_range=(0.0, 1.0)
    )


def _adjusted(answer: Proof | Randomised) -> tuple[str, ...] | None:
    if isinstance(answer, Randomised):
        return answer.adjust_for
    return answer.argument.adjust_for if isinstance(answer.argument, Adjustment) else None


def harm_cells(inputs: Inputs, data: Cells) -> Cells | None:
    """Return the cells of 1{Y < harm line}, where the cells of Y or further ones tell."""
    line, given = inputs.rules.harm_line, inputs.sample.harmed
    if given is not None:
        for name in inputs.query.given:
            code = code_of(inputs.sample, name, inputs.within[name])
            given = given.within(name, float("nan") if code is None else code)
        return given
    if line is None or two_valued(data) != 1:
        return None
    harmed = data.n - data.total if 0.0 < line <= 1.0 else (data.n if line > 1.0 else np.zeros_like(data.n))
    return dataclasses.replace(data, total=harmed, squares=harmed)


def _worst_harm(inputs: Inputs, data: Columns | Cells) -> Risk:
    """Count every unit that did not get t* as harmed."""
    # SciPy's exact bounds are loaded only where nothing else gives one.
    from butfor.estimation.endpoints import Moments, Range
    from butfor.estimation.partial import Bounds, manski_level, manski_level_from_sums

    line, alpha, chance = inputs.rules.harm_line, inputs.level, Range(low=0.0, high=1.0, two_valued=True)
    assert line is not None
    if isinstance(data, Cells):
        cells = harm_cells(inputs, data)
        if cells is None:
            return Risk(
                upper=None, point=None, words="cells of the outcome do not tell how often it was below the line"
            )
        place = np.flatnonzero(cells.arms == treatment_code(inputs))
        n, harmed = (int(part[:, place].sum()) for part in (cells.n, cells.total))
        sums = Moments(n=n, total=float(harmed), squares=float(harmed))
        found = manski_level_from_sums(sums, rows=int(cells.n.sum()), limits=chance, alpha=alpha)
    else:
        found = manski_level(
            (data.y < line).astype(float),
            data.t,
            level=data.value(data.treatment, inputs.rules.to),
            limits=chance,
            alpha=alpha,
            clusters=data.clusters,
        )
    if not isinstance(found, Bounds):
        return Risk(upper=None, point=None, words=found.reason)
    return Risk(upper=float(found.upper_bound), point=float(found.upper), words=f"worst case: {found.method}")
