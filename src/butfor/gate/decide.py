"""The verdict: pure, deterministic, and closed unless a proof and a bound open it.

`measure` turns evidence into bounds, `judge` holds them against the thresholds, `decide` is both and never raises.
"""

from __future__ import annotations

import dataclasses
import math
from typing import TYPE_CHECKING

from butfor.errors import ButforError
from butfor.estimation.answers import Insufficient
from butfor.estimation.questions import Randomised
from butfor.gate.inputs import Inputs
from butfor.gate.measure import Measured, estimated, measure
from butfor.gate.rules import SMALLEST_LEVEL
from butfor.gate.verdict import REASONS
from butfor.identification import Hedge

if TYPE_CHECKING:
    from collections.abc import Callable

    from butfor.estimation.answers import Effect
    from butfor.gate.rules import BoundOn, Rules
    from butfor.gate.verdict import Reason, Verdict
    from butfor.gate.worst_case import WorstCase

__all__ = ["Decision", "Inputs", "decide", "decide_by", "judge", "refused"]

# Re-derived numbers agree to this, relative to the interval's own scale; a bound nearer to τ_u proves nothing.
AGREE = 1e-9


@dataclasses.dataclass(frozen=True, kw_only=True, eq=False)
class Decision:
    """A verdict and what it follows from.

    Attributes:
        verdict: EXECUTE, REJECT, EXPERIMENT or ABSTAIN.
        reason: The reason code; `REASONS` says what it means.
        missing: Each assumption, hedge or bound that failed, in words; empty for EXECUTE.
        bound_on: Which of contrast and level τ_u meets.
        lower: The lower bound that τ_u meets; None where there is none.
        upper: The upper bound of the same; None where there is none.
        alpha: Error level of each bound.
        measured: Bounds and the check of the proof; None where the decision came before the data.
    """

    verdict: Verdict
    reason: Reason
    missing: tuple[str, ...]
    bound_on: BoundOn = "contrast"
    lower: float | None = None
    upper: float | None = None
    alpha: float | None = None
    measured: Measured | None = None

    @property
    def proven(self) -> bool:
        """Whether proof and bound open the way; EXECUTE may still take an approval."""
        return self.reason in ("bound_met", "approval_missing")


def decide(inputs: Inputs) -> Decision:
    """Decide, from the inputs alone.

    Guarantee: P(EXECUTE | the effect is at most τ_u) ≤ alpha if the assumptions hold. Nothing but a checked proof and a
    bound above τ_u leads to EXECUTE; whatever cannot be computed is a refusal with its reason.
    """
    return decide_by(inputs, measure)


def decide_by(inputs: Inputs, measure_with: Callable[[Inputs], Measured]) -> Decision:
    """Decide, with the bounds from a measurement that may be remembered; see `decide`."""
    try:
        early = before_data(inputs)
        return early if early is not None else judge(inputs, measure_with(inputs))
    except ButforError as error:
        return refused("error", str(error))
    except Exception as error:  # noqa: BLE001  fail closed: a fault in an estimator must not open the gate
        return refused("error", f"{type(error).__name__}: {error}")


def refused(reason: Reason, *missing: str) -> Decision:
    """Return a refusal that no data were looked at for."""
    row = REASONS[reason]
    return Decision(verdict=row.verdict, reason=reason, missing=(*missing,) or (row.sentence,))


def withheld(decision: Decision, *missing: str) -> Decision:
    """Return what a proven decision is without the approval that its policy demands; bounds and proof stay."""
    row = REASONS["approval_missing"]
    said = (*missing,) or ("there is no approval of this exact call",)
    return dataclasses.replace(decision, verdict=row.verdict, reason="approval_missing", missing=said)


def before_data(inputs: Inputs) -> Decision | None:
    """Refuse what no evidence could change, so that it spends no error budget."""
    rules, sample = inputs.rules, inputs.sample
    if problem := _unusable(rules, inputs.level):
        return refused("error", problem)
    if isinstance(inputs.answer, Hedge):
        return None
    if not rules.cheap:
        return refused("cost_exceeded", _cost_words(rules))
    if rules.max_age is not None and not (sample.age is not None and sample.age <= rules.max_age):
        age = "of unknown age" if sample.age is None else f"{sample.age:.0f} s old"
        return refused("stale", f"the evidence is {age}, the policy allows {rules.max_age:.0f} s")
    return None


def judge(inputs: Inputs, measured: Measured) -> Decision:
    """Hold what was measured against the thresholds."""
    if not measured.checked.ok:
        return _decision(inputs, measured, "error", f"the checker refused the proof: {measured.checked.reason}")
    if isinstance(inputs.answer, Hedge):
        return _judge_unidentified(inputs, measured)
    effect = measured.contrast if inputs.rules.bound_on == "contrast" else measured.level
    return _judge_bounds(inputs, measured, effect)


def _judge_unidentified(inputs: Inputs, measured: Measured) -> Decision:
    """A worst-case bound can only open the way: where it does not, nothing is known and the triage is the paper's."""
    rules, worst, hedge = inputs.rules, measured.worst, inputs.answer
    assert isinstance(hedge, Hedge)
    words = [_hedge_words(hedge)]
    if worst is not None:
        found = _judge_worst_case(inputs, measured, worst)
        if found.verdict == "EXECUTE":
            return found
        words += found.missing
    if rules.may_try:
        return _decision(inputs, measured, "not_identified_reversible", *words)
    return _decision(inputs, measured, "not_identified", *words, *_no_trial(rules))


def _judge_worst_case(inputs: Inputs, measured: Measured, worst: WorstCase) -> Decision:
    early = before_data(dataclasses.replace(inputs, answer=Randomised()))
    if early is not None:
        return early
    if not _above(worst.lower, inputs.rules.tau_u, worst.upper):
        words = f"the worst-case bound {_number(worst.lower)} is not above τ_u = {inputs.rules.tau_u:g}"
        return _decision(inputs, measured, "insufficient_evidence", words)
    return _judge_further(inputs, measured)


def _judge_bounds(inputs: Inputs, measured: Measured, effect: Effect | None) -> Decision:
    rules, found = inputs.rules, estimated(effect)
    if contradicted := _contradicted(inputs):
        return _decision(inputs, measured, "graph_falsified", contradicted)
    if found is None:
        return _no_bound(inputs, measured, effect)
    if found.upper is not None and _above(rules.tau_u, found.upper, found.lower):
        words = f"the upper bound {found.upper:.4g} of the {rules.bound_on} is below τ_u = {rules.tau_u:g}"
        return _decision(inputs, measured, "shown_harmful", words)
    if not _above(found.lower, rules.tau_u, found.lower if found.upper is None else found.upper):
        words = f"the lower bound {found.lower:.4g} of the {rules.bound_on} is not above τ_u = {rules.tau_u:g}"
        return _thin(inputs, measured, words)
    return _judge_further(inputs, measured)


def _judge_further(inputs: Inputs, measured: Measured) -> Decision:
    """The bound is above τ_u: risk and the policy's demands remain."""
    rules = inputs.rules
    if rules.preset.bounds_risk and rules.tau_r is not None:
        risk = measured.risk
        if risk is None or risk.upper is None or not risk.upper <= rules.tau_r:
            said = "unknown" if risk is None else _number(risk.upper)
            words = f"the upper bound of the risk is {said}, the policy allows {rules.tau_r:g}"
            return _decision(inputs, measured, "risk_exceeded", words)
    if contradicted := _contradicted(inputs):
        return _decision(inputs, measured, "graph_falsified", contradicted)
    if fragile := _fragile(inputs):
        return _decision(inputs, measured, "not_robust", *fragile)
    return _decision(inputs, measured, "bound_met")


def _no_bound(inputs: Inputs, measured: Measured, effect: Effect | None) -> Decision:
    if not isinstance(effect, Insufficient):
        return _decision(inputs, measured, "error", "the estimator returned no finite bound")
    words = f"no bound: {effect.sentence}"
    # Where hardly anybody got a treatment, a trial gives it; only where none may be made is it the last word.
    if effect.reason_code == "positivity" and not (inputs.rules.preset.thin_to_experiment and inputs.rules.may_try):
        return _decision(inputs, measured, "positivity", words)
    if effect.reason_code == "stale":
        return _decision(inputs, measured, "stale", words)
    return _thin(inputs, measured, words)


def _thin(inputs: Inputs, measured: Measured, words: str) -> Decision:
    rules = inputs.rules
    if rules.preset.thin_to_experiment and rules.may_try:
        return _decision(inputs, measured, "insufficient_reversible", words)
    return _decision(inputs, measured, "insufficient_evidence", words)


def _contradicted(inputs: Inputs) -> str | None:
    """Say what speaks against the graph, where the policy or the preset asks; a trial's rows need no graph."""
    rules, report = inputs.rules, inputs.robustness
    if isinstance(inputs.answer, Randomised) or not (rules.preset.tests_graph or rules.demands.falsification):
        return None
    if report is None or report.falsification is None:
        # Cells do not hold what the tests need. The preset shows that; only the policy can demand it.
        return "the graph was not tested on the evidence" if rules.demands.falsification else None
    return report.falsification.in_words() if report.falsification.refuted else None


def _fragile(inputs: Inputs) -> tuple[str, ...]:
    """Say which demanded robustness is not there."""
    demands, report = inputs.rules.demands, inputs.robustness
    if isinstance(inputs.answer, Randomised):
        return ()
    if report is None:
        asked = demands.mutations or demands.robustness is not None or demands.odds_factor is not None
        return ("the robustness that the policy demands was not examined",) if asked else ()
    return report.unmet(demands)


def _decision(inputs: Inputs, measured: Measured, reason: Reason, *missing: str) -> Decision:
    rules, worst = inputs.rules, measured.worst
    effect = estimated(measured.contrast if rules.bound_on == "contrast" else measured.level)
    lower, upper = (effect.lower, effect.upper) if effect is not None else (None, None)
    if worst is not None and math.isfinite(worst.lower):
        lower, upper = worst.lower, worst.upper
    return Decision(
        verdict=REASONS[reason].verdict,
        reason=reason,
        missing=missing,
        bound_on=rules.bound_on,
        lower=None if lower is None else float(lower),
        upper=None if upper is None else float(upper),
        alpha=inputs.level,
        measured=measured,
    )


def _above(one: float, other: float, scale: float) -> bool:
    """Say whether one number is above the other by more than a re-derivation may differ; false for NaN."""
    reach = max(abs(one), abs(other), abs(scale))
    return math.isfinite(reach) and one - other > AGREE * reach


def _unusable(rules: Rules, alpha: float) -> str | None:
    numbers = {"alpha": alpha, "tau_u": rules.tau_u, "cost": rules.cost}
    for name, value in numbers.items():
        if not math.isfinite(value):
            return f"the policy's {name} is {value!r}, not a number"
    if not SMALLEST_LEVEL <= alpha < 0.5:
        return f"the error level {alpha!r} is not from {SMALLEST_LEVEL:g} to 0.5"
    return None


def _cost_words(rules: Rules) -> str:
    limit = rules.cost_limit
    name = "τ_c" if rules.preset.cost_limit == "tau_c" else "τ_r"
    if limit is None:
        return f"the policy does not state {name}, which the declared cost {rules.cost:g} must meet"
    return f"the declared cost {rules.cost:g} is above {name} = {limit:g}"


def _hedge_words(hedge: Hedge) -> str:
    edges = ", ".join(f"{one} <-> {other}" for one, other in hedge.blocking)
    return f"the effect of {hedge.query.treatments[0]} on {hedge.query.outcomes[0]} is not identified: {edges}"


def _no_trial(rules: Rules) -> tuple[str, ...]:
    if rules.trial is None:
        return ("the policy allows no trial of this action",)
    return ("the action is not reversible, so no trial is open",) if not rules.reversible else (_cost_words(rules),)


def _number(value: float | None) -> str:
    return "unknown" if value is None or not math.isfinite(value) else f"{value:.4g}"
