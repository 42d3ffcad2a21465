"""A rollout beside the original, at the first place where they differ."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from butfor import canonical
from butfor.replay.stored import rollout_run
from butfor.report import happenings

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from butfor.report.happenings import Happening
    from butfor.runs import Run
    from butfor.store import Storage, StoredRollout

FOLLOWING = 5
"""Steps after the divergence that are shown in short, on either side; a constant keeps the page O(n)."""


@dataclass(frozen=True, kw_only=True)
class Example:
    """One rollout of one step, compared with the original.

    Attributes:
        step: The step from which it was decided again.
        rollout_id: Its name in the store.
        draw: The how-manieth of its arm.
        status: How it ended.
        outcome: y of the rollout; None where it is missing.
        changed: Whether its outcome differs from the original's.
        diverged_at: The first step that differs; None where every step came out the same.
        differs: "action", "observation", "length" or "".
        original: The original's step there; None where it has none.
        rollout: The rollout's step there; None where it has none.
        original_next: The steps after it in the original, in short.
        rollout_next: The steps after it in the rollout, in short.
        original_output: What the recorded agent returned.
        rollout_output: What the agent returned in the rollout.
    """

    step: int
    rollout_id: str
    draw: int
    status: str
    outcome: float | None
    changed: bool
    diverged_at: int | None
    differs: str
    original: Happening | None
    rollout: Happening | None
    original_next: tuple[str, ...]
    rollout_next: tuple[str, ...]
    original_output: str
    rollout_output: str

    def to_json(self) -> dict[str, Any]:
        """Return plain JSON values; the rollout itself is in the store under its id."""
        return {
            "step": self.step,
            "rollout_id": self.rollout_id,
            "draw": self.draw,
            "status": self.status,
            "outcome": self.outcome,
            "changed_outcome": self.changed,
            "diverged_at": self.diverged_at,
            "differs": self.differs,
        }


def examples_of(store: Storage, run: Run, rollouts: Iterable[StoredRollout]) -> tuple[Example, ...]:
    """Choose and compare one rollout for every step that has any.

    The first draw with another outcome than the original's is shown; where there is none, the first draw.
    """
    by_step: dict[int, list[StoredRollout]] = {}
    for each in rollouts:
        step = resampled_step(each)
        if step is not None:
            by_step.setdefault(step, []).append(each)
    chosen = {step: _representative(drawn, run) for step, drawn in sorted(by_step.items())}
    return tuple(compare(run, rollout_run(store, each), each, step=step) for step, each in chosen.items())


def resampled_step(rollout: StoredRollout) -> int | None:
    """The step that a rollout resampled; None for every other intervention."""
    operations = canonical.decode(rollout.counts).get("do") or []
    if len(operations) == 1 and operations[0].get("op") == "resample":
        return int(operations[0]["step"])
    return None


def _representative(drawn: Sequence[StoredRollout], run: Run) -> StoredRollout:
    in_order = sorted(drawn, key=lambda each: each.draw)
    return next((each for each in in_order if _changed(each, run)), in_order[0])


def _changed(rollout: StoredRollout, run: Run) -> bool:
    if rollout.outcome is None or run.outcome is None:
        return False
    return rollout.outcome != run.outcome.value


def compare(run: Run, other: Run, rollout: StoredRollout, *, step: int) -> Example:
    """Find the first difference between a run and a rollout of it."""
    at, differs = first_divergence(run, other)
    ours = None if at is None or at >= len(run.steps) else run.steps[at]
    theirs = None if at is None or at >= len(other.steps) else other.steps[at]
    return Example(
        step=step,
        rollout_id=rollout.rollout_id,
        draw=rollout.draw,
        status=rollout.status,
        outcome=rollout.outcome,
        changed=_changed(rollout, run),
        diverged_at=at,
        differs=differs,
        original=None if ours is None else happenings.happening(ours),
        rollout=None if theirs is None else happenings.happening(theirs),
        original_next=_following(run, at),
        rollout_next=_following(other, at),
        original_output=happenings.output_of(run),
        rollout_output=happenings.output_of(other),
    )


def first_divergence(run: Run, other: Run) -> tuple[int | None, str]:
    """Return the first step whose action or observations differ, and which of the two it is."""
    for k, (ours, theirs) in enumerate(zip(run.steps, other.steps, strict=False)):
        if happenings.action_key(ours) != happenings.action_key(theirs):
            return k, "action"
        if happenings.observation_key(ours) != happenings.observation_key(theirs):
            return k, "observation"
    if len(run.steps) != len(other.steps):
        return min(len(run.steps), len(other.steps)), "length"
    return None, ""


def _following(run: Run, at: int | None) -> tuple[str, ...]:
    if at is None:
        return ()
    after = run.steps[at + 1 : at + 1 + FOLLOWING]
    lines = [f"{step.index}: {happenings.in_short(step, 80)}" for step in after]
    left = len(run.steps) - (at + 1 + FOLLOWING)
    return (*lines, f"… and {left} more") if left > 0 else tuple(lines)
