"""What `search` answers, as plain data."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from butfor.attribution.answers import AnswerKind
from butfor.attribution.margins import Margins
from butfor.attribution.profile_result import StepProfile
from butfor.confidence import Interval, interval_from_json


@dataclass(frozen=True, kw_only=True)
class Search:
    """A set of steps that contains the decisive one.

    Attributes:
        kind: The answer.
        sentence: The answer in words.
        factual: y = v(n).
        max_help: η under which the set holds; None: it holds without an assumption.
        help_refuted: Arms i < j with v(j) shown to be below v(i) − (j − i)·η, so that η is wrong; None: none was seen.
        candidates: The set; it lacks the decisive step with probability ≤ α (under η, where that mode is used).
        commit_points: A set for the commit point at margin δ, at its own level α; None: there is none.
        leading: The step that leads; None where no step's blame was estimated.
        steps: One entry a step; its bounds hold at whatever point the search stopped.
        margins: α and the margins.
        rollouts: Rollouts entered.
        policy_calls: Their policy calls.
        profile_calls: Policy calls that `profile` with its default number of draws would have made.
        unsupported: Tool to the number of rollouts that it left unanswered.
        complete: Whether the search ended by itself and not by a stopped budget.
    """

    kind: AnswerKind
    sentence: str
    factual: Interval
    max_help: float | None
    help_refuted: tuple[int, int] | None
    candidates: tuple[int, ...]
    commit_points: tuple[int | None, ...]
    leading: int | None
    steps: tuple[StepProfile, ...]
    margins: Margins
    rollouts: int
    policy_calls: int
    profile_calls: int
    unsupported: dict[str, int]
    complete: bool

    @property
    def decisive(self) -> int | None:
        """The decisive step, where exactly one is left."""
        return self.candidates[0] if self.kind is AnswerKind.DECISIVE else None

    def to_json(self) -> dict[str, Any]:
        """Return plain JSON values."""
        return {
            "method": "search",
            "kind": self.kind.value,
            "sentence": self.sentence,
            "factual": self.factual.to_json(),
            "max_help": self.max_help,
            "help_refuted": None if self.help_refuted is None else list(self.help_refuted),
            "candidates": list(self.candidates),
            "commit_points": list(self.commit_points),
            "leading": self.leading,
            "steps": [step.to_json() for step in self.steps],
            "margins": self.margins.to_json(),
            "rollouts": self.rollouts,
            "policy_calls": self.policy_calls,
            "profile_calls": self.profile_calls,
            "unsupported": dict(self.unsupported),
            "complete": self.complete,
        }

    @classmethod
    def from_json(cls, value: dict[str, Any]) -> Search:
        """Read what `to_json` wrote."""
        plain = ("sentence", "max_help", "leading", "rollouts", "policy_calls", "profile_calls", "complete")
        refuted = value["help_refuted"]
        return cls(
            kind=AnswerKind(value["kind"]),
            factual=interval_from_json(value["factual"]),
            help_refuted=None if refuted is None else (refuted[0], refuted[1]),
            candidates=tuple(value["candidates"]),
            commit_points=tuple(value["commit_points"]),
            steps=tuple(StepProfile.from_json(step) for step in value["steps"]),
            margins=Margins(**value["margins"]),
            unsupported=dict(value["unsupported"]),
            **{name: value[name] for name in plain},
        )
