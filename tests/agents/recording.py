"""Record and roll out agents in memory: what most replay tests begin with."""

from collections.abc import Callable
from typing import Any

from butfor.outcomes import score_of, tool_called
from butfor.replay import Budget, Intervention, Job, Meter, Rollout, Rollouts, ToolPolicy, record_run, wrap_agent
from butfor.replay.jobs import Score
from butfor.store import MemoryStore, Storage

REFUNDED = score_of(tool_called("refund"), name="refunded")


def recorded(
    agent: Callable[..., Any], task: Any, *, store: Storage | None = None, score: Score = REFUNDED
) -> tuple[Storage, str]:
    """Record an agent without verification; returns the store and the run's id.

    The id seeds what the rollouts draw, so it is made from the agent's name and not from the time.
    """
    kept = store or MemoryStore()
    name = f"{getattr(agent, '__name__', type(agent).__name__)}-{len(kept.list_runs())}"
    return kept, record_run(agent, task, store=kept, score=score, run_id=name, verify=False).run.run_id


def rollouts_of(
    agent: Callable[..., Any],
    store: Storage,
    run_id: str,
    *,
    score: Score = REFUNDED,
    tools: ToolPolicy | None = None,
    budget: Budget | None = None,
    **rest: Any,
) -> Rollouts:
    """Make what executes rollouts of a recorded run."""
    meter = Meter(budget=budget) if budget else None
    return Rollouts(run_id, store, agent=wrap_agent(agent), score=score, tools=tools, meter=meter, **rest)


def jobs(intervention: Intervention, count: int) -> list[Job]:
    """Ask for `count` draws of one intervention."""
    return [Job(intervention=intervention, arm=str(intervention), ordinal=i) for i in range(count)]


def run(rollouts: Rollouts, intervention: Intervention, count: int) -> list[Rollout]:
    """Execute `count` draws of one intervention."""
    return rollouts.run(jobs(intervention, count))
