"""What `responsibility` answers, as plain data."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from butfor.confidence import Estimate, Interval, interval_from_json


@dataclass(frozen=True, kw_only=True)
class StepResponsibility:
    """One step.

    Attributes:
        step: k.
        published: CRS as published: 1 if any proposal flipped the verifier in its one rollout; None: none was scored.
        best: Number of the best proposal.
        lift: v(k) − E[y | best proposal at k], on rollouts that did not choose it; positive: the proposal saves more
            runs than deciding again.
    """

    step: int
    published: float | None
    best: int | None
    lift: Interval

    @property
    def responsible(self) -> bool:
        """Whether the best proposal is shown to beat the null arm."""
        return isinstance(self.lift, Estimate) and self.lift.lower > 0.0

    def to_json(self) -> dict[str, Any]:
        """Return plain JSON values."""
        return {"step": self.step, "published": self.published, "best": self.best, "lift": self.lift.to_json()}


@dataclass(frozen=True, kw_only=True)
class Responsibility:
    """Responsibility of every step with proposals.

    Attributes:
        steps: One entry a scored step.
        alpha: Probability, at most, that any of the bounds misses.
        rollouts: Rollouts entered.
        policy_calls: Their policy calls.
    """

    steps: tuple[StepResponsibility, ...]
    alpha: float
    rollouts: int
    policy_calls: int

    @property
    def sentence(self) -> str:
        """The answer in words."""
        shown = [str(step.step) for step in self.steps if step.responsible]
        lucky = [str(step.step) for step in self.steps if step.published and not step.responsible]
        said = (
            f"Another action at step {', '.join(shown)} saves more runs than deciding again ({1 - self.alpha:.0%})."
            if shown
            else f"No proposal is shown to save more runs than deciding again ({1 - self.alpha:.0%})."
        )
        return said + (f" The published score also names step {', '.join(lucky)}, which may be luck." if lucky else "")

    def to_json(self) -> dict[str, Any]:
        """Return plain JSON values."""
        return {
            "method": "responsibility",
            "sentence": self.sentence,
            "steps": [step.to_json() for step in self.steps],
            "alpha": self.alpha,
            "rollouts": self.rollouts,
            "policy_calls": self.policy_calls,
        }

    @classmethod
    def from_json(cls, value: dict[str, Any]) -> Responsibility:
        """Read what `to_json` wrote."""
        steps = (StepResponsibility(**{**step, "lift": interval_from_json(step["lift"])}) for step in value["steps"])
        return cls(
            **{**{name: x for name, x in value.items() if name not in ("method", "sentence")}, "steps": tuple(steps)}
        )
