"""What `profile` answers, as plain data."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from butfor.attribution.answers import AnswerKind, Role
from butfor.attribution.margins import Margins
from butfor.confidence import Interval, interval_from_json


@dataclass(frozen=True, kw_only=True)
class StepProfile:
    """One step.

    Attributes:
        step: k.
        role: What the step did.
        v: v(k) with bounds that hold for all steps at once.
        effect: y − v(k), likewise.
        blame: v(k+1) − v(k), likewise.
        match: Probability that the step, decided again from its factual state, comes out the same.
        in_set: Whether the step may still be the decisive one.
        n: Own rollouts of v(k).
        missing: Of those, without an outcome (counted as 0 and as 1).
        unsupported: Of those, missing for want of a tool answer.
        reused: Rollouts of earlier steps that came out factual up to here and count for v(k) too.
    """

    step: int
    role: Role
    v: Interval
    effect: Interval
    blame: Interval
    match: Interval
    in_set: bool
    n: int
    missing: int
    unsupported: int
    reused: int

    def to_json(self) -> dict[str, Any]:
        """Return plain JSON values."""
        intervals = {name: getattr(self, name).to_json() for name in ("v", "effect", "blame", "match")}
        counts = {name: getattr(self, name) for name in ("in_set", "n", "missing", "unsupported", "reused")}
        return {"step": self.step, "role": self.role.value, **intervals, **counts}

    @classmethod
    def from_json(cls, value: dict[str, Any]) -> StepProfile:
        """Read what `to_json` wrote."""
        intervals = {name: interval_from_json(value[name]) for name in ("v", "effect", "blame", "match")}
        return cls(**{**value, "role": Role(value["role"]), **intervals})


@dataclass(frozen=True, kw_only=True)
class Profile:
    """The outcome of a run as a function of the step from which it is decided again.

    Attributes:
        kind: The answer.
        sentence: The answer in words.
        factual: y = v(n).
        steps: One entry a step.
        candidates: A set of steps that contains the decisive one with probability ≥ 1 − α.
        leading: The step with the largest estimated blame; None where nothing was drawn.
        tied: The steps whose estimated blame is within δ_tie of the leading one's.
        commit_points: What the commit point at margin δ can be, at the level of the bounds; None: there is none.
        margins: α and the margins.
        rollouts: Rollouts entered.
        policy_calls: Their policy calls.
        unsupported: Tool to the number of rollouts that it left unanswered.
        complete: Whether all planned rollouts were entered; where not, the bounds hold whatever stopped them.
    """

    kind: AnswerKind
    sentence: str
    factual: Interval
    steps: tuple[StepProfile, ...]
    candidates: tuple[int, ...]
    leading: int | None
    tied: tuple[int, ...]
    commit_points: tuple[int | None, ...]
    margins: Margins
    rollouts: int
    policy_calls: int
    unsupported: dict[str, int]
    complete: bool

    @property
    def decisive(self) -> int | None:
        """The decisive step, where exactly one is left."""
        return self.candidates[0] if self.kind is AnswerKind.DECISIVE else None

    def to_json(self) -> dict[str, Any]:
        """Return plain JSON values."""
        return {
            "method": "profile",
            "kind": self.kind.value,
            "sentence": self.sentence,
            "factual": self.factual.to_json(),
            "steps": [step.to_json() for step in self.steps],
            "candidates": list(self.candidates),
            "leading": self.leading,
            "tied": list(self.tied),
            "commit_points": list(self.commit_points),
            "margins": self.margins.to_json(),
            "rollouts": self.rollouts,
            "policy_calls": self.policy_calls,
            "unsupported": dict(self.unsupported),
            "complete": self.complete,
        }

    @classmethod
    def from_json(cls, value: dict[str, Any]) -> Profile:
        """Read what `to_json` wrote."""
        plain = {name: value[name] for name in ("sentence", "leading", "rollouts", "policy_calls", "complete")}
        return cls(
            kind=AnswerKind(value["kind"]),
            factual=interval_from_json(value["factual"]),
            steps=tuple(StepProfile.from_json(step) for step in value["steps"]),
            candidates=tuple(value["candidates"]),
            tied=tuple(value["tied"]),
            commit_points=tuple(value["commit_points"]),
            margins=Margins(**value["margins"]),
            unsupported=dict(value["unsupported"]),
            **plain,
        )
