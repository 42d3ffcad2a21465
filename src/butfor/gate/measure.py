"""From evidence to bounds: everything about a decision that takes data, and nothing that takes a threshold."""

from __future__ import annotations

import dataclasses
import math
from typing import TYPE_CHECKING, TypeAlias

from butfor.errors import InputError
from butfor.estimation.answers import Effect, EffectEstimate, Insufficient
from butfor.estimation.cells import Cells
from butfor.estimation.columns import Columns
from butfor.estimation.dispatch import default_method, estimate
from butfor.estimation.few_events import two_valued
from butfor.estimation.questions import Contrast, Level, Randomised
from butfor.estimation.saturated import MANY_UNITS
from butfor.gate.coding import code_of, coded_target, stratum_codes
from butfor.gate.overflow import overflow_refused
from butfor.gate.risk import Risk, bound_risk
from butfor.identification import Adjustment, Checked, Hedge, Proof, check

if TYPE_CHECKING:
    from butfor.estimation.questions import Target
    from butfor.gate.inputs import Inputs
    from butfor.gate.worst_case import WorstCase

Data: TypeAlias = Columns | Cells


@dataclasses.dataclass(frozen=True, kw_only=True, eq=False)
class Measured:
    """What the evidence says about one action.

    Attributes:
        checked: What the independent checker says of the proof or hedge.
        contrast: E[Y | do(t*)] − E[Y | do(t0)], or why there is none; None where it is not identified.
        level: E[Y | do(t*)], likewise.
        worst: A bound that holds without identification, where one was asked for and can be.
        risk: The bound on the risk; None where the policy states no limit.
    """

    checked: Checked
    contrast: Effect | None = None
    level: Effect | None = None
    worst: WorstCase | None = None
    risk: Risk | None = None


def measure(inputs: Inputs) -> Measured:
    """Check the answer, and bound the effect and the risk.

    Guarantee: each lower bound is above the truth with probability at most the inputs' alpha, as far as the estimator
    named in it keeps its level; the decision needs the one that τ_u meets, so no alpha is split.

    Raises:
        InputError: Evidence, query and rules do not belong together.
    """
    with overflow_refused():
        return _measured(inputs)


def _measured(inputs: Inputs) -> Measured:
    checked = _checked(inputs)
    if not checked.ok:
        return Measured(checked=checked)
    data = _stratum(inputs)
    if isinstance(data, Insufficient):
        return Measured(checked=checked, contrast=data, level=data)
    _within_range(inputs, data)
    rules = inputs.rules
    if isinstance(inputs.answer, Hedge):
        # SciPy's exact bounds are loaded only where nothing is identified.
        from butfor.gate.worst_case import worst_case

        worst = worst_case(inputs, data) if rules.may_clear_unidentified else None
        risk = bound_risk(inputs, data, None) if worst is not None else None
        return Measured(checked=checked, worst=worst, risk=risk)
    contrast = _effect(inputs, data, Contrast(to=rules.to, against=rules.against))
    level = _effect(inputs, data, Level(at=rules.to))
    risk = bound_risk(inputs, data, level) if rules.preset.bounds_risk else None
    return Measured(checked=checked, contrast=contrast, level=level, risk=risk)


def _checked(inputs: Inputs) -> Checked:
    if isinstance(inputs.answer, Randomised):
        ok = inputs.sample.kind == "randomised"
        return Checked(ok=ok, reason="" if ok else f"the evidence is {inputs.sample.kind}, not randomised")
    return check(inputs.graph, inputs.query, inputs.answer)


def _stratum(inputs: Inputs) -> Data | Insufficient:
    """Return the units of the stratum, or that there are none; cells where rows would be reduced to them anyway."""
    data, query = inputs.sample.data, inputs.query
    if set(inputs.within) != set(query.given):
        raise InputError(
            f"the stratum is {sorted(inputs.within)}, the query's {sorted(query.given)}", fix="give each a value"
        )
    for name in query.given:
        code = code_of(inputs.sample, name, inputs.within[name])
        if isinstance(data, Cells):
            present = name in data.strata and bool((data.keys[:, data.strata.index(name)] == code).any())
            data = data.within(name, code) if present and code is not None else data
        else:
            data.require([name])
            present = code is not None and bool((data.table[name] == code).any())
            data = data.where(data.table[name] == code) if present else data
        if not present:
            return Insufficient(
                reason_code="insufficient_evidence",
                sentence=f"the evidence has no unit with {name} = {inputs.within[name]!r}",
            )
    return _reduced(inputs, data) if isinstance(data, Columns) else data


def _reduced(inputs: Inputs, columns: Columns) -> Data:
    """Count many rows once; the estimators would each do the same (`estimation.saturated`)."""
    answer, preset = inputs.answer, inputs.rules.preset
    if columns.n <= MANY_UNITS or columns.time is not None or columns.clusters is not None or preset.method is not None:
        return columns
    if not (isinstance(answer, Proof) and isinstance(answer.argument, Adjustment)):
        return columns
    names = answer.argument.adjust_for
    columns.require(names)
    if default_method(names, columns) != "saturated":
        return columns
    return Cells.of(columns, (*inputs.query.given, *names))


def _within_range(inputs: Inputs, data: Data) -> None:
    declared, rules = inputs.rules.outcome_range, inputs.rules
    if declared is None:
        return
    low, high = declared
    if isinstance(data, Cells):
        fits = not (rules.two_valued and (low, high) == (0.0, 1.0)) or two_valued(data) == 1
    elif rules.two_valued:
        fits = bool(((data.y == low) | (data.y == high)).all())
    else:
        fits = bool(data.y.min() >= low and data.y.max() <= high)
    if not fits:
        kind = "two-valued outcome" if rules.two_valued else "range"
        raise InputError(
            f"outcomes of the evidence leave the declared {kind} [{low:g}, {high:g}]", fix="correct either"
        )


def _effect(inputs: Inputs, data: Data, target: Target) -> Effect:
    rules, alpha = inputs.rules, inputs.level
    seen = coded_target(inputs, target)
    if isinstance(seen, Insufficient):
        return seen
    if isinstance(data, Cells):
        if rules.preset.method is not None:
            return Insufficient(reason_code="unsupported", sentence="this preset's estimator needs rows, not cells")
        return estimate(inputs.query, _proof(inputs), data, target=seen, alpha=alpha, within=stratum_codes(inputs))
    if isinstance(inputs.answer, Randomised) and rules.preset.method == "ols_as_published":
        from butfor.estimation.least_squares import ols_as_published

        return ols_as_published(data, inputs.answer.adjust_for, target=target, alpha=alpha)
    return estimate(
        inputs.query,
        _proof(inputs),
        data,
        target=target,
        alpha=alpha,
        outcome_range=rules.outcome_range if rules.preset.finite_sample_trials else None,
        within=inputs.within,
        method=rules.preset.method,
        graph=inputs.graph,
    )


def _proof(inputs: Inputs) -> Proof | Randomised:
    assert not isinstance(inputs.answer, Hedge)
    return inputs.answer


def estimated(effect: Effect | None) -> EffectEstimate | None:
    """Return an effect whose bounds are numbers; None for everything else."""
    if not isinstance(effect, EffectEstimate):
        return None
    upper = effect.lower if effect.upper is None else effect.upper
    finite = math.isfinite(effect.point) and math.isfinite(effect.lower) and math.isfinite(upper)
    return effect if finite else None
