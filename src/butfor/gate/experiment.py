"""What EXPERIMENT asks for: the query, the arms, how many units, and what stands in the way without a trial."""

from __future__ import annotations

import dataclasses
import math
from statistics import NormalDist
from typing import TYPE_CHECKING, Any

from butfor.errors import InputError
from butfor.estimation.columns import Columns
from butfor.gate.signing.strict_json import canonical_bytes, digest, parse_strict
from butfor.identification import Hedge

if TYPE_CHECKING:
    from collections.abc import Mapping

    from butfor.canonical import Json
    from butfor.gate.decide import Decision
    from butfor.gate.inputs import Inputs
    from butfor.gate.rules import Rules

REQUEST_SCHEMA = "butfor.experiment/1"


@dataclasses.dataclass(frozen=True, kw_only=True)
class Size:
    """How many units a trial needs.

    Attributes:
        per_arm: Units of each of the two arms that are compared.
        words: The settings of the calculation, and what it assumes.
        within_cap: Whether the policy's cap allows it.
    """

    per_arm: int
    words: str
    within_cap: bool


@dataclasses.dataclass(frozen=True, kw_only=True)
class Request:
    """A trial that would decide the action.

    Attributes:
        decision: Id of the decision that asked for it.
        entry: The policy entry's name.
        tool: The tool.
        call: Digest of the exact call.
        treatment: What is assigned.
        outcome: What is measured.
        arms: The values to assign, t* and t0 among them.
        to: t*.
        against: t0.
        stratum: The units that it is about.
        size: How many units.
        most_units: The policy's cap.
        reason: Why there is no answer without it.
        blocked_by: The latent edges that block identification, from the hedge.
        remedies: What else would give an answer.
    """

    decision: str
    entry: str
    tool: str
    call: str
    treatment: str
    outcome: str
    arms: tuple[float | str, ...]
    to: float | str
    against: float | str
    stratum: Mapping[str, float | str]
    size: Size
    most_units: int
    reason: str
    blocked_by: tuple[str, ...]
    remedies: tuple[str, ...]

    @property
    def digest(self) -> str:
        """The tagged SHA-256 of the request."""
        return digest(self.to_json())

    def to_json(self) -> dict[str, Json]:
        """Return plain JSON values."""
        fields = dataclasses.asdict(self)
        lists = {name: list(value) for name, value in fields.items() if isinstance(value, tuple)}
        return {"schema": REQUEST_SCHEMA, **fields, **lists, "stratum": dict(self.stratum)}

    @classmethod
    def read(cls, data: bytes) -> Request:
        """Read a request.

        Raises:
            InputError: It is not one.
        """
        document = parse_strict(data)
        names = {field.name for field in dataclasses.fields(cls)}
        if (
            not isinstance(document, dict)
            or document.get("schema") != REQUEST_SCHEMA
            or set(document) - {"schema"} != names
        ):
            raise InputError("this is no request for an experiment", fix="pass what `butfor gate decide` printed")
        fields: dict[str, Any] = {
            name: tuple(v) if isinstance(v, list) else v for name, v in document.items() if name != "schema"
        }
        try:
            made = cls(**{**fields, "size": Size(**fields["size"])})
            canonical_bytes(made.to_json())
        except (TypeError, ValueError) as error:
            raise InputError(f"the request cannot be read ({error})", fix="pass it as it was printed") from None
        return made


def request_for(
    decision: Decision, inputs: Inputs, *, decision_id: str, entry: str, tool: str, call: str
) -> Request | None:
    """Return the trial that an EXPERIMENT verdict asks for; None for another verdict."""
    rules = inputs.rules
    if decision.verdict != "EXPERIMENT" or rules.trial is None:
        return None
    hedge = inputs.answer if isinstance(inputs.answer, Hedge) else None
    return Request(
        decision=decision_id,
        entry=entry,
        tool=tool,
        call=call,
        treatment=inputs.query.treatments[0],
        outcome=inputs.query.outcomes[0],
        arms=rules.trial.arms,
        to=rules.to,
        against=rules.against,
        stratum=dict(inputs.within),
        size=size_of(rules, inputs),
        most_units=rules.trial.most_units,
        reason="; ".join(decision.missing),
        blocked_by=() if hedge is None else tuple(f"{one} <-> {other}" for one, other in hedge.blocking),
        remedies=_remedies(inputs, hedge),
    )


def size_of(rules: Rules, inputs: Inputs) -> Size:
    """Size a two-arm trial with equal arms.

    Estimand: the units per arm at which a true effect of τ_u + `effect` puts a one-sided level-alpha lower bound above
    τ_u with the stated power.
    Assumptions: normal means; the outcome's standard deviation is that of the evidence, or half of the declared range,
    which is the largest that it can be.
    Guarantee: heuristic; the trial's own bound decides, and keeps its level at any number of units.
    Reference: Lachin, *Introduction to sample size determination*, 1981.
    """
    trial = rules.trial
    assert trial is not None
    deviation, source = _deviation(rules, inputs)
    arms = 2.0 if rules.bound_on == "contrast" else 1.0
    quantile = NormalDist().inv_cdf
    reach = quantile(1.0 - inputs.level) + quantile(trial.power)
    n = max(1, math.ceil(arms * (reach * deviation / trial.effect) ** 2))
    words = (
        f"to find an effect of {rules.tau_u + trial.effect:g} with power {trial.power:g} at level {inputs.level:.4g}, "
        f"standard deviation {deviation:.3g} ({source}), normal means, equal arms"
    )
    return Size(per_arm=n, words=words, within_cap=n * len(trial.arms) <= trial.most_units)


def _deviation(rules: Rules, inputs: Inputs) -> tuple[float, str]:
    if rules.outcome_range is not None:
        return (rules.outcome_range[1] - rules.outcome_range[0]) / 2.0, "half of the declared range"
    data = inputs.sample.data
    if isinstance(data, Columns):
        return max(float(data.y.std()), 1e-12), "of the outcome in the evidence"
    n, total, squares = (float(part.sum()) for part in (data.n, data.total, data.squares))
    return max(math.sqrt(max(0.0, squares / n - (total / n) ** 2)) * data.unit, 1e-12), "of the outcome in the evidence"


def _remedies(inputs: Inputs, hedge: Hedge | None) -> tuple[str, ...]:
    if hedge is None:
        return ("More evidence of the same kind narrows the bound.",)
    from butfor.identification import remedies

    return tuple(remedy.text for remedy in remedies(inputs.graph, hedge))
