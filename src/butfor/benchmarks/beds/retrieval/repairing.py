"""Repair one failed search run: its tail is drawn again, so only bounds can tell a repair from luck."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from butfor.benchmarks.beds.retrieval.agent import STEPS, Action, Agent, State, read, search
from butfor.noise import generator
from butfor.repairs import Proposal, RepairTest, Standard, Verdict
from butfor.repairs.edits import key_of, measure

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from butfor.canonical import Json

LOCATING = 48
PROPOSALS = 5


@dataclass(frozen=True, kw_only=True)
class SearchRerun:
    """The `Executor` of this bed: holds the steps before k, sets step k, and draws the rest from π.

    Attributes:
        agent: The agent.
        actions: The failed run.
        key: Names the run in every draw's key.
        seed: Root of every draw.
    """

    agent: Agent
    actions: tuple[Action, ...]
    key: str
    seed: int

    def run(self, step: int, action: Json, draw: int) -> float:
        """Return y of one rollout: 0 where the answer is right."""
        held = list(self.actions[:step])
        fixed = held if action is None else [*held, action]
        arm = "null" if action is None else key_of(action)
        source = generator(self.seed, "validation", self.key, step, arm, draw)
        return 0.0 if self.agent.play(fixed, source)[1] else 1.0

    def deterministic_tail(self, step: int, action: Json) -> bool:
        """Say that only the last step has nothing left to draw."""
        return action is not None and step == STEPS - 1


@dataclass(frozen=True, kw_only=True)
class Choice:
    """A repair that one rule took.

    Attributes:
        step: The step.
        action: Its new action.
        success: The true P(success) with it.
        null: The true P(success) with the step merely decided again.
        positional: The published score.
        distance: JSON paths changed.
    """

    step: int
    action: Action
    success: float
    null: float
    positional: float
    distance: int

    @property
    def is_luck(self) -> bool:
        """Whether it is no better than deciding the step again."""
        return self.success <= self.null + 1e-12


@dataclass(frozen=True, kw_only=True)
class Searched:
    """One failed run.

    Attributes:
        agent: The agent.
        actions: The run.
        ours: The repair that the bounds accept, and its verdict.
        published: What any-of-K and the highest M take, on one rollout a proposal and with no null arm.
        proposals: Tested and untested.
        rollouts: Of everything that ours did.
        decisive: The step with the largest true blame.
        located: The step with the largest estimated blame.
    """

    agent: Agent
    actions: tuple[Action, ...]
    ours: tuple[Choice, Verdict] | None
    published: Choice | None
    proposals: int
    rollouts: int
    decisive: int
    located: int


def repair(agent: Agent, actions: tuple[Action, ...], *, key: str, standard: Standard, seed: int) -> Searched:
    """Locate by blame, propose, test in order, and take the first that the bounds accept."""
    executor = SearchRerun(agent=agent, actions=actions, key=key, seed=seed)
    estimated = [_estimate(executor, step) for step in range(STEPS)] + [0.0]
    order = sorted(range(STEPS), key=lambda step: -(estimated[step] - estimated[step + 1]))
    test, ours, tested, rollouts = RepairTest(standard=standard), None, 0, LOCATING * STEPS
    for step in order:
        verdicts: list[Verdict] = []
        for proposal in proposals(executor, step):
            tested += 1
            verdict = test.test(step, proposal.action, executor)
            verdicts.append(verdict)
            rollouts += verdict.draws
            if verdict.accepted:
                ours = (_choice(executor, proposal), verdict)
                break
        rollouts += max((each.null_draws for each in verdicts), default=0)
        if ours:
            break
    true = [agent.success(actions[:step]) for step in range(STEPS)] + [0.0]
    return Searched(
        agent=agent,
        actions=actions,
        ours=ours,
        published=_published(executor),
        proposals=tested,
        rollouts=rollouts,
        decisive=max(range(STEPS), key=lambda step: true[step] - true[step + 1]),
        located=order[0],
    )


def _estimate(executor: SearchRerun, step: int) -> float:
    """Estimate P(success) with everything from a step on decided again, on draws that validate nothing."""
    source = generator(executor.seed, "locating", executor.key, step)
    return sum(executor.agent.play(executor.actions[:step], source)[1] for _ in range(LOCATING)) / LOCATING


def proposals(executor: SearchRerun, step: int) -> Iterator[Proposal]:
    """Yield other actions for a step, each once: edits of its arguments, then draws of the policy itself."""
    seen = {key_of(executor.actions[step])}
    state = State()
    for before, action in enumerate(executor.actions[:step]):
        state = executor.agent.after(state, before, action)
    source = generator(executor.seed, "proposals", executor.key, step)
    edited = [(each, "argument_edit") for each in _edits(executor, state, step)]
    drawn = [(executor.agent.draw(state, step, source), "resample") for _ in range(PROPOSALS)]
    for action, origin in [*edited, *drawn]:
        if key_of(action) not in seen:
            seen.add(key_of(action))
            yield Proposal(step=step, action=action, source="resample" if origin == "resample" else "argument_edit")


def _edits(executor: SearchRerun, state: State, step: int) -> Sequence[Action]:
    """Edit a query by what the question and the pages read say, and a rank by its neighbours; no answer is known."""
    if step in (1, 3):
        return [read(rank) for rank in range(3)]
    person = executor.agent.question.person
    if step == 0:
        return [search(f"{person} founded"), search(person), search(f"{person} company")]
    subject = state.company or person
    return [search(f"{subject} is headquartered in"), search(f"{subject} city"), search(f"{subject} employs people")]


def _choice(executor: SearchRerun, proposal: Proposal) -> Choice:
    step, held = proposal.step, executor.actions[: proposal.step]
    edit = measure(executor.actions[step], proposal.action)
    return Choice(
        step=step,
        action=proposal.action,
        success=executor.agent.success([*held, proposal.action]),
        null=executor.agent.success(held),
        positional=edit.positional or 0.0,
        distance=edit.distance,
    )


def _published(executor: SearchRerun) -> Choice | None:
    """Take, of three proposals a step and one rollout each, the passing one with the highest M."""
    passing = []
    for step in range(STEPS - 1):
        source = generator(executor.seed, "published", executor.key, step)
        for number, proposal in zip(range(3), proposals(executor, step), strict=False):
            if executor.agent.play([*executor.actions[:step], proposal.action], source)[1]:
                passing.append((_choice(executor, proposal), -step, -number))
    return max(passing, key=lambda each: (each[0].positional, *each[1:]))[0] if passing else None
