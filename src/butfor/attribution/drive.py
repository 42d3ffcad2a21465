"""Execute a method's rollouts: from a recorded run's id to an answer that is stored with it."""

from __future__ import annotations

import time
import uuid
from collections import defaultdict
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Protocol

from butfor import canonical
from butfor.attribution.answers import AnswerKind
from butfor.attribution.bill import Bill, bill
from butfor.attribution.case import Case, listed
from butfor.attribution.sampling import Arm, Coalition, Draw, DrawResult, Proposal, ResampleFrom, Sampler
from butfor.errors import BudgetStop, InputError, TransportFault
from butfor.replay import Intervention, Job, Rollout, Rollouts, do, factual_trajectory

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from butfor.canonical import Json
    from butfor.replay import Journal


NO_PROPOSALS: Mapping[int, Sequence[Json]] = MappingProxyType({})


class Answer(Protocol):
    """What every method answers with."""

    @property
    def sentence(self) -> str:
        """The answer in words."""
        ...

    def to_json(self) -> dict[str, Any]:
        """Return plain JSON values."""
        ...


@dataclass(frozen=True, kw_only=True)
class NotReplayable:
    """The answer where the run cannot be decided again.

    Attributes:
        sentence: Why.
    """

    sentence: str

    def to_json(self) -> dict[str, Any]:
        """Return plain JSON values."""
        return {"method": "none", "kind": AnswerKind.NOT_REPLAYABLE.value, "sentence": self.sentence}


@dataclass(frozen=True, kw_only=True)
class Attribution:
    """An answer, and how it was bought.

    Attributes:
        result_id: Its name in the store.
        run_id: The run.
        method: Which method gave it.
        answer: The answer.
        bill: What it cost.
        notes: What a reader must know: approximations, noise, identical resamples, what was left out.
        stopped: Why it ended early; None where it did not.
        fingerprint: Of the draws.
        settings: What it was asked with.
    """

    result_id: str
    run_id: str
    method: str
    answer: Answer
    bill: Bill
    notes: tuple[str, ...]
    stopped: str | None
    fingerprint: str
    settings: dict[str, Any] = field(default_factory=dict)

    def to_json(self) -> dict[str, Any]:
        """Return plain JSON values."""
        return {
            "result_id": self.result_id,
            "run_id": self.run_id,
            "method": self.method,
            "answer": self.answer.to_json(),
            "bill": self.bill.to_json(),
            "notes": list(self.notes),
            "stopped": self.stopped,
            "fingerprint": self.fingerprint,
            "settings": self.settings,
        }


def drive_method(
    case: Case,
    sampler: Sampler[Answer],
    *,
    method: str,
    settings: Mapping[str, Any],
    proposals: Mapping[int, Sequence[Json]] = NO_PROPOSALS,
) -> Attribution:
    """Execute a method to its end, or to where the budget or Ctrl-C stops it, and store its answer.

    Args:
        case: The run.
        sampler: The method.
        method: Its name.
        settings: What it was asked with; stored with the answer.
        proposals: Step to the actions that its `Proposal` arms stand for.
    """
    start = time.monotonic()
    buyer = _Buyer(case, proposals)
    batch = sampler.propose()
    while batch:
        results = buyer.buy(batch)
        sampler.enter(results)
        if len(results) < len(batch):
            break
        batch = sampler.propose()
    answer: Answer = sampler.answer() if buyer.diverged is None else NotReplayable(sentence=buyer.diverged)
    y = case.factual if isinstance(case.factual, float) else case.factual.to_json()
    attribution = Attribution(
        result_id=str(uuid.uuid4()),
        run_id=case.run.run_id,
        method=method,
        answer=answer,
        bill=bill(
            buyer.bought, found=buyer.found, seconds=time.monotonic() - start, prices=case.rollouts.meter.budget.prices
        ),
        notes=(*case.notes, *buyer.notes()),
        stopped=_why_stopped(case.rollouts),
        fingerprint=case.rollouts.fingerprint,
        settings=dict(settings) | {"agent": case.agent.name, "outcome": case.score.name, "factual": y},
    )
    case.rollouts.store.save_result(
        attribution.result_id,
        case.run.run_id,
        method,
        canonical.encode(attribution.settings),
        canonical.encode(attribution.to_json()),
    )
    return attribution


class _Buyer:
    """Buys draws in allocation order and remembers what they were."""

    def __init__(self, case: Case, proposals: Mapping[int, Sequence[Json]]) -> None:
        self._case = case
        self._proposals = proposals
        self._started = case.rollouts.meter.rollouts
        self.bought: list[Rollout] = []
        self.diverged: str | None = None
        self._tails: dict[str, list[str]] = defaultdict(list)

    @property
    def found(self) -> int:
        """Rollouts that had been bought before."""
        return max(0, len(self.bought) - (self._case.rollouts.meter.rollouts - self._started))

    def buy(self, batch: tuple[Draw, ...]) -> list[DrawResult]:
        """Execute a batch; a shorter list is the prefix that was finished."""
        judged = [draw for draw in batch if self._decides_nothing(draw.arm)]
        jobs = [self._job(draw) for draw in batch if draw not in judged]
        finished = self._case.rollouts.run(jobs)
        results: list[DrawResult] = []
        remaining = iter(finished)
        for draw in batch:
            if draw in judged:
                # Nothing is decided again: the outcome looks at the recorded run once more.
                results.append(DrawResult(outcome=self._case.score.of(factual_trajectory(self._case.journal))))
                continue
            rollout = next(remaining, None)
            if rollout is None or self._is_divergence(rollout):
                return results
            self.bought.append(rollout)
            self._tails[rollout.arm].append(rollout.tail)
            results.append(_result(rollout))
        return results

    def notes(self) -> list[str]:
        """Say which arms drew the same thing every time."""
        alike = [
            arm.replace("resample:", "step ")
            for arm, tails in self._tails.items()
            if arm.startswith("resample:") and len(tails) > 1 and len(set(tails)) == 1
        ]
        if not alike:
            return []
        return [
            (
                f"all resamples of {listed(alike)} decided the same: the policy is deterministic there, or repeats "
                "itself; they count as draws"
            )
        ]

    def _job(self, draw: Draw) -> Job:
        intervention = intervention_of(draw.arm, self._case.journal, self._proposals)
        # A proposal is known by its action: another list of proposals must not find the draws of this one.
        arm = f"do:{intervention}" if isinstance(draw.arm, Proposal) else draw.arm.key
        return Job(intervention=intervention, arm=arm, ordinal=draw.ordinal)

    def _decides_nothing(self, arm: Arm) -> bool:
        steps = range(len(self._case.journal.steps))
        return arm in (ResampleFrom(step=len(steps)), Coalition(held=frozenset(steps)))

    def _is_divergence(self, rollout: Rollout) -> bool:
        if rollout.status == "diverged":
            self.diverged = f"The run cannot be replayed: {rollout.error}."
        return rollout.status == "diverged"


def intervention_of(arm: Arm, journal: Journal, proposals: Mapping[int, Sequence[Json]] = NO_PROPOSALS) -> Intervention:
    """Turn an arm into operations.

    Raises:
        InputError: The arm is a proposal that is not among the given ones.
    """
    match arm:
        case ResampleFrom(step=step):
            return do.resample(step)
        case Coalition(held=held):
            return _coalition(held, journal)
        case Proposal(step=step, number=number):
            if step not in proposals or number >= len(proposals[step]):
                raise InputError(f"there is no proposal {number} for step {step}")
            return do.action(step, proposals[step][number])


def _coalition(held: frozenset[int], journal: Journal) -> Intervention:
    """Keep the factual actions of the held steps, decide all others again."""
    steps = range(len(journal.steps))
    free = [step for step in steps if step not in held]
    if not free:
        return do.nothing
    result = do.resample(free[0])
    for step in sorted(held):
        if step > free[0]:
            result = result & do.action(step, canonical.decode(journal.steps[step].response or "null"))
    return result


def _result(rollout: Rollout) -> DrawResult:
    return DrawResult(
        outcome=rollout.outcome,
        matched=rollout.action_matched,
        held_until=rollout.matched_until,
        unsupported=rollout.tool if rollout.status == "unsupported" else None,
        policy_calls=rollout.counts.get("policy", 0),
    )


def _why_stopped(rollouts: Rollouts) -> str | None:
    if rollouts.interrupted:
        return "interrupted; finished rollouts are kept, run the same command to go on"
    match rollouts.stopped:
        case BudgetStop() | TransportFault() as stop:
            return str(stop)
        case _:
            return None
