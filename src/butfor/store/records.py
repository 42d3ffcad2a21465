"""What goes into a store and what comes out of it."""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING, Literal

from butfor.errors import InputError, OutcomeError

if TYPE_CHECKING:
    from datetime import datetime

    from butfor.runs import Replayability

_LARGEST_DRAW = 2**63 - 1


@dataclasses.dataclass(frozen=True, kw_only=True)
class RunSummary:
    """One line of `list_runs`.

    Attributes:
        run_id: The run's name in this store.
        recorded_at: When it was recorded, ISO 8601 in UTC; None where the source does not say.
        agent: The recorded `module:function`, else the name of the first agent.
        format: `butfor` for recorded runs, else the importer's name.
        steps: Number of decisions; None while there is only a journal.
        outcome: y in [0, 1]; None where it was not scored.
        grade: How faithfully the run can be replayed; None while there is only a journal.
        complete: False where a recording was begun and no run was saved: it is still going on, or was killed. Its
            journal can be read.
    """

    run_id: str
    recorded_at: str | None = None
    agent: str | None = None
    format: str | None = None
    steps: int | None = None
    outcome: float | None = None
    grade: Replayability | None = None
    complete: bool = True


@dataclasses.dataclass(frozen=True, kw_only=True)
class StoredRollout:
    """A rollout as it is read back, without its journal.

    Attributes:
        rollout_id: Unique in the store.
        run_id: The run that was re-executed.
        fingerprint: The analysis it belongs to: code, tools, outcome rule and model (design §4).
        arm: The intervention, as text.
        draw: The draw's number in its arm, from 0. A draw of an arm is stored once.
        status: How it ended: completed, timeout, unsupported, diverged, raised, abandoned.
        outcome: y in [0, 1]; None where it is missing.
        counts: JSON text of what it took: calls by kind, tokens, money, seconds.
        created_at: When it ended, with a time zone.

    Raises:
        OutcomeError: The outcome is NaN or outside [0, 1].
        InputError: The draw is negative or beyond 63 bits, or `created_at` has no time zone.
    """

    rollout_id: str
    run_id: str
    fingerprint: str
    arm: str
    draw: int
    status: str
    outcome: float | None
    counts: str
    created_at: datetime

    def __post_init__(self) -> None:
        # NaN would come back as None: SQL knows no NaN, and a missing outcome is something else.
        if self.outcome is not None and not 0 <= self.outcome <= 1:
            raise OutcomeError(
                f"the outcome {self.outcome} is not in [0, 1]",
                where=f"rollout {self.rollout_id}",
                fix="return a number from 0 (good) to 1 (bad), or None where it is missing",
            )
        if not 0 <= self.draw <= _LARGEST_DRAW:
            raise InputError(f"draw {self.draw} is not a count from 0", where=f"rollout {self.rollout_id}")
        if self.created_at.tzinfo is None:
            raise InputError("created_at has no time zone", where=f"rollout {self.rollout_id}", fix="give it in UTC")


@dataclasses.dataclass(frozen=True, kw_only=True)
class RolloutRecord(StoredRollout):
    """A rollout as it is saved.

    Attributes:
        journal: Its boundary crossings, as text.
    """

    journal: str

    def without_journal(self) -> StoredRollout:
        """Return what `load_rollouts` gives back for this record."""
        return StoredRollout(
            **{field.name: getattr(self, field.name) for field in dataclasses.fields(StoredRollout)},
        )


@dataclasses.dataclass(frozen=True, kw_only=True)
class ArmSummary:
    """An arm that has rollouts.

    Attributes:
        fingerprint: The analysis.
        arm: The intervention, as text.
        rollouts: How many are stored.
        oldest: When the first of them ended, with a time zone.
    """

    fingerprint: str
    arm: str
    rollouts: int
    oldest: datetime


@dataclasses.dataclass(frozen=True, kw_only=True)
class ResultRecord:
    """A saved answer.

    Attributes:
        result_id: Unique in the store.
        run_id: The run it is about.
        kind: Which verb gave it, such as `profile`.
        params: What it was asked with, as JSON text.
        body: The answer, as JSON text.
    """

    result_id: str
    run_id: str
    kind: str
    params: str
    body: str


@dataclasses.dataclass(frozen=True, kw_only=True)
class Mismatch:
    """Something stored that is not what it should be.

    Attributes:
        kind: A blob, a line of an unfinished journal, what is attached to an entry of the ledger, a reference to what
            is not there, or the database file.
        name: Its digest, its place, or the file.
        problem: What is wrong with it.
    """

    kind: Literal["blob", "crossing", "attachment", "reference", "database"]
    name: str
    problem: str


@dataclasses.dataclass(frozen=True, kw_only=True)
class Verification:
    """What `verify` found.

    Attributes:
        checked: How many digests were derived again.
        mismatches: What does not match; empty where all is well.
    """

    checked: int
    mismatches: tuple[Mismatch, ...]

    @property
    def ok(self) -> bool:
        """Say whether everything matched."""
        return not self.mismatches
