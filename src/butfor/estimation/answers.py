"""What estimation answers: an effect with a one-sided bound, or the reason why there is none."""

from __future__ import annotations

import dataclasses
import math
from typing import TYPE_CHECKING, Literal, TypeAlias, get_args

from butfor.errors import CorruptRecord

if TYPE_CHECKING:
    from collections.abc import Mapping

    from butfor.canonical import Json

ESTIMATE_SCHEMA = "butfor.estimate/1"
INSUFFICIENT_SCHEMA = "butfor.insufficient/1"

Target: TypeAlias = Literal["contrast", "level"]
Guarantee: TypeAlias = Literal[
    "finite_sample", "anytime_finite_sample", "asymptotic", "anytime_asymptotic", "heuristic"
]
ReasonCode: TypeAlias = Literal[
    "insufficient_evidence",
    "positivity",
    "separation",
    "weak_instrument",
    "leverage",
    "constant_outcome",
    "collinear",
    "autocorrelation",
    "stale",
    "unsupported",
]


@dataclasses.dataclass(frozen=True, kw_only=True)
class EffectEstimate:
    """An estimate of E[Y | do(t*)] (a level) or of E[Y | do(t*)] − E[Y | do(t0)] (a contrast).

    Attributes:
        point: The estimate.
        lower: One-sided lower bound: above the truth with probability at most alpha.
        upper: One-sided upper bound at the same alpha; None where the method gives none. The two together miss with
            probability at most 2·alpha.
        alpha: Allowed error of each bound.
        n_per_arm: Units behind each arm, by the arm's value as text.
        target: Which of the two it is.
        estimator: The method in words.
        assumptions: What must hold beyond the graph for alpha to be true.
        diagnostics: The measured quantities that could have refused this answer, by name.
        guarantee: What is proven about the bounds.
    """

    point: float
    lower: float
    upper: float | None
    alpha: float
    n_per_arm: Mapping[str, int]
    target: Target
    estimator: str
    assumptions: tuple[str, ...]
    diagnostics: Mapping[str, float]
    guarantee: Guarantee

    def to_json(self) -> dict[str, Json]:
        """Return plain JSON values."""
        plain = {field.name: getattr(self, field.name) for field in dataclasses.fields(self)}
        return {
            "schema": ESTIMATE_SCHEMA,
            **plain,
            "n_per_arm": dict(self.n_per_arm),
            "assumptions": list(self.assumptions),
            "diagnostics": dict(self.diagnostics),
        }


@dataclasses.dataclass(frozen=True, kw_only=True)
class Insufficient:
    """No bound, and why. Never to be read as 0.

    Attributes:
        reason_code: The reason, from a closed list.
        sentence: The reason in one sentence, with the measured number and its limit.
        diagnostics: Measured quantities, by name.
    """

    reason_code: ReasonCode
    sentence: str
    diagnostics: Mapping[str, float] = dataclasses.field(default_factory=dict)

    def to_json(self) -> dict[str, Json]:
        """Return plain JSON values."""
        return {
            "schema": INSUFFICIENT_SCHEMA,
            "reason_code": self.reason_code,
            "sentence": self.sentence,
            "diagnostics": dict(self.diagnostics),
        }


Effect: TypeAlias = EffectEstimate | Insufficient


def effect_from_json(document: Json) -> Effect:
    """Read what `to_json` of either answer wrote.

    Raises:
        CorruptRecord: A field is missing, surplus, of another type, or a bound is not a finite number.
    """
    if not isinstance(document, dict):
        raise CorruptRecord("expected an object", where="$")
    kind = {ESTIMATE_SCHEMA: EffectEstimate, INSUFFICIENT_SCHEMA: Insufficient}.get(str(document.get("schema")))
    if kind is None:
        raise CorruptRecord(f"an effect of the unknown schema {document.get('schema')!r}", where="$.schema")
    expected = {"schema", *(field.name for field in dataclasses.fields(kind))}
    if set(document) != expected:
        raise CorruptRecord(f"the fields {sorted(set(document) ^ expected)} are missing or surplus", where="$")
    return _estimate(document) if kind is EffectEstimate else _insufficient(document)


def _estimate(document: dict[str, Json]) -> EffectEstimate:
    if document["target"] not in get_args(Target) or document["guarantee"] not in get_args(Guarantee):
        raise CorruptRecord("an unknown target or guarantee", where="$.target")
    counts = document["n_per_arm"]
    if not isinstance(counts, dict) or not all(type(n) is int and n >= 0 for n in counts.values()):
        raise CorruptRecord("expected counts by arm", where="$.n_per_arm")
    return EffectEstimate(
        point=_number(document["point"], "$.point"),
        lower=_number(document["lower"], "$.lower"),
        upper=None if document["upper"] is None else _number(document["upper"], "$.upper"),
        alpha=_number(document["alpha"], "$.alpha"),
        n_per_arm=counts,
        target=document["target"],
        estimator=_text(document["estimator"], "$.estimator"),
        assumptions=_texts(document["assumptions"], "$.assumptions"),
        diagnostics=_numbers(document["diagnostics"], "$.diagnostics"),
        guarantee=document["guarantee"],
    )


def _insufficient(document: dict[str, Json]) -> Insufficient:
    if document["reason_code"] not in get_args(ReasonCode):
        raise CorruptRecord(f"the unknown reason {document['reason_code']!r}", where="$.reason_code")
    return Insufficient(
        reason_code=document["reason_code"],
        sentence=_text(document["sentence"], "$.sentence"),
        diagnostics=_numbers(document["diagnostics"], "$.diagnostics"),
    )


def _number(value: Json, where: str) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
        raise CorruptRecord("expected a finite number", where=where)
    return float(value)


def _numbers(value: Json, where: str) -> dict[str, float]:
    if not isinstance(value, dict):
        raise CorruptRecord("expected numbers by name", where=where)
    return {name: _number(each, f"{where}.{name}") for name, each in value.items()}


def _text(value: Json, where: str) -> str:
    if not isinstance(value, str):
        raise CorruptRecord("expected text", where=where)
    return value


def _texts(value: Json, where: str) -> tuple[str, ...]:
    if not isinstance(value, list):
        raise CorruptRecord("expected a list of text", where=where)
    return tuple(_text(each, where) for each in value)
