"""What verification answers: each check with what became of it, never a bare yes."""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING, Literal, TypeAlias

if TYPE_CHECKING:
    from butfor.canonical import Json

Status: TypeAlias = Literal["ok", "failed", "not recomputed"]
Name: TypeAlias = Literal[
    "bytes",
    "form",
    "schema",
    "signature",
    "fields",
    "policy",
    "call",
    "approval",
    "graph",
    "commitment",
    "proof",
    "evidence",
    "budget",
    "estimate",
    "verdict",
    "ledger",
]
Level: TypeAlias = Literal["rows", "statistics", "attested", "nothing"]
"""What the numbers were derived from again; `nothing` where the verdict came before any evidence."""

WORDS: dict[Name, str] = {
    "bytes": "the file is its own canonical bytes (RFC 8785)",
    "form": "the file has the parts of a certificate",
    "schema": "the body is as the published schema says",
    "signature": "a trusted gate key signed it",
    "fields": "no field differs from what was signed",
    "policy": "the policy has the digest that is named, and what signatures it has count",
    "call": "the tool call has the digest that is named, and asks what the policy makes of it",
    "approval": "a trusted approver approved this exact call, where the policy demands it",
    "graph": "the graph has the digest that is named",
    "commitment": "a trusted approver signed this version of the graph, and it had not expired",
    "proof": "the independent checker accepts the proof, or the hedge",
    "evidence": "the evidence has the digest that is named",
    "budget": "the error level is the one that the policy grants at this place of this share",
    "estimate": "estimates, bounds and everything else that follows from the evidence come out the same",
    "verdict": "the same verdict follows, with the same reason",
    "ledger": "the ledger has this certificate",
}
"""Each check in the order in which it is made, and what it is about."""


@dataclasses.dataclass(frozen=True, kw_only=True)
class Check:
    """One check.

    Attributes:
        name: Which.
        status: What became of it.
        sentence: What was found, or why it could not be looked at.
        fields: JSON paths of the fields that are not as they should be.
    """

    name: Name
    status: Status
    sentence: str
    fields: tuple[str, ...] = ()

    def to_json(self) -> dict[str, Json]:
        """Return plain JSON values."""
        return {**dataclasses.asdict(self), "fields": list(self.fields)}


@dataclasses.dataclass(frozen=True, kw_only=True)
class Report:
    """What became of a certificate.

    Attributes:
        digest: Digest of the file.
        level: What the numbers were derived from again.
        checks: In the order of `WORDS`; those that had nothing to look at after an earlier failure are left out.
    """

    digest: str
    level: Level
    checks: tuple[Check, ...]

    @property
    def ok(self) -> bool:
        """Whether no check failed. What could not be recomputed did not fail: read `checks`."""
        return all(check.status != "failed" for check in self.checks)

    def to_json(self) -> dict[str, Json]:
        """Return plain JSON values."""
        return {
            "schema": "butfor.verification/1",
            "certificate": self.digest,
            "ok": self.ok,
            "level": self.level,
            "checks": [check.to_json() for check in self.checks],
        }


def ok(name: Name, sentence: str) -> Check:
    """Return a check that held."""
    return Check(name=name, status="ok", sentence=sentence)


def failed(name: Name, sentence: str, *fields: str) -> Check:
    """Return a check that did not hold."""
    return Check(name=name, status="failed", sentence=sentence, fields=fields)


def unknown(name: Name, sentence: str) -> Check:
    """Return a check that could not be made."""
    return Check(name=name, status="not recomputed", sentence=sentence)
