"""Repair at test time, without changing the model: run, and where the result fails, change as little as possible.

The verifier is at hand, so what is returned has passed it. That is all that is said about it: no bound, no claim that
the same change would help again.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

from butfor.errors import InputError
from butfor.repairs.edits import decided, key_of, readable, token_distance
from butfor.repairs.failure import failure_of_run
from butfor.repairs.proposers.arguments import ArgumentEdits
from butfor.replay import (
    Budget,
    Intervention,
    Job,
    Meter,
    Rollouts,
    conversation,
    do,
    find_agent,
    load_journal,
    wrap_agent,
)
from butfor.replay.record import record_run
from butfor.replay.stored import find_rollout, rollout_run

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from butfor.canonical import Json
    from butfor.replay import Rollout, Score, ToolPolicy
    from butfor.runs import Run
    from butfor.store import Storage

Status: TypeAlias = Literal["passed", "rescued", "not rescued"]

ROLLOUTS = 32
"""Rollouts that a rescue may take, unless told otherwise."""
PASSES_BELOW = 0.5
"""The verifier gives y in [0, 1], 1 = bad; below this a result has passed."""
ROUND = 4


@dataclass(frozen=True, kw_only=True)
class Rescue:
    """What came of a task.

    Attributes:
        status: Passed at the first try; rescued; or not rescued within the budget, and then `output` is what the first
            try returned.
        output: The result.
        drift: Steps that were decided otherwise than in the first try, those it no longer takes or newly takes
            included; 0 where nothing had to change, None where there was no rescue.
        step: The first of them.
        changed: What was decided there instead.
        rollouts: Rollouts that were made.
        simulated: Tool calls of the returned result that were simulated or taken from the recording: what they would
            have written was not written.
        run_id: The first try, recorded.
        rollout_id: The rollout that is returned; None where none is.
    """

    status: Status
    output: Json
    drift: int | None
    step: int | None
    changed: Json
    rollouts: int
    simulated: int
    run_id: str
    rollout_id: str | None

    @property
    def passed(self) -> bool:
        """Whether the output has passed the verifier."""
        return self.status != "not rescued"

    @property
    def sentence(self) -> str:
        """The answer in words."""
        match self.status:
            case "passed":
                return "The first try passed the verifier."
            case "rescued":
                steps = "1 step" if self.drift == 1 else f"{self.drift} steps"
                held = f" {self.simulated} tool calls of it were not made for real." if self.simulated else ""
                return f"Rescued at step {self.step}: {steps} decided otherwise, {self.rollouts} rollouts.{held}"
            case _:
                return f"Not rescued: none of {self.rollouts} rollouts passed the verifier. The first try is returned."

    def to_json(self) -> dict[str, Any]:
        """Return plain JSON values."""
        names = ("status", "output", "drift", "step", "changed", "rollouts", "simulated", "run_id", "rollout_id")
        return {name: getattr(self, name) for name in names} | {"sentence": self.sentence}


def rescue_run(
    agent: str | Callable[..., Any],
    task: Json,
    *,
    score: Score,
    store: Storage,
    tools: ToolPolicy | None = None,
    rollouts: int = ROLLOUTS,
    concurrency: int = 8,
) -> Rescue:
    """Run an agent once, and where its result fails the verifier, look for the nearest one that passes.

    The first try runs for real, tools and all. What follows are rollouts: the steps before the change are served from
    the recording, and no write tool runs unless it is allowed. The last steps are tried first, since a later change
    leaves more as it was; of all results that pass, the one with the fewest steps decided otherwise is returned.

    Args:
        agent: ``module:function``, or the callable itself.
        task: The agent's input.
        score: The verifier; y below PASSES_BELOW has passed.
        store: Where the first try and the rollouts are kept.
        tools: What tools may do in rollouts.
        rollouts: How many to make, at most.
        concurrency: Rollouts at the same time.

    Raises:
        InputError: The budget buys nothing.
        AgentError: The agent cannot be imported or called.
        OutcomeError: The verifier failed.
    """
    if rollouts < 1:
        raise InputError(f"a rescue with {rollouts} rollouts cannot try anything", fix="allow at least one")
    recorded = record_run(agent, task, store=store, score=score, verify=False)
    run = recorded.run
    if run.outcome is not None and run.outcome.value < PASSES_BELOW:
        return _first(run, "passed", 0)
    found = find_agent(agent) if isinstance(agent, str) else wrap_agent(agent)
    engine = Rollouts(
        run.run_id,
        store,
        agent=found,
        score=score,
        tools=tools,
        meter=Meter(budget=Budget(rollouts=rollouts)),
        concurrency=concurrency,
    )
    return _Search(run=run, engine=engine, left=rollouts).rescue()


@dataclass(kw_only=True)
class _Search:
    run: Run
    engine: Rollouts
    left: int
    best: tuple[tuple[int, int], Rollout, Run] | None = None
    _made: int = 0

    def rescue(self) -> Rescue:
        for jobs in self._rounds():
            allowed = jobs[: self.left]
            self.left -= len(allowed)
            for rollout in self.engine.run(allowed):
                self._made += 1
                self._look_at(rollout)
            # Fewer than one step cannot change.
            if self.left == 0 or (self.best is not None and self.best[0][0] <= 1):
                break
        return self._answer()

    def _rounds(self) -> Iterator[list[Job]]:
        """Yield edits of the last steps' calls and draws of the policy, the last step first, over and over."""
        steps = len(load_journal(self.engine.store, self.run.run_id).steps)
        failure = failure_of_run(self.run)
        for step in reversed(range(steps)):
            edits = [do.action(step, each.action) for each in ArgumentEdits().propose(failure, step, ROUND)]
            if edits:
                yield [_job(each, 0) for each in edits]
        turn = 0
        while steps:
            for step in reversed(range(steps)):
                yield [_job(do.resample(step), turn * ROUND + i) for i in range(ROUND)]
            turn += 1

    def _look_at(self, rollout: Rollout) -> None:
        if rollout.outcome is None or rollout.outcome >= PASSES_BELOW or rollout.rollout_id is None:
            return
        store = self.engine.store
        other = rollout_run(store, find_rollout(store, self.run.run_id, rollout.rollout_id))
        size = _drift(self.run, other)
        if self.best is None or size < self.best[0]:
            self.best = size, rollout, other

    def _answer(self) -> Rescue:
        if self.best is None:
            return _first(self.run, "not rescued", self._made)
        (drift, _), rollout, other = self.best
        step = next((i for i, same in enumerate(_same(self.run, other)) if not same), None)
        return Rescue(
            status="rescued",
            output=rollout.output,
            drift=drift,
            step=step,
            changed=_action(other, step) if step is not None and step < len(other.steps) else None,
            rollouts=self._made,
            simulated=rollout.counts.get("simulated", 0) + rollout.counts.get("recorded", 0),
            run_id=self.run.run_id,
            rollout_id=rollout.rollout_id,
        )


def _first(run: Run, status: Status, made: int) -> Rescue:
    return Rescue(
        status=status,
        output=run.output.get(),
        drift=0 if status == "passed" else None,
        step=None,
        changed=None,
        rollouts=made,
        simulated=0,
        run_id=run.run_id,
        rollout_id=None,
    )


def _drift(run: Run, other: Run) -> tuple[int, int]:
    """Count the steps decided otherwise, and the tokens in which their decisions differ."""
    same = _same(run, other)
    tokens = sum(
        token_distance(readable(_action(run, i)), readable(_action(other, i)))
        for i, each in enumerate(same)
        if not each and i < min(len(run.steps), len(other.steps))
    )
    return sum(not each for each in same), tokens


def _same(run: Run, other: Run) -> list[bool]:
    longest, both = max(len(run.steps), len(other.steps)), min(len(run.steps), len(other.steps))
    return [i < both and key_of(_action(run, i)) == key_of(_action(other, i)) for i in range(longest)]


def _action(run: Run, step: int) -> Json:
    return decided(conversation.answer_of(run.steps[step]))


def _job(intervention: Intervention, ordinal: int) -> Job:
    return Job(intervention=intervention, arm=f"rescue:{intervention}", ordinal=ordinal)
