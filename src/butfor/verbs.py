"""The verbs as functions: what the command line does, for a program."""

from __future__ import annotations

import json
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from butfor.attribution import Ask, Attribution, Question, attribute_run
from butfor.outcomes import find_outcome, score_of
from butfor.repairs import RepairAnswer, RepairAsk, Rescue, repair_run, rescue_run
from butfor.repairs.rescue import ROLLOUTS
from butfor.replay import Recorded, record_run
from butfor.store import MemoryStore, Store

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from butfor.canonical import Json
    from butfor.repairs import Proposer
    from butfor.replay import ToolPolicy, Trajectory
    from butfor.store import Storage


def record(
    agent: str | Callable[..., Any],
    input: Json,  # noqa: A002  the word of the command line
    *,
    outcome: str | Callable[[Trajectory], float] | None = None,
    store: Storage | Path | None = None,
    verify: bool = True,
    ambient: bool = False,
) -> Recorded:
    """Run an agent once, for real, and record it.

    Args:
        agent: ``module:function``, or the callable itself.
        input: The agent's input, a JSON value.
        outcome: A rule such as ``'tool_called("refund")'``, or a function of a `Trajectory`; 1 = bad.
        store: A store, or the folder of one; ``$BUTFOR_HOME`` or ``./.butfor`` by default.
        verify: Whether to replay untouched afterwards.
        ambient: Whether module-level time and randomness are boundaries too.

    Returns:
        The stored run, how the agent ended, and where its untouched replay differed.

    Raises:
        AgentError: The agent cannot be imported or called.
        OutcomeError: The outcome function failed.
    """
    score = find_outcome(outcome) if isinstance(outcome, str) else None if outcome is None else score_of(outcome)
    with opened(store) as kept:
        recorded = record_run(agent, input, store=kept, score=score, verify=verify, ambient=ambient)
        name = recorded.run.provenance.agent
        kept.save_spec(
            recorded.run.run_id, json.dumps({"agent": name, "outcome": None if score is None else score.name})
        )
    return recorded


def attribute(
    run: str,
    *,
    method: str = "search",
    ask: Ask | None = None,
    question: Question | None = None,
    store: Storage | Path | None = None,
) -> Attribution:
    """Say which step of a recorded run caused its outcome.

    Args:
        run: The run's id, or the beginning of it.
        method: search, profile, shapley, shapley-published or responsibility.
        ask: How the method is to look: draws, error level, margins.
        question: Agent, outcome, tools and budget, where they differ from what was recorded.
        store: A store, or the folder of one; ``$BUTFOR_HOME`` or ``./.butfor`` by default.

    Returns:
        The answer, its bill, and notes that a reader must know. It is stored with the run.

    Raises:
        NotFound: No such run or method.
        InputError: The run does not hold what the method needs; the message names it.
        ReplayDivergence: An untouched replay differs from the recording.
    """
    with opened(store) as kept:
        return attribute_run(run, store=kept, method=method, ask=ask, question=question)


def repair(
    run: str,
    *,
    ask: RepairAsk | None = None,
    question: Question | None = None,
    proposers: Sequence[Proposer] = (),
    store: Storage | Path | None = None,
) -> RepairAnswer:
    """Find the smallest change to a failed run's decisive step that is shown to fix it.

    Args:
        run: The run's id, or the beginning of it.
        ask: How to look: which steps, what a repair must show, how many proposals.
        question: Agent, outcome, tools and budget, where they differ from what was recorded.
        proposers: Asked before the built-in ones (structured edits of tool calls, the policy's own draws).
        store: A store, or the folder of one; ``$BUTFOR_HOME`` or ``./.butfor`` by default.

    Returns:
        Accepted repairs with both arms' bounds, everything that was tested, and the bill. It is stored with the run.

    Raises:
        NotFound: No such run or step.
        InputError: The run did not fail, or does not hold what a replay needs.
        ReplayDivergence: An untouched replay differs from the recording.
    """
    with opened(store) as kept:
        return repair_run(run, store=kept, ask=ask, question=question, proposers=proposers)


def rescue(
    agent: str | Callable[..., Any],
    task: Json,
    verifier: str | Callable[[Trajectory], float],
    *,
    rollouts: int = ROLLOUTS,
    tools: ToolPolicy | None = None,
    store: Storage | Path | None = None,
) -> Rescue:
    """Run an agent, and where the result fails the verifier, return the nearest one that passes, or say that none did.

    The first try runs for real. What follows are rollouts: no write tool runs in them unless it is allowed.

    Args:
        agent: ``module:function``, or the callable itself.
        task: The agent's input, a JSON value.
        verifier: A rule such as ``'tool_called("refund")'``, or a function of a `Trajectory`; 1 = bad, and below 0.5 a
            result has passed.
        rollouts: How many to make, at most.
        tools: What tools may do in rollouts.
        store: A store, or the folder of one; nothing is kept by default.

    Returns:
        The result with its drift: how many steps were decided otherwise than in the first try.

    Raises:
        InputError: The budget buys nothing.
        AgentError: The agent cannot be imported or called.
        OutcomeError: The verifier failed.
    """
    score = find_outcome(verifier) if isinstance(verifier, str) else score_of(verifier)
    with opened(MemoryStore() if store is None else store) as kept:
        return rescue_run(agent, task, score=score, store=kept, tools=tools, rollouts=rollouts)


@contextmanager
def opened(store: Storage | Path | None) -> Iterator[Storage]:
    """Open a folder's store for the block, or pass on one that is open already."""
    if store is None or isinstance(store, Path):
        with Store.open(store) as kept:
            yield kept
    else:
        yield store
