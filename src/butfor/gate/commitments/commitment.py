"""One version of a graph that somebody stands for: who, why, until when, and which approvers signed it.

The signed part holds the graph by its digest, so a certificate carries it without carrying the graph twice.
"""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING, Literal, Self, TypeAlias, TypeVar

from butfor.errors import CorruptRecord, InputError
from butfor.gate.signing.signatures import Signature, Signer
from butfor.gate.signing.strict_json import canonical_bytes, digest
from butfor.gate.signing.trust import Distrust, Trusted, moment, stamp
from butfor.graphs import Graph

if TYPE_CHECKING:
    from collections.abc import Callable
    from datetime import datetime

    from butfor.canonical import Json
    from butfor.estimation.evidence.description import Kind
    from butfor.gate.signing.trust import TrustFile

_Part = TypeVar("_Part")

SCHEMA = "butfor.commitment/1"
APPROVAL_SCHEMA = "butfor.approval-of-graph/1"

WhyNot: TypeAlias = Literal["uncommitted", "unapproved", "expired", "broken_chain", "confounded"]
"""Why no version of a graph can be used."""


def graph_of(document: Json, where: str = "$.graph") -> Graph:
    """Read a graph's canonical form, strictly.

    Raises:
        CorruptRecord: It is no graph, or not in the form that `Graph.to_json` writes.
    """
    try:
        graph = Graph.of(
            nodes=dict(document["nodes"]),
            directed=[(tail, head) for tail, head in document["directed"]],
            bidirected=[(one, other) for one, other in document["bidirected"]],
        )
        same = graph.to_json() == document
    except (KeyError, TypeError, ValueError) as error:
        raise CorruptRecord(f"this is no graph ({error})", where=where) from None
    if not same:
        raise CorruptRecord("the graph is not in its canonical form", where=where)
    return graph


@dataclasses.dataclass(frozen=True, kw_only=True)
class Statement:
    """Why there is no latent edge between two variables, though the agent chose the one from its whole context.

    Attributes:
        treatment: One end.
        outcome: The other.
        reason: Why nothing that the agent saw moves both, in the words of who signs.
    """

    treatment: str
    outcome: str
    reason: str

    def __post_init__(self) -> None:
        if not self.reason.strip():
            edge = f"{self.treatment} <-> {self.outcome}"
            raise InputError(f"no reason why {edge} is left out", fix="say why nothing moves both")


@dataclasses.dataclass(frozen=True, kw_only=True)
class Approval:
    """An approver's signature under one version.

    Attributes:
        at: When it was signed.
        signature: Of `payload`.
    """

    at: str
    signature: Signature

    @staticmethod
    def payload(commitment: str, at: str) -> bytes:
        """Return what an approver signs: the version's digest, and the time."""
        return canonical_bytes({"schema": APPROVAL_SCHEMA, "commitment": commitment, "at": at})

    @classmethod
    def of(cls, commitment: str, *, signer: Signer, at: datetime) -> Self:
        """Sign a version."""
        time = stamp(at)
        return cls(at=time, signature=signer.signature(cls.payload(commitment, time), kind="graph"))

    def to_json(self) -> dict[str, Json]:
        """Return plain JSON values."""
        return {"at": self.at, "signature": self.signature.to_json()}

    @classmethod
    def from_json(cls, document: Json, where: str) -> Self:
        """Read what `to_json` wrote.

        Raises:
            CorruptRecord: It is no approval.
        """
        if not isinstance(document, dict) or set(document) != {"at", "signature"}:
            raise CorruptRecord("expected an approval {at, signature}", where=where)
        signature = Signature.from_json(document["signature"], f"{where}.signature")
        return cls(at=_time(document["at"], f"{where}.at"), signature=signature)


@dataclasses.dataclass(frozen=True, kw_only=True)
class Commitment:
    """One version of a graph.

    Attributes:
        name: What the graph is called.
        version: 1 for the first; each change is a new version.
        graph: The graph.
        previous: Digest of the version before; None for the first.
        author: Who wrote it.
        reason: Why, in the author's words.
        at: When.
        expires_at: From when on no gate uses it.
        statements: Why latent edges that the evidence suggests are not in it.
        approvals: Who signed it.
    """

    name: str
    version: int
    graph: Graph
    previous: str | None
    author: str
    reason: str
    at: str
    expires_at: str
    statements: tuple[Statement, ...] = ()
    approvals: tuple[Approval, ...] = ()

    def signed_part(self) -> dict[str, Json]:
        """Return what the digest names, the graph by its own digest."""
        return {
            "schema": SCHEMA,
            "name": self.name,
            "version": self.version,
            "graph": self.graph.digest,
            "previous": self.previous,
            "author": self.author,
            "reason": self.reason,
            "at": self.at,
            "expires_at": self.expires_at,
            "statements": [dataclasses.asdict(each) for each in self.statements],
        }

    @property
    def digest(self) -> str:
        """The digest of this version; the graph's own is `graph.digest`."""
        return digest(self.signed_part())

    def to_json(self) -> dict[str, Json]:
        """Return the signed part and the approvals, as a certificate carries them beside the graph."""
        return {"commitment": self.signed_part(), "approvals": [each.to_json() for each in self.approvals]}

    @classmethod
    def from_json(cls, document: Json, graph: Graph, where: str = "$") -> Self:
        """Read what `to_json` wrote, for the graph beside it.

        Raises:
            CorruptRecord: A field is missing, surplus or malformed, or it is about another graph.
        """
        if not isinstance(document, dict) or set(document) != {"commitment", "approvals"}:
            raise CorruptRecord("expected {commitment, approvals}", where=where)
        part, place = document["commitment"], f"{where}.commitment"
        fields = {"schema", *(field.name for field in dataclasses.fields(cls))} - {"approvals"}
        if not isinstance(part, dict) or set(part) != fields or part["schema"] != SCHEMA:
            raise CorruptRecord(f"expected the schema {SCHEMA} and its fields", where=place)
        if part["graph"] != graph.digest:
            raise CorruptRecord("it is about another graph", where=f"{place}.graph")
        if type(part["version"]) is not int or part["version"] < 1:
            raise CorruptRecord("expected a version from 1 on", where=f"{place}.version")
        if not isinstance(document["approvals"], list):
            raise CorruptRecord("expected a list", where=f"{where}.approvals")
        return cls(
            name=_text(part["name"], f"{place}.name"),
            version=part["version"],
            graph=graph,
            previous=None if part["previous"] is None else _text(part["previous"], f"{place}.previous"),
            author=_text(part["author"], f"{place}.author"),
            reason=_text(part["reason"], f"{place}.reason"),
            at=_time(part["at"], f"{place}.at"),
            expires_at=_time(part["expires_at"], f"{place}.expires_at"),
            statements=_each(part["statements"], _statement, f"{place}.statements"),
            approvals=_each(document["approvals"], Approval.from_json, f"{where}.approvals"),
        )

    def approver(self, trust: TrustFile, *, by: datetime) -> Trusted | NotCommitted:
        """Return an approver whose signature counts and was there by a time, or why there is none."""
        why = []
        for approval in self.approvals:
            at = moment(approval.at, "$.approvals")
            payload = Approval.payload(self.digest, approval.at)
            found = trust.check(kind="graph", payload=payload, signature=approval.signature, at=at)
            if isinstance(found, Trusted) and at <= by:
                return found
            words = found.sentence if isinstance(found, Distrust) else f"it was not approved before {approval.at}"
            why.append(words)
        nobody = f"version {self.version} of the graph {self.name!r} is approved by nobody"
        return NotCommitted(reason="unapproved", sentence="; ".join(why) or nobody)

    def is_expired(self, at: datetime) -> bool:
        """Say whether its time has run out."""
        return at >= moment(self.expires_at, "$.expires_at")

    def admits(self, kind: Kind, *, treatment: str, outcome: str) -> NotCommitted | None:
        """Return why evidence of this kind may not be read with this graph, or None where it may.

        What agents chose themselves they chose from their whole context. A graph for such evidence has the latent edge
        between treatment and outcome, or the commitment a statement of why it does not.
        """
        edge = tuple(sorted((treatment, outcome)))
        stated = any({each.treatment, each.outcome} == set(edge) for each in self.statements)
        if kind != "policy-confounded" or edge in self.graph.bidirected or stated:
            return None
        return NotCommitted(
            reason="confounded",
            sentence=(
                f"the evidence comes from agents' own runs, and version {self.version} of the graph {self.name!r} has "
                f"neither {treatment} <-> {outcome} nor a signed statement of why not"
            ),
        )


@dataclasses.dataclass(frozen=True, kw_only=True)
class NotCommitted:
    """There is no version that a gate may use.

    Attributes:
        reason: Why, from a closed list.
        sentence: Why, in words.
    """

    reason: WhyNot
    sentence: str


def _each(value: Json, reader: Callable[[Json, str], _Part], where: str) -> tuple[_Part, ...]:
    if not isinstance(value, list):
        raise CorruptRecord("expected a list", where=where)
    return tuple(reader(item, f"{where}[{i}]") for i, item in enumerate(value))


def _statement(document: Json, where: str) -> Statement:
    if not isinstance(document, dict) or set(document) != {"treatment", "outcome", "reason"}:
        raise CorruptRecord("expected a statement {treatment, outcome, reason}", where=where)
    return Statement(**{name: _text(value, f"{where}.{name}") for name, value in document.items()})


def _text(value: Json, where: str) -> str:
    if not isinstance(value, str) or not value.strip():
        raise CorruptRecord("expected text", where=where)
    return value


def _time(value: Json, where: str) -> str:
    try:
        known = stamp(moment(value, where)) == value
    except InputError as error:
        raise CorruptRecord(error.what, where=where) from None
    if not known:
        raise CorruptRecord(f"{value!r} is not how a time is written", where=where)
    return str(value)
