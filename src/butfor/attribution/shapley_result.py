"""What a Shapley estimate answers, as plain data."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from butfor.confidence import Estimate, Interval, interval_from_json

if TYPE_CHECKING:
    from butfor.attribution.sampling import DrawResult


@dataclass(frozen=True, kw_only=True)
class StepShapley:
    """φ of one step."""

    step: int
    value: Interval

    @property
    def flagged(self) -> bool:
        """Whether the bounds exclude 0."""
        return isinstance(self.value, Estimate) and not self.value.contains(0.0)

    def to_json(self) -> dict[str, Any]:
        """Return plain JSON values."""
        return {"step": self.step, "value": self.value.to_json()}


@dataclass(frozen=True, kw_only=True)
class Shapley:
    """Shapley values of all steps.

    Attributes:
        estimator: Which estimator.
        steps: One entry a step.
        efficiency: v(all) − v(∅), what the values add up to.
        total: Σφ as estimated.
        alpha: Error level of the intervals, of each or of all together.
        simultaneous: Whether the intervals hold together.
        rollouts: Rollouts entered.
        policy_calls: Their policy calls.
        missing: Rollouts without an outcome.
        complete: Whether the whole budget was used.
    """

    estimator: str
    steps: tuple[StepShapley, ...]
    efficiency: Interval
    total: float
    alpha: float
    simultaneous: bool
    rollouts: int
    policy_calls: int
    missing: int
    complete: bool

    @property
    def sentence(self) -> str:
        """The answer in words."""
        sure = f"{1 - self.alpha:.0%}" + (" for all steps together" if self.simultaneous else " for each step alone")
        shared = [s for s in self.steps if s.flagged and isinstance(s.value, Estimate)]
        if not shared:
            return f"No step's share of the failure is shown to differ from 0 ({sure})."
        parts = [f"step {s.step} {s.value.point:+.2f}" for s in shared if isinstance(s.value, Estimate)]
        return f"The failure is shared by {', '.join(parts)} ({sure}); all shares add up to {self.total:.2f}."

    def to_json(self) -> dict[str, Any]:
        """Return plain JSON values."""
        return {
            "method": "shapley",
            "sentence": self.sentence,
            "estimator": self.estimator,
            "steps": [step.to_json() for step in self.steps],
            "efficiency": self.efficiency.to_json(),
            "total": self.total,
            "alpha": self.alpha,
            "simultaneous": self.simultaneous,
            "rollouts": self.rollouts,
            "policy_calls": self.policy_calls,
            "missing": self.missing,
            "complete": self.complete,
        }

    @classmethod
    def from_json(cls, value: dict[str, Any]) -> Shapley:
        """Read what `to_json` wrote."""
        fields = {name: item for name, item in value.items() if name not in ("method", "sentence")}
        steps = (StepShapley(step=s["step"], value=interval_from_json(s["value"])) for s in value["steps"])
        return cls(**{**fields, "steps": tuple(steps), "efficiency": interval_from_json(value["efficiency"])})


def middle(result: DrawResult) -> float:
    """Return the outcome, ½ where it is missing."""
    return 0.5 if result.outcome is None else result.outcome
