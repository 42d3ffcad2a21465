"""What an answer is: a Proof that an effect is identified, or a Hedge that shows it is not.

Both are frozen values with a JSON form. A proof names its estimand's kind and its sets; `check` verifies either one
from the graph alone.
"""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING, Literal, TypeAlias

from butfor.errors import CorruptRecord
from butfor.identification.query import Query

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from butfor.canonical import Json

PROOF_SCHEMA = "butfor.proof/1"
HEDGE_SCHEMA = "butfor.hedge/1"

Kind: TypeAlias = Literal["no_effect", "adjustment", "front_door", "instrument", "general_id"]
Assumption: TypeAlias = Literal["linear_effect", "monotonicity"]
Rule: TypeAlias = Literal["ancestral", "district"]

ASSUMPTIONS: dict[Assumption, str] = {
    "linear_effect": (
        "the effect of the treatment on the outcome is linear and the same for every unit "
        "(then the ratio is that effect)"
    ),
    "monotonicity": (
        "no unit takes less treatment because the instrument is larger (then the ratio is the effect among those whose "
        "treatment the instrument moves, not among everyone)"
    ),
}
"""What an instrument needs beyond the graph, in words."""


@dataclasses.dataclass(frozen=True, kw_only=True)
class NoEffect:
    """No treatment has a directed path to an outcome: P(y | do(t), s) = P(y | s)."""

    kind: Literal["no_effect"] = "no_effect"


@dataclasses.dataclass(frozen=True, kw_only=True)
class Adjustment:
    """P(y | do(t), s) = Σ_z P(y | t, z, s) P(z | s).

    Attributes:
        acting: The treatments that can reach an outcome; the others change nothing.
        adjust_for: z, without the stratum s.
    """

    acting: tuple[str, ...]
    adjust_for: tuple[str, ...]
    kind: Literal["adjustment"] = "adjustment"


@dataclasses.dataclass(frozen=True, kw_only=True)
class FrontDoor:
    """P(y | do(t)) = Σ_m P(m | t) Σ_t' P(y | t', m) P(t').

    Attributes:
        acting: The treatments that can reach an outcome.
        mediators: m.
    """

    acting: tuple[str, ...]
    mediators: tuple[str, ...]
    kind: Literal["front_door"] = "front_door"


@dataclasses.dataclass(frozen=True, kw_only=True)
class Instrument:
    """Under an assumption that no graph can state, effect = Cov(z, y | w) / Cov(z, t | w).

    Attributes:
        instrument: z.
        adjust_for: w.
        assumption: The assumption, a key of `ASSUMPTIONS`.
    """

    instrument: str
    adjust_for: tuple[str, ...]
    assumption: Assumption
    kind: Literal["instrument"] = "instrument"


@dataclasses.dataclass(frozen=True, kw_only=True)
class Step:
    """One step from a kernel Q[S] to a smaller one.

    Attributes:
        of: The step whose result is reduced; −1 is the observed joint distribution.
        rule: ``ancestral``: sum out everything outside an ancestral set. ``district``: keep one district's factor.
        keep: The nodes of the result.
    """

    of: int
    rule: Rule
    keep: tuple[str, ...]


@dataclasses.dataclass(frozen=True, kw_only=True)
class GeneralId:
    """P(y, s' | do(t, moved)) = Σ Π_i Q[D_i], each Q[D_i] reached from the observed joint by steps; divided by its sum
    over y where a stratum is left.

    Attributes:
        moved: Stratum variables for which observing is the same as doing, in the order in which that is shown.
        steps: The derivation.
        factors: The steps whose results are the Q[D_i].
    """  # noqa: D205  the formula is the summary

    moved: tuple[str, ...]
    steps: tuple[Step, ...]
    factors: tuple[int, ...]
    kind: Literal["general_id"] = "general_id"


Argument: TypeAlias = NoEffect | Adjustment | FrontDoor | Instrument | GeneralId


@dataclasses.dataclass(frozen=True, kw_only=True)
class Proof:
    """Why a query is identified in a graph.

    Attributes:
        graph: Digest of the graph.
        query: What was asked.
        argument: The estimand's kind and sets, and what shows that it is right.
    """

    graph: str
    query: Query
    argument: Argument

    @property
    def kind(self) -> Kind:
        """The kind of estimand."""
        return self.argument.kind

    def to_json(self) -> dict[str, Json]:
        """Return the proof as plain JSON values."""
        head = {"schema": PROOF_SCHEMA, "graph": self.graph, "query": self.query.to_json()}
        return {**head, **_plain(self.argument)}

    @classmethod
    def from_json(cls, document: Json) -> Proof:
        """Read what `to_json` wrote; a malformed document never becomes a proof.

        Raises:
            CorruptRecord: A field is missing, surplus or of another type.
        """
        fields = _fields(document, PROOF_SCHEMA)
        kind = fields.pop("kind", None)
        reader = _ARGUMENTS.get(kind) if isinstance(kind, str) else None
        if reader is None:
            raise CorruptRecord(f"a proof of the unknown kind {kind!r}", where="$.kind")
        graph, query = _text(fields.pop("graph", None), "$.graph"), _query(fields.pop("query", None))
        argument = reader(fields)
        if fields:
            raise CorruptRecord(f"a proof has the unknown field {min(fields)!r}", where="$")
        return cls(graph=graph, query=query, argument=argument)


@dataclasses.dataclass(frozen=True, kw_only=True)
class Hedge:
    """Why a query is not identified: two nested districts that no data over the measured variables can tell apart.

    Two models agree on every observed probability and disagree on the effect; `check` verifies that the sets have the
    form that makes such a pair exist (Shpitser and Pearl 2006, Theorem 4).

    Attributes:
        graph: Digest of the graph.
        query: What was asked.
        moved: Stratum variables for which observing is the same as doing, in the order in which that is shown.
        outer: F, a district that contains a treatment, all of it ancestors of the roots.
        inner: F' inside F, a district without a treatment, all of it ancestors of the roots.
        roots: R, which reach the outcome without passing a treatment.
        blocking: The latent edges that join a treatment to the inner set, nearest first.
    """

    graph: str
    query: Query
    moved: tuple[str, ...]
    outer: tuple[str, ...]
    inner: tuple[str, ...]
    roots: tuple[str, ...]
    blocking: tuple[tuple[str, str], ...]

    def to_json(self) -> dict[str, Json]:
        """Return the hedge as plain JSON values."""
        return {
            "schema": HEDGE_SCHEMA,
            "graph": self.graph,
            "query": self.query.to_json(),
            "moved": list(self.moved),
            "outer": list(self.outer),
            "inner": list(self.inner),
            "roots": list(self.roots),
            "blocking": [list(pair) for pair in self.blocking],
        }

    @classmethod
    def from_json(cls, document: Json) -> Hedge:
        """Read what `to_json` wrote.

        Raises:
            CorruptRecord: A field is missing, surplus or of another type.
        """
        fields = _fields(document, HEDGE_SCHEMA)
        blocking = fields.pop("blocking", None)
        if not isinstance(blocking, list) or not all(isinstance(pair, list) and len(pair) == 2 for pair in blocking):
            raise CorruptRecord("expected a list of pairs of names", where="$.blocking")
        hedge = cls(
            graph=_text(fields.pop("graph", None), "$.graph"),
            query=_query(fields.pop("query", None)),
            moved=_taken(fields, "moved"),
            outer=_taken(fields, "outer"),
            inner=_taken(fields, "inner"),
            roots=_taken(fields, "roots"),
            blocking=tuple((_text(a, "$.blocking"), _text(b, "$.blocking")) for a, b in blocking),
        )
        if fields:
            raise CorruptRecord(f"a hedge has the unknown field {min(fields)!r}", where="$")
        return hedge


def _plain(argument: Argument) -> dict[str, Json]:
    if isinstance(argument, GeneralId):
        steps = [{"of": step.of, "rule": step.rule, "keep": list(step.keep)} for step in argument.steps]
        return {
            "kind": argument.kind,
            "moved": list(argument.moved),
            "steps": steps,
            "factors": list(argument.factors),
        }
    values = vars(argument)
    return {key: list(value) if isinstance(value, tuple) else value for key, value in values.items()}


def _general(fields: dict[str, Json]) -> GeneralId:
    steps, factors = fields.pop("steps", None), fields.pop("factors", None)
    if not isinstance(steps, list) or not isinstance(factors, list):
        raise CorruptRecord("expected lists of steps and factors", where="$.steps")
    return GeneralId(
        moved=_taken(fields, "moved"),
        steps=tuple(_step(step, f"$.steps[{i}]") for i, step in enumerate(steps)),
        factors=tuple(_whole(number, "$.factors") for number in factors),
    )


def _step(document: Json, where: str) -> Step:
    if not isinstance(document, dict) or set(document) != {"of", "rule", "keep"}:
        raise CorruptRecord("expected a step {of, rule, keep}", where=where)
    rule = document["rule"]
    if rule not in ("ancestral", "district"):
        raise CorruptRecord(f"a step by the unknown rule {rule!r}", where=where)
    return Step(of=_whole(document["of"], where), rule=rule, keep=_name_list(document["keep"], where))


def _instrument(fields: dict[str, Json]) -> Instrument:
    assumption = fields.pop("assumption", None)
    if not isinstance(assumption, str) or assumption not in ASSUMPTIONS:
        raise CorruptRecord(f"the unknown assumption {assumption!r}", where="$.assumption")
    name = _text(fields.pop("instrument", None), "$.instrument")
    known = next(each for each in ASSUMPTIONS if each == assumption)
    return Instrument(instrument=name, adjust_for=_taken(fields, "adjust_for"), assumption=known)


_ARGUMENTS: Mapping[str, Callable[[dict[str, Json]], Argument]] = {
    "no_effect": lambda _: NoEffect(),
    "adjustment": lambda f: Adjustment(acting=_taken(f, "acting"), adjust_for=_taken(f, "adjust_for")),
    "front_door": lambda f: FrontDoor(acting=_taken(f, "acting"), mediators=_taken(f, "mediators")),
    "instrument": _instrument,
    "general_id": _general,
}


def _query(document: Json) -> Query:
    if not isinstance(document, dict) or set(document) != {"treatments", "outcomes", "given", "measured"}:
        raise CorruptRecord("expected a query {treatments, outcomes, given, measured}", where="$.query")
    measured = document["measured"]
    try:
        return Query(
            treatments=_name_list(document["treatments"], "$.query.treatments"),
            outcomes=_name_list(document["outcomes"], "$.query.outcomes"),
            given=_name_list(document["given"], "$.query.given"),
            measured=None if measured is None else _name_list(measured, "$.query.measured"),
        )
    except ValueError as error:
        raise CorruptRecord(f"the query cannot be asked ({error})", where="$.query") from None


def _fields(document: Json, schema: str) -> dict[str, Json]:
    if not isinstance(document, dict) or document.get("schema") != schema:
        raise CorruptRecord(f"expected an object with the schema {schema}", where="$")
    return {key: value for key, value in document.items() if key != "schema"}


def _taken(fields: dict[str, Json], name: str) -> tuple[str, ...]:
    return _name_list(fields.pop(name, None), f"$.{name}")


def _name_list(value: Json, where: str) -> tuple[str, ...]:
    if not isinstance(value, list) or not all(isinstance(name, str) for name in value):
        raise CorruptRecord("expected a list of names", where=where)
    if len(set(value)) < len(value):
        raise CorruptRecord("a name is there twice", where=where)
    return tuple(value)


def _text(value: Json, where: str) -> str:
    if not isinstance(value, str):
        raise CorruptRecord("expected text", where=where)
    return value


def _whole(value: Json, where: str) -> int:
    if type(value) is not int:
        raise CorruptRecord("expected a whole number", where=where)
    return value
