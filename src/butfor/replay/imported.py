"""From an imported run to one that can be replayed: its journal is made by rehearsing it once."""

from __future__ import annotations

import asyncio
import dataclasses
import json
import os
import time
from datetime import UTC, datetime
from typing import TYPE_CHECKING

import butfor
from butfor import runs
from butfor.errors import InputError
from butfor.replay import conversation
from butfor.replay.agents import find_agent
from butfor.replay.engine import drive
from butfor.replay.journal import footer_line
from butfor.replay.lanes import Wrapped
from butfor.replay.record import verify_in_fresh_process
from butfor.replay.recording import RecordingSession
from butfor.replay.rollouts import load_journal
from butfor.runs import Grade, Replayability, Run

if TYPE_CHECKING:
    from collections.abc import Mapping

    from butfor.canonical import Json
    from butfor.store import Storage

AGENT = "butfor.replay.conversation:converse"
DEFAULT_POLICY = "butfor.replay.conversation:openai_policy"


@dataclasses.dataclass(frozen=True, kw_only=True)
class Replayable:
    """An imported run with a journal.

    Attributes:
        run: The run as stored; attribution takes it from here.
        steps: Decisions that a rollout can hold exactly as they were.
        answers: Tool results that the trace holds.
        unanswered: Tools that have neither a function nor, in some call, a recorded result: a rollout that calls one
            of them otherwise than recorded is unsupported.
        differences: Where an untouched replay differs; empty where it is faithful.
    """

    run: Run
    steps: int
    answers: int
    unanswered: tuple[str, ...]
    differences: tuple[str, ...]


def make_replayable(
    run: Run,
    *,
    store: Storage,
    policy: str = DEFAULT_POLICY,
    defaults: Mapping[str, Json] | None = None,
    tools: Mapping[str, str] | None = None,
    effects: Mapping[str, str] | None = None,
    outcome: str | None = None,
    verify: bool = True,
) -> Replayable:
    """Store an imported run with a journal, so that every verb that replays works on it.

    Nothing is asked of a model and no tool runs: the run's own answers and results are played to the agent of
    `conversation.py`, which asks the recorded requests. In a rollout, *policy* decides from the intervention on. A
    tool call is answered by a registered simulator, by the recorded result where tool, arguments and the calls before
    are equal, or by the user's function where its effect or the allow-list lets it run; else the rollout is
    unsupported.

    Args:
        run: An imported run: one agent, one line of requests, graded approximate or better.
        store: Where it is kept.
        policy: ``module:function`` of one request that returns an answer; by default the recorded model.
        defaults: What the recorded requests lack (model, tools, temperature), for live decisions only.
        tools: Tool name to ``module:function`` that does it.
        effects: Tool name to none, read or write; `write` where nothing is said.
        outcome: The outcome rule to keep with the run.
        verify: Whether to replay it untouched in a fresh process.

    Raises:
        InputError: The run cannot be carried on as one conversation; the message says why.
    """
    _check(run)
    agent = find_agent(AGENT)
    task = _task(run, policy=policy, defaults=defaults, tools=tools, effects=effects)
    entropy = os.urandom(16)
    recording = store.open_recording(run.run_id, _header(task, dict(agent.code), entropy))
    session = RecordingSession(recording.append, entropy=entropy)
    token = conversation.rehearsed.set(_Script(run))
    try:
        with Wrapped():
            ending = asyncio.run(drive(agent, task, session))
    finally:
        conversation.rehearsed.reset(token)
    recording.append(footer_line({"status": ending.status, "output": ending.output, "error": ending.error}))
    recording.finish()
    journal = load_journal(store, run.run_id)
    differences = _differences(run, [crossing.digest for crossing in journal.steps], ending.error)
    if verify and not differences:
        differences = verify_in_fresh_process(agent, run.run_id, journal)
    stored = _graded(run, differences, verify=verify)
    store.save_run(stored)
    store.save_spec(run.run_id, json.dumps({"agent": AGENT, "outcome": outcome}))
    return Replayable(
        run=stored,
        steps=len(run.steps),
        answers=sum(len(step.observations) for step in run.steps),
        unanswered=_unanswered(run, tools or {}),
        differences=tuple(differences),
    )


def _check(run: Run) -> None:
    where = f"run {run.run_id}"
    if not run.steps:
        raise InputError("the run has no step", where=where, fix="import a trace that holds model calls")
    run.overall_grade.require(Replayability.APPROXIMATE, verb="replaying an imported run", where=where)
    lines = {(step.agent, step.lane) for step in run.steps}
    if len(lines) > 1:
        names = ", ".join(sorted(agent for agent, _ in lines))
        raise InputError(
            f"the run has several agents ({names}); who speaks next is their program's decision, not in the trace",
            where=where,
            fix="record the program itself with butfor record",
        )
    request = run.request(0)
    if not isinstance(request, dict) or not ("messages" in request or "input" in request):
        raise InputError("the requests are not message lists", where=where, fix="record the run with butfor record")
    if any(step.request is None for step in run.steps):
        raise InputError("a step has no request", where=where, fix="import a trace that holds every model call")


def _task(
    run: Run,
    *,
    policy: str,
    defaults: Mapping[str, Json] | None,
    tools: Mapping[str, str] | None,
    effects: Mapping[str, str] | None,
) -> Json:
    wrong = sorted(set((effects or {}).values()) - {"none", "read", "write"})
    if wrong:
        raise InputError(f"a tool's effect is none, read or write, not {wrong[0]!r}")
    imported = {
        "run": runs.to_text(run),
        "policy": policy,
        "defaults": dict(defaults or {}),
        "tools": dict(tools or {}),
        "effects": dict(effects or {}),
    }
    return {"task": run.task.get(), "imported": imported}


def _header(task: Json, code: dict[str, str], entropy: bytes) -> dict[str, Json]:
    now = time.time()
    return {
        "format": "butfor-journal/1",
        "agent": AGENT,
        "input": task,
        "code": code,
        "entropy": entropy.hex(),
        "started": now,
        "recorded_at": datetime.fromtimestamp(now, UTC).isoformat(),
        "version": butfor.__version__,
    }


class _Script:
    """Plays the run's own answers and results."""

    def __init__(self, run: Run) -> None:
        self._run = run

    def answer(self, step: int) -> Json:
        return conversation.answer_of(self._run.steps[step])

    def result(self, step: int, call_id: str | None) -> Json:
        factual = self._run.steps[step]
        return conversation.replies_of(factual) if call_id is None else conversation.result_of(factual, call_id)


def _differences(run: Run, asked: list[str], error: str | None) -> list[str]:
    """Say where the rehearsal asked something else than the trace holds."""
    if error is not None:
        return [f"the rehearsal ended early: {error}"]
    recorded = [step.request.digest for step in run.steps if step.request is not None]
    if asked != recorded:
        first = next((i for i, (a, b) in enumerate(zip(asked, recorded, strict=False)) if a != b), len(asked))
        return [f"the rehearsal asks something else from step {first} on"]
    return []


def _graded(run: Run, differences: list[str], *, verify: bool) -> Run:
    missing = tuple(differences) if differences else () if verify else ("verification: skipped",)
    grade = run.grade & Grade(level=Replayability.APPROXIMATE, missing=missing) if missing else run.grade
    provenance = run.provenance.model_copy(update={"agent": AGENT, "butfor_version": butfor.__version__})
    return run.model_copy(update={"grade": grade, "provenance": provenance})


def _unanswered(run: Run, tools: Mapping[str, str]) -> tuple[str, ...]:
    called = {call.name for step in run.steps for call in step.tool_calls}
    if any(conversation.replies_of(step) for step in run.steps):
        called.add(conversation.USER)
    return tuple(sorted(called - tools.keys()))
