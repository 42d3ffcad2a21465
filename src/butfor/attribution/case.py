"""A recorded run, opened and checked, before anything is spent on it."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from butfor.attribution.judged import VERDICTS, judged_outcome
from butfor.errors import InputError, ReplayDivergence
from butfor.outcomes import WARNING, find_outcome, is_noisy
from butfor.replay import (
    Agent,
    Budget,
    Meter,
    Rollouts,
    Score,
    ToolPolicy,
    factual_trajectory,
    find_agent,
    load_journal,
    untouched_differences,
)
from butfor.runs import Replayability

if TYPE_CHECKING:
    from collections.abc import Callable

    from butfor.attribution.margins import Margins
    from butfor.confidence import Estimate
    from butfor.replay import Journal
    from butfor.runs import Run
    from butfor.store import Storage


@dataclass(frozen=True, kw_only=True)
class Question:
    """Everything an attribution needs from the user beyond the run's id.

    Attributes:
        agent: ``module:function``; the recorded one by default.
        outcome: A rule or ``module:function``; the recorded one by default.
        tools: What tools may do in rollouts.
        budget: Limits.
        concurrency: Rollouts at the same time.
        time_limit: Seconds for one rollout.
    """

    agent: str | None = None
    outcome: str | None = None
    tools: ToolPolicy = field(default_factory=ToolPolicy)
    budget: Budget = field(default_factory=Budget)
    concurrency: int = 8
    time_limit: float | None = None

    def to_json(self) -> dict[str, Any]:
        """Return what was given, under the names of the command line's options; concurrency changes no answer."""
        budget, prices = self.budget, self.budget.prices
        options = {
            "agent": self.agent,
            "outcome": self.outcome,
            "max_rollouts": budget.rollouts,
            "max_calls": budget.policy_calls,
            "max_tokens": budget.tokens,
            "max_money": budget.money,
            "max_seconds": budget.seconds,
            "prices": None if prices is None else [prices.prompt, prices.completion],
            "time_limit": self.time_limit,
            "allow_write": sorted(self.tools.allow_write),
            "live_reads": self.tools.live_reads_after_write,
            "simulators": sorted(self.tools.simulators),
        }
        return {
            name: value for name, value in options.items() if value is not None and value != [] and value is not False
        }


@dataclass(frozen=True, kw_only=True)
class Case:
    """A recorded run, ready to be decided again.

    Attributes:
        run: The run.
        journal: Its journal.
        agent: The user's agent, imported.
        score: The outcome.
        factual: y of the recorded run; a judge's mean on it with an interval, where asking again may give another.
        rollouts: What executes rollouts.
        notes: What was noticed on the way.
    """

    run: Run
    journal: Journal
    agent: Agent
    score: Score
    factual: float | Estimate
    rollouts: Rollouts
    notes: tuple[str, ...]

    @property
    def steps(self) -> int:
        """N."""
        return len(self.journal.steps)


def open_case(
    run_id: str,
    *,
    store: Storage,
    question: Question,
    margins: Margins | None = None,
    progress: Callable[[int, int], None] | None = None,
) -> Case:
    """Load a run and check that it can be decided again, before anything is spent.

    Where the outcome is a judge's, the recorded run is judged again and again: y's interval gets its share of α.

    Raises:
        NotFound: No such run.
        InputError: It was not recorded, has no agent or outcome, or its outcome is missing.
        AgentError: The agent cannot be imported.
        ReplayDivergence: An untouched replay differs from the recording.
    """
    run = store.load_run(run_id)
    run.overall_grade.require(Replayability.APPROXIMATE, verb="attribution", where=f"run {run.run_id}")
    journal = load_journal(store, run.run_id)
    spec = _spec(store, run.run_id)
    agent = find_agent(
        _needed(question.agent or spec.get("agent") or run.provenance.agent, "agent", "--agent module:function")
    )
    score = find_outcome(_needed(question.outcome or spec.get("outcome"), "outcome", "--outcome RULE"))
    notes = [*run.overall_grade.missing, *_check_replay(journal, agent)]
    seen = score.of(factual_trajectory(journal))
    if seen is None:
        raise InputError(
            f"the recorded run failed ({journal.footer and journal.footer.get('error')}), and the outcome "
            f"{score.name} does not score failures",
            fix="use the outcome 'failed()', or mark your function with butfor.outcomes.scores_failures",
        )
    factual: float | Estimate = seen
    if is_noisy(score.function):
        notes.append(WARNING)
        factual = _judged(journal, score, seen, margins)
    if not journal.steps:
        raise InputError(
            "the run made no model call, so no step decided anything", fix="wrap the model with butfor.model"
        )
    rollouts = Rollouts(
        run.run_id,
        store,
        agent=agent,
        score=score,
        tools=question.tools,
        meter=Meter(budget=question.budget),
        concurrency=question.concurrency,
        time_limit=question.time_limit,
        progress=progress,
    )
    return Case(
        run=run, journal=journal, agent=agent, score=score, factual=factual, rollouts=rollouts, notes=tuple(notes)
    )


def _judged(journal: Journal, score: Score, first: float, margins: Margins | None) -> Estimate:
    """Estimate a judge's mean on the recorded run by asking it again."""
    again = [score.of(factual_trajectory(journal)) for _ in range(VERDICTS - 1)]
    return judged_outcome([first, *again], margins=margins)


def _check_replay(journal: Journal, agent: Agent) -> list[str]:
    """Replay untouched before anything is spent; explain a divergence by what changed in the agent's code."""
    differences = untouched_differences(journal, agent)
    recorded = journal.header.get("code") or {}
    changed = sorted(
        name for name in {*recorded, *agent.code} if recorded.get(name) != agent.code.get(name) and name in recorded
    )
    if differences:
        why = f"the agent's code changed since the recording ({listed(changed)})" if changed else "the replay differs"
        raise ReplayDivergence(f"{why}; first difference, {differences[0]}")
    if changed:
        return [f"the agent's code changed since the recording ({listed(changed)}), but its replay is still faithful"]
    return []


def _spec(store: Storage, run_id: str) -> dict[str, Any]:
    try:
        spec: dict[str, Any] = json.loads(store.load_spec(run_id))
    except LookupError:
        return {}
    return spec


def _needed(text: str | None, what: str, option: str) -> str:
    if not text:
        raise InputError(f"the run has no {what} saved with it", fix=f"give {option}")
    return text


def listed(names: list[str]) -> str:
    """Name up to four things."""
    shown = ", ".join(names[:4])
    return shown if len(names) <= 4 else f"{shown} and {len(names) - 4} more"
