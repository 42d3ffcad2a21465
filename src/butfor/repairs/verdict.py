"""What the test of one candidate answers, as plain data."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any, Literal, TypeAlias

from butfor.confidence import Estimate, Interval, interval_from_json

Decision: TypeAlias = Literal["accepted", "rejected", "undecided"]

_INTERVALS = ("success", "null", "lift")


@dataclass(frozen=True, kw_only=True)
class Verdict:
    """What was shown about one candidate.

    Attributes:
        decision: Accepted: both bounds hold. Rejected: one of them is shown not to. Undecided: the draws ran out.
        success: P(success | repaired step).
        null: P(success | the step decided again).
        lift: Their difference.
        hypothesis: j, from 1.
        alpha: Allowed probability of any false acceptance, over all hypotheses of the failure.
        level: Of this hypothesis, 6α/(π²j²): each side of each interval errs with at most this probability.
        target: What P(success) had to reach.
        draws: Of the candidate.
        null_draws: Of the null arm.
        deterministic: Whether the candidate's tail is proven to come out the same every time.
        stopped: Whether the budget ended the test.
    """

    decision: Decision
    success: Interval
    null: Interval
    lift: Interval
    hypothesis: int
    alpha: float
    level: float
    target: float
    draws: int
    null_draws: int
    deterministic: bool = False
    stopped: bool = False

    @property
    def accepted(self) -> bool:
        """Whether the repair is shown to work, and better than luck."""
        return self.decision == "accepted"

    @property
    def sentence(self) -> str:
        """The verdict in words."""
        arms = f"success {_said(self.success)} against {_said(self.null)} when the step is merely decided again"
        match self.decision:
            case "accepted":
                return f"Accepted: {arms}; lift {_said(self.lift)}."
            case "rejected":
                return f"Rejected: {arms}; {self._why_rejected()}."
            case _:
                why = "the budget ended the test" if self.stopped else "the draws ran out before the bounds parted"
                return f"Undecided: {arms}; {why}."

    def _why_rejected(self) -> str:
        if isinstance(self.success, Estimate) and self.success.upper < self.target:
            return f"it does not reach the target of {self.target:g}"
        return "it does worse than deciding again"

    def to_json(self) -> dict[str, Any]:
        """Return plain JSON values."""
        plain = {name: value for name, value in asdict(self).items() if name not in _INTERVALS}
        return plain | {name: getattr(self, name).to_json() for name in _INTERVALS} | {"sentence": self.sentence}

    @classmethod
    def from_json(cls, document: dict[str, Any]) -> Verdict:
        """Read what `to_json` gave."""
        plain = {name: value for name, value in document.items() if name != "sentence"}
        return cls(**plain | {name: interval_from_json(document[name]) for name in _INTERVALS})


def _said(interval: Interval) -> str:
    if not isinstance(interval, Estimate):
        return f"unknown ({interval.reason})"
    if interval.lower == interval.upper:
        return f"{interval.point:.2f} (proven)"
    return f"{number(interval.point)} [{number(interval.lower)}, {number(interval.upper)}]"


def number(value: float, *, signed: bool = False) -> str:
    """Write a number with two digits, three where two would make it 0 and it is not."""
    digits = 3 if 0.0 < abs(value) < 0.005 else 2
    return f"{value:+.{digits}f}" if signed else f"{value:.{digits}f}"
