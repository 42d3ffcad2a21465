"""A rollout beside the original, at the first place where they differ."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from butfor import canonical
from butfor.replay import Intervention, assemble, load_journal
from butfor.replay.crossings import read_line
from butfor.report import happenings

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from butfor.replay import Journal
    from butfor.report.happenings import Happening
    from butfor.runs import Run, Step
    from butfor.store import Storage, StoredRollout

FOLLOWING = 5
"""Steps after the divergence that are shown in short, on either side; a constant keeps the page O(n)."""

_NO_REQUEST: dict[str, Any] = {
    "base": None, "head": 0, "middle": "null", "tail": 0, "digest": canonical.digest_text("null")
}  # fmt: skip


@dataclass(frozen=True, kw_only=True)
class Example:
    """One rollout of one step, compared with the original.

    Attributes:
        step: The step from which it was decided again, or the first that was changed.
        intervention: What was changed, as it is written; a resample of the step for the chosen ones.
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
    intervention: str
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
            "intervention": self.intervention,
            "rollout_id": self.rollout_id,
            "draw": self.draw,
            "status": self.status,
            "outcome": self.outcome,
            "changed_outcome": self.changed,
            "diverged_at": self.diverged_at,
            "differs": self.differs,
        }


def choose(run: Run, rollouts: Iterable[StoredRollout]) -> list[StoredRollout]:
    """Choose one rollout for every step that was resampled.

    It is the first draw with another outcome than the original's; where there is none, the first draw.
    """
    by_step: dict[int, list[StoredRollout]] = {}
    for each in rollouts:
        step = resampled_step(each)
        if step is not None:
            by_step.setdefault(step, []).append(each)
    return [_representative(drawn, run) for _, drawn in sorted(by_step.items())]


def compare_all(store: Storage, run: Run, rollouts: Sequence[StoredRollout]) -> tuple[Example, ...]:
    """Compare rollouts with the run, in the order of the steps that they change.

    Raises:
        CorruptRecord: A journal is damaged.
    """
    if not rollouts:
        return ()
    journal = load_journal(store, run.run_id)
    compared = (compare(run, _without_requests(store, journal, each), each) for each in rollouts)
    return tuple(sorted(compared, key=lambda example: example.step))


def intervention_of(rollout: StoredRollout) -> Intervention:
    """What was changed in a rollout."""
    return Intervention.from_json(canonical.decode(rollout.counts).get("do") or [])


def resampled_step(rollout: StoredRollout) -> int | None:
    """The step that a rollout resampled; None for every other intervention."""
    operations = canonical.decode(rollout.counts).get("do") or []
    if len(operations) == 1 and operations[0]["op"] == "resample":
        return int(operations[0]["step"])
    return None


def _representative(drawn: Sequence[StoredRollout], run: Run) -> StoredRollout:
    in_order = sorted(drawn, key=lambda each: each.draw)
    return next((each for each in in_order if _changed(each, run)), in_order[0])


def _changed(rollout: StoredRollout, run: Run) -> bool:
    if rollout.outcome is None or run.outcome is None:
        return False
    return rollout.outcome != run.outcome.value


def _without_requests(store: Storage, journal: Journal, rollout: StoredRollout) -> Run:
    """Rebuild what a rollout decided and was told, not what it decided from.

    Its requests are most of its size and none of the comparison: for 100 rollouts of 100 steps, 13 s of CPU with them
    and 2.4 s without.
    """
    held = canonical.decode(rollout.counts).get("held", 0)
    lines = [line for line in store.rollout_journal(rollout.rollout_id).split("\n") if line]
    own = [read_line(line, where=f"rollout {rollout.rollout_id}, line {i}") for i, line in enumerate(lines, 1)]
    served = [journal.crossings[i] for i in (range(held) if isinstance(held, int) else held)]
    crossings = [replace(each, **_NO_REQUEST) if each.kind == "model" else each for each in (*served, *own)]
    output = canonical.decode(rollout.counts).get("output")
    return assemble(journal, crossings, run_id=rollout.rollout_id, output=output)


def compare(run: Run, other: Run, rollout: StoredRollout) -> Example:
    """Find the first difference between a run and a rollout of it."""
    intervention = intervention_of(rollout)
    ours, theirs, differs = first_divergence(run, other)
    at = None if not differs else ours.index if ours is not None else len(run.steps)
    return Example(
        step=min((each.step for each in intervention.operations), default=0),
        intervention=str(intervention),
        rollout_id=rollout.rollout_id,
        draw=rollout.draw,
        status=rollout.status,
        outcome=rollout.outcome,
        changed=_changed(rollout, run),
        diverged_at=at,
        differs=differs,
        original=None if ours is None else happenings.happening(ours),
        rollout=None if theirs is None else happenings.happening(theirs),
        original_next=_following(run, ours),
        rollout_next=_following(other, theirs),
        original_output=happenings.output_of(run),
        rollout_output=happenings.output_of(other),
    )


def first_divergence(run: Run, other: Run) -> tuple[Step | None, Step | None, str]:
    """Return the first step that differs, as it is in the run and in the rollout, and what differs.

    Steps are paired by lane and by their place in it: concurrent parts may finish in another order without anything
    having been decided otherwise.
    """
    theirs = _by_place(other)
    for place, ours in _by_place(run).items():
        found = theirs.pop(place, None)
        if found is None:
            return ours, None, "length"
        if happenings.action_key(ours) != happenings.action_key(found):
            return ours, found, "action"
        if happenings.observation_key(ours) != happenings.observation_key(found):
            return ours, found, "observation"
    extra = next(iter(theirs.values()), None)
    return None, extra, "" if extra is None else "length"


def _by_place(run: Run) -> dict[tuple[str, int], Step]:
    counted: Counter[str] = Counter()
    places: dict[tuple[str, int], Step] = {}
    for step in run.steps:
        places[step.lane, counted[step.lane]] = step
        counted[step.lane] += 1
    return places


def _following(run: Run, step: Step | None) -> tuple[str, ...]:
    if step is None:
        return ()
    first = step.index + 1
    lines = [f"{each.index}: {happenings.in_short(each, 80)}" for each in run.steps[first : first + FOLLOWING]]
    left = len(run.steps) - (first + FOLLOWING)
    return (*lines, f"… and {left} more") if left > 0 else tuple(lines)
