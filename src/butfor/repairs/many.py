"""Many runs at once: which of them can be repaired, and where the others fall out."""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass, field, replace
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING, Any

from butfor.errors import AgentError, InputError, NothingFailed, OutcomeError, ReplayError, TransportFault
from butfor.repairs.repair import repair_run

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from butfor.attribution import Question, Quote
    from butfor.repairs.ask import RepairAsk
    from butfor.repairs.proposers import Proposer
    from butfor.repairs.result import RepairAnswer
    from butfor.store import RunSummary, Storage

_CONDITION = re.compile(r"(run|agent|format)=(.+)|(y|steps)\s*(<=|>=|<|>|=)\s*(\d+(?:\.\d+)?)")
_HINT = "write all, failed, agent=GLOB, run=GLOB, format=GLOB, y>=0.5 or steps<20, joined by commas"


@dataclass(frozen=True, kw_only=True)
class Selection:
    """Which runs are meant.

    Attributes:
        text: As it was written.
        conditions: Each takes a run's summary; all must hold.
    """

    text: str
    conditions: tuple[Callable[[RunSummary], bool], ...]

    @classmethod
    def parse(cls, text: str) -> Selection:
        """Read a filter: conditions joined by commas.

        Raises:
            InputError: A part is no condition.
        """
        return cls(text=text, conditions=tuple(_condition(part.strip()) for part in text.split(",")))

    def takes(self, run: RunSummary) -> bool:
        """Say whether a run is meant; an unfinished recording never is."""
        return run.complete and all(condition(run) for condition in self.conditions)


def _condition(part: str) -> Callable[[RunSummary], bool]:
    if part == "all":
        return lambda run: True
    if part == "failed":
        return lambda run: run.outcome is not None and run.outcome >= 0.5
    match = _CONDITION.fullmatch(part)
    if match is None:
        raise InputError(f"cannot read the filter {part!r}", fix=_HINT)
    if match[1]:
        name, pattern = {"run": "run_id"}.get(match[1], match[1]), match[2]
        return lambda run: fnmatchcase(str(getattr(run, name) or ""), pattern)
    name, sign, bound = {"y": "outcome"}.get(match[3], match[3]), match[4], float(match[5])
    return lambda run: _compares(getattr(run, name), sign, bound)


def _compares(value: float | None, sign: str, bound: float) -> bool:
    if value is None:
        return False
    holds = {
        "<": value < bound,
        "<=": value <= bound,
        ">": value > bound,
        ">=": value >= bound,
        "=": value == bound,
    }
    return holds[sign]


STAGES = ("selected", "failed the verifier", "replayable", "blamed", "proposed for", "tested", "repaired", "exportable")
"""The yield funnel: runs that came as far as each stage."""


@dataclass(kw_only=True)
class Yield:
    """What became of the runs.

    Attributes:
        selection: The filter.
        counts: Runs that came as far as each of `STAGES`.
        answers: What was answered, run by run.
        fell_out: Run to the reason why it was not repaired.
        rollouts: Rollouts bought in all; those that were there already cost nothing.
        stopped: Whether the budget ended it before the last run.
    """

    selection: str
    counts: Counter[str] = field(default_factory=Counter)
    answers: list[RepairAnswer] = field(default_factory=list)
    fell_out: dict[str, str] = field(default_factory=dict)
    rollouts: int = 0
    stopped: bool = False

    def to_json(self) -> dict[str, Any]:
        """Return plain JSON values."""
        return {
            "selection": self.selection,
            "funnel": {stage: self.counts[stage] for stage in STAGES},
            "answers": [each.to_json() for each in self.answers],
            "fell_out": dict(self.fell_out),
            "rollouts": self.rollouts,
            "stopped": self.stopped,
        }


def repair_many(
    selection: Selection,
    *,
    store: Storage,
    ask: RepairAsk,
    question: Question,
    proposers: Sequence[Proposer] = (),
    progress: Callable[[int, int], None] | None = None,
    began: Callable[[str], None] | None = None,
    announce: Callable[[Quote], None] | None = None,
) -> Yield:
    """Repair every selected run, the oldest first, until the budget of rollouts is used up.

    A run that did not fail, cannot be replayed or has no step to blame is no error: it is counted where it fell out.

    Args:
        selection: Which runs.
        store: Where they are.
        ask: How to look, the same for all.
        question: The verifier is its outcome; its budget of rollouts is for all runs together, its other limits for
            each.
        proposers: Asked before the built-in ones.
        progress: Called after each rollout.
        began: Told each run's id when it is begun.
        announce: Told each run's price before anything is spent on it.
    """
    result = Yield(selection=selection.text)
    limit = question.budget.rollouts
    for summary in reversed(store.list_runs()):
        if not selection.takes(summary):
            continue
        result.counts["selected"] += 1
        left = None if limit is None else limit - result.rollouts
        if left is not None and left <= 0:
            result.stopped = True
            result.fell_out[summary.run_id] = "the budget was used up before it"
            continue
        if began is not None:
            began(summary.run_id)
        each = replace(question, budget=replace(question.budget, rollouts=left))
        _one(summary, result, store, ask, each, proposers, progress, announce)
    return result


def _one(
    summary: RunSummary,
    result: Yield,
    store: Storage,
    ask: RepairAsk,
    question: Question,
    proposers: Sequence[Proposer],
    progress: Callable[[int, int], None] | None,
    announce: Callable[[Quote], None] | None,
) -> None:
    run_id = summary.run_id
    try:
        answer = repair_run(
            run_id, store=store, ask=ask, question=question, proposers=proposers, progress=progress, announce=announce
        )
    except NothingFailed as error:
        result.fell_out[run_id] = str(error)
        return
    except (InputError, AgentError, OutcomeError, ReplayError, TransportFault) as error:
        # It was not scored by the verifier; what is known is how it was scored when it was recorded.
        result.counts["failed the verifier"] += summary.outcome is not None and summary.outcome >= 0.5
        result.fell_out[run_id] = str(error)
        return
    result.answers.append(answer)
    result.rollouts += answer.bill.rollouts - answer.bill.found
    reached = {
        "failed the verifier": True,
        "replayable": True,
        "blamed": bool(answer.steps),
        "proposed for": answer.funnel.get("proposed", 0) > 0,
        "tested": bool(answer.tried),
        "repaired": bool(answer.repairs),
        "exportable": any(each.exportable for each in answer.repairs),
    }
    result.counts.update(stage for stage, did in reached.items() if did)
    if not answer.repairs:
        result.fell_out[run_id] = answer.sentence
