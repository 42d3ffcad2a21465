"""What the gate answers to a tool call."""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING

from butfor.canonical import digest_text
from butfor.gate.verdict import REASONS

if TYPE_CHECKING:
    from butfor.canonical import Json
    from butfor.gate.decide import Decision
    from butfor.gate.experiment import Request
    from butfor.gate.verdict import Reason, Verdict


@dataclasses.dataclass(frozen=True, kw_only=True, eq=False)
class Ruling:
    """A decision on one tool call, signed and recorded.

    Attributes:
        id: The decision's id.
        decision: The verdict and what it follows from.
        mode: observe or enforce.
        allowed: Whether the call may run: EXECUTE, or any verdict while observing, or a bypass. False where the ruling
            could not be recorded.
        certificate: The certificate file's bytes; empty where it could not be made.
        position: Its place in the ledger; None where it could not be recorded.
        bypass: Digest of the permit that let a refused call run; None otherwise.
        approval: Digest of the approval that EXECUTE used, where the policy demands one; None otherwise.
        request: The trial that an EXPERIMENT verdict asks for.
    """

    id: str
    decision: Decision
    mode: str
    allowed: bool
    certificate: bytes
    position: int | None
    bypass: str | None = None
    approval: str | None = None
    request: Request | None = None

    @property
    def verdict(self) -> Verdict:
        """EXECUTE, REJECT, EXPERIMENT or ABSTAIN."""
        return self.decision.verdict

    @property
    def reason(self) -> Reason:
        """The reason code."""
        return self.decision.reason

    @property
    def missing(self) -> tuple[str, ...]:
        """Each assumption, hedge or bound that failed, in words."""
        return self.decision.missing

    @property
    def digest(self) -> str | None:
        """The tagged SHA-256 of the certificate."""
        return digest_text(self.certificate) if self.certificate else None

    def headline(self) -> str:
        """Say the verdict and what its reason means, in one sentence."""
        head = f"{self.verdict} ({self.reason}): {REASONS[self.reason].sentence}"
        if self.bypass is not None:
            head += "; a bypass lets it run"
        elif self.allowed and self.verdict != "EXECUTE":
            head += "; the policy only observes, so it may run"
        return head

    def in_words(self) -> str:
        """Say the verdict, and what was missing, in one or two sentences."""
        return self.headline() if not self.missing else f"{self.headline()}. {'; '.join(self.missing)}"

    def to_json(self) -> dict[str, Json]:
        """Return plain JSON values, the certificate by its digest."""
        decision = self.decision
        return {
            "id": self.id,
            "verdict": self.verdict,
            "reason": self.reason,
            "missing": list(self.missing),
            "allowed": self.allowed,
            "mode": self.mode,
            "bypass": self.bypass,
            "approval": self.approval,
            "bound_on": decision.bound_on,
            "lower": decision.lower,
            "upper": decision.upper,
            "certificate": self.digest,
            "position": self.position,
            "request": None if self.request is None else self.request.to_json(),
        }
