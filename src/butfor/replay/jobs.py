"""One rollout: what is asked for, how it is scored, and what it gave."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from butfor import canonical
from butfor.errors import OutcomeError

if TYPE_CHECKING:
    from collections.abc import Callable

    from butfor.canonical import Json
    from butfor.replay.do import Intervention
    from butfor.replay.draws import Seeds
    from butfor.replay.trajectory import Trajectory
    from butfor.store import StoredRollout


@dataclass(frozen=True, kw_only=True)
class Score:
    """An outcome function y of a trajectory.

    Attributes:
        name: As the user wrote it; part of every draw's key.
        function: Trajectory to [0, 1]; 1 = bad.
        scores_failures: Whether it also scores rollouts that timed out or raised; otherwise those are missing, with
            bounds 0 and 1.
        digest: Of its code; part of every draw's key.
    """

    name: str
    function: Callable[[Trajectory], float]
    scores_failures: bool = False
    digest: str = ""

    def of(self, trajectory: Trajectory) -> float | None:
        """Return y, or None where the function does not score this kind of ending.

        Raises:
            OutcomeError: The function raised, or gave something other than a number in [0, 1].
        """
        if trajectory.failure is not None and not self.scores_failures:
            return None
        try:
            value: object = self.function(trajectory)
        except Exception as error:
            raise OutcomeError(f"the outcome {self.name} raised {type(error).__name__}: {error}") from error
        if isinstance(value, bool | int | float) and math.isfinite(value) and 0 <= value <= 1:
            return float(value)
        raise OutcomeError(f"the outcome {self.name} gave {value!r}", fix="return a number from 0 (good) to 1 (bad)")


@dataclass(frozen=True, kw_only=True)
class Job:
    """One rollout to buy.

    Attributes:
        intervention: What is changed.
        arm: The arm's name; equal arms have equal names.
        ordinal: Which draw of the arm, from 0.
        seeds: The noise that the policy decides with; a fresh draw by default.
    """

    intervention: Intervention
    arm: str
    ordinal: int
    seeds: Seeds | None = None


@dataclass(frozen=True, kw_only=True)
class Rollout:
    """A finished rollout.

    Attributes:
        rollout_id: Its name in the store; None where it left its draw open.
        arm: The arm's name.
        ordinal: Which draw of the arm.
        status: How it ended.
        outcome: y; None where it is missing.
        error: One sentence where it did not complete.
        tool: The tool that could not be answered, where that ended it.
        counts: Crossings by who answered them.
        tokens: (prompt, completion) of live policy calls.
        seconds: Wall time.
        action_matched: Whether the action drawn at the first live step equals the factual one; None where it did not
            come to that.
        matched_until: The last step whose state came out byte-equal to the factual one with nothing live in between.
        tail: Digest of everything that was decided, to notice identical resamples.
        output: What the agent returned.
    """

    rollout_id: str | None
    arm: str
    ordinal: int
    status: str
    outcome: float | None
    error: str | None = None
    tool: str | None = None
    counts: dict[str, int] = field(default_factory=dict)
    tokens: tuple[int, int] = (0, 0)
    seconds: float = 0.0
    action_matched: bool | None = None
    matched_until: int = 0
    tail: str = ""
    output: Json = None


_FACTS = ("error", "tool", "counts", "tokens", "seconds", "action_matched", "matched_until", "tail")


def to_facts(rollout: Rollout, **more: Json) -> str:
    """Write everything of a rollout that has no column of its own as JSON text."""
    facts: dict[str, Any] = {name: getattr(rollout, name) for name in _FACTS}
    return canonical.encode(facts | {"tokens": list(rollout.tokens), "output": rollout.output} | more)


def from_stored(stored: StoredRollout) -> Rollout:
    """Read a rollout back."""
    facts: dict[str, Any] = canonical.decode(stored.counts)
    known: dict[str, Any] = {name: facts[name] for name in _FACTS} | {"tokens": tuple(facts["tokens"])}
    return Rollout(
        rollout_id=stored.rollout_id,
        arm=stored.arm,
        ordinal=stored.draw,
        status=stored.status,
        outcome=stored.outcome,
        output=facts.get("output"),
        **known,
    )
