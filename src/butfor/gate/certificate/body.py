"""The certificate's body: everything that the verdict follows from, and what it does not say."""

from __future__ import annotations

import dataclasses
import functools
import importlib.metadata
import math
import platform
from typing import TYPE_CHECKING

from butfor.estimation.answers import EffectEstimate
from butfor.estimation.cells import Cells
from butfor.estimation.questions import Randomised
from butfor.gate.assumptions import NOT_CHECKED, Assumption, assumption, of_estimator
from butfor.gate.certificate.sums import cells_document
from butfor.gate.measure import estimated
from butfor.identification import Hedge, Proof

if TYPE_CHECKING:
    from collections.abc import Mapping

    from butfor.canonical import Json
    from butfor.estimation.answers import Effect
    from butfor.gate.decide import Decision
    from butfor.gate.inputs import Inputs
    from butfor.gate.worst_case import WorstCase

SCHEMA = "butfor.certificate/1"
RANDOMISED_SCHEMA = "butfor.randomised/1"

SAYS: tuple[str, ...] = (
    "If the assumptions hold, an action that is no better than τ_u gets EXECUTE with probability at most alpha.",
    "It does not say how likely this action is harmful now that it was executed.",
    "It says nothing of effects on anything but the named outcome.",
    "It does not say that no better action exists; the gate never proposes one.",
    "It rests on the graph: a hidden common cause that the graph leaves out can make it wrong.",
    "Published error rates of the method come from synthetic benchmarks.",
)
"""What every certificate says, and does not."""


@dataclasses.dataclass(frozen=True, kw_only=True)
class Head:
    """What a certificate says beyond the decision itself.

    Attributes:
        id: The decision's id.
        at: When, ISO 8601 in UTC.
        mode: observe or enforce.
        agent: Who asked.
        tool: The tool.
        call: Digest of the exact canonical call.
        context: Value, source and time of each context variable.
        policy: digest, preset and entry.
        commitment: The graph's commitment; None where there is none.
        evidence: Description, level, query and lineage of the evidence; None where none was read.
        budget: family, epoch, place, alpha; None where nothing was spent.
        approval: The approval that EXECUTE used; None where none was demanded, or none was there.
    """

    id: str
    at: str
    mode: str
    agent: str
    tool: str
    call: str | None
    context: Mapping[str, Json]
    policy: Mapping[str, Json]
    commitment: Json
    evidence: Mapping[str, Json] | None
    budget: Json
    approval: Json = None


def body(head: Head, decision: Decision, inputs: Inputs | None) -> dict[str, Json]:
    """Return the body of a decision's certificate.

    Args:
        head: Who asked what, when, under which policy.
        decision: The verdict.
        inputs: What it was decided from; None where the call was refused before there were any.
    """
    return {**of_the_call(head, decision, inputs), **of_the_question(head, decision, inputs)}


def of_the_call(head: Head, decision: Decision, inputs: Inputs | None) -> dict[str, Json]:
    """Return the fields that differ between two calls that ask the same."""
    found = {
        "decision": {
            "id": head.id,
            "at": head.at,
            "verdict": decision.verdict,
            "reason": decision.reason,
            "missing": list(decision.missing),
            "mode": head.mode,
            "evidence_age": None if inputs is None else number(inputs.sample.age),
        },
        "action": _action(head, inputs),
    }
    # Left out where nothing was used, as in every certificate from before approvals could be demanded.
    return found if head.approval is None else {**found, "approval": head.approval}


def of_the_question(head: Head, decision: Decision, inputs: Inputs | None) -> dict[str, Json]:
    """Return the fields that are the same whenever the same is asked of the same evidence under the same policy."""
    return {
        "schema": SCHEMA,
        "policy": dict(head.policy),
        "graph": _graph(head, inputs),
        "assumptions": [each._asdict() for each in assumptions_of(decision, inputs)],
        **_identification(decision, inputs),
        "estimate": _estimate(decision, inputs),
        "risk": _risk(decision, inputs),
        "robustness": _robustness(inputs),
        "provenance": _provenance(head, inputs),
        "budget": head.budget,
        "says": list(SAYS),
    }


def _action(head: Head, inputs: Inputs | None) -> dict[str, Json]:
    rules = None if inputs is None else inputs.rules
    return {
        "tool": head.tool,
        "agent": head.agent,
        "call": head.call,
        "treatment": None if inputs is None else inputs.query.treatments[0],
        "to": None if rules is None else rules.to,
        "against": None if rules is None else rules.against,
        "outcome": None if inputs is None else inputs.query.outcomes[0],
        "cost": None if rules is None else rules.cost,
        "reversible": None if rules is None else rules.reversible,
        "stratum": {} if inputs is None else dict(inputs.within),
        "context": dict(head.context),
    }


def _graph(head: Head, inputs: Inputs | None) -> Json:
    if inputs is None:
        return None
    return {
        "document": inputs.graph.to_json(),
        "digest": inputs.graph.digest,
        "commitment": head.commitment,
        "query": inputs.query.to_json(),
    }


def _identification(decision: Decision, inputs: Inputs | None) -> dict[str, Json]:
    """Return proof and hedge; one of them is null, and both where the call was refused before either."""
    worst = _opening_worst_case(decision)
    if worst is not None:
        return {"proof": worst.to_json(), "hedge": None}
    if inputs is None:
        return {"proof": None, "hedge": None}
    if isinstance(inputs.answer, Hedge):
        return {"proof": None, "hedge": inputs.answer.to_json()}
    if isinstance(inputs.answer, Randomised):
        proof = {"schema": RANDOMISED_SCHEMA, "kind": "randomised", "adjust_for": list(inputs.answer.adjust_for)}
        return {"proof": proof, "hedge": None}
    return {"proof": inputs.answer.to_json(), "hedge": None}


def _opening_worst_case(decision: Decision) -> WorstCase | None:
    measured = decision.measured
    return measured.worst if measured is not None and decision.proven else None


def _estimate(decision: Decision, inputs: Inputs | None) -> Json:
    measured = decision.measured
    if measured is None or inputs is None:
        return None
    return {
        "level": _effect(measured.level),
        "contrast": _effect(measured.contrast),
        "worst_case": _worst(measured.worst),
        "bound_on": decision.bound_on,
        "lower": number(decision.lower),
        "upper": number(decision.upper),
        "tau_u": inputs.rules.tau_u,
        "alpha": number(decision.alpha),
    }


def _effect(effect: Effect | None) -> Json:
    """Return an effect as JSON; one whose bounds are no numbers was never used, and its numbers are left out."""
    if effect is None:
        return None
    if isinstance(effect, EffectEstimate) and estimated(effect) is None:
        return None
    document = effect.to_json()
    for name in ("point", "lower", "upper", "alpha"):
        if name in document:
            document[name] = number(document[name])
    document["diagnostics"] = {name: number(value) for name, value in document["diagnostics"].items()}
    return document


def _worst(worst: WorstCase | None) -> Json:
    if worst is None:
        return None
    found = {**worst.to_json(), "lower": number(worst.lower), "upper": number(worst.upper)}
    bounds = worst.bounds
    words = getattr(bounds, "method", None) or getattr(bounds, "reason", "")
    return {**found, "words": words, "guarantee": getattr(bounds, "guarantee", None)}


def _risk(decision: Decision, inputs: Inputs | None) -> Json:
    if inputs is None:
        return None
    rules = inputs.rules
    risk = None if decision.measured is None else decision.measured.risk
    return {
        "cost": rules.cost,
        "tau_c": rules.tau_c,
        "cost_limit": rules.preset.cost_limit,
        "harm_line": rules.harm_line,
        "bound": None if risk is None else number(risk.upper),
        "point": None if risk is None else number(risk.point),
        "words": None if risk is None else risk.words,
        "tau_r": rules.tau_r,
    }


def _robustness(inputs: Inputs | None) -> Json:
    if inputs is None or inputs.robustness is None:
        return {"falsification": None, "mutations": None, "strength": None}
    return inputs.robustness.to_json()


def _provenance(head: Head, inputs: Inputs | None) -> Json:
    if inputs is None or head.evidence is None:
        return {"level": None, "versions": versions()}
    data = inputs.sample.data
    cells = isinstance(data, Cells)
    harmed = inputs.sample.harmed
    return {
        **head.evidence,
        "evidence": inputs.sample.digest,
        "kind": inputs.sample.kind,
        "statistics": cells_document(data) if isinstance(data, Cells) else None,
        "harmed": None if harmed is None else cells_document(harmed),
        "levels": {name: list(texts) for name, texts in inputs.sample.levels.items()} if cells else {},
        "versions": versions(),
    }


def assumptions_of(decision: Decision, inputs: Inputs | None) -> tuple[Assumption, ...]:
    """Return the assumptions that the verdict rests on, each with how it was checked."""
    if inputs is None or decision.measured is None:
        return ()
    found = [assumption("consistency")]
    trial = isinstance(inputs.answer, Randomised)
    if trial:
        found.append(assumption("assigned_at_random"))
    elif _opening_worst_case(decision) is None:
        found.append(assumption("graph_correct", _graph_checked(inputs)))
    if inputs.sample.kind == "policy-confounded":
        found.append(assumption("agent_saw_no_more"))
    if isinstance(inputs.answer, Proof) and inputs.answer.kind == "instrument":
        found.append(assumption(inputs.answer.argument.assumption))  # type: ignore[union-attr]
    if inputs.rules.outcome_range is not None:
        found.append(assumption("outcome_range", "checked: no unit of the evidence lies outside it"))
    found += _of_the_estimate(decision)
    return tuple({each.code: each for each in reversed(found)}.values())[::-1]


def _of_the_estimate(decision: Decision) -> list[Assumption]:
    measured = decision.measured
    assert measured is not None
    worst = measured.worst
    if worst is not None and hasattr(worst.bounds, "assumptions"):
        return [of_estimator(words, {}) for words in worst.bounds.assumptions]
    effect = estimated(measured.contrast if decision.bound_on == "contrast" else measured.level)
    if effect is None:
        return []
    return [of_estimator(words, effect.diagnostics) for words in effect.assumptions]


def _graph_checked(inputs: Inputs) -> str:
    report = inputs.robustness
    return NOT_CHECKED if report is None or report.falsification is None else report.falsification.in_words()


def number(value: float | None) -> float | None:
    """Return a plain finite number, or None."""
    return float(value) if value is not None and math.isfinite(value) else None


@functools.cache
def versions() -> dict[str, str]:
    """Return the versions that a re-derivation depends on."""
    return {name: importlib.metadata.version(name) for name in ("butfor", "numpy")} | {
        "python": platform.python_version()
    }
