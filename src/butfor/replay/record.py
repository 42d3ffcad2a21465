"""Record a run: execute the agent once, keep every crossing, and check that it replays."""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
import sys
import time
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

import butfor
from butfor import canonical
from butfor.errors import AgentError, InputError, OutcomeError
from butfor.replay import do
from butfor.replay.agents import Agent, check_signature, find_agent, wrap_agent
from butfor.replay.ambient import Routed
from butfor.replay.assemble import assemble
from butfor.replay.draws import RecordedSeeds
from butfor.replay.engine import Ending, check_held, drive, run_to_end
from butfor.replay.journal import Journal, footer_line
from butfor.replay.lanes import Wrapped
from butfor.replay.plan import compile_plan
from butfor.replay.recording import RecordingSession
from butfor.replay.rollout import RolloutSession
from butfor.replay.rollouts import load_journal
from butfor.replay.tools import ToolPolicy
from butfor.replay.trajectory import Trajectory
from butfor.runs import Grade, Outcome, Replayability, Run

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from butfor.canonical import Json
    from butfor.replay.crossings import Crossing
    from butfor.replay.jobs import Score
    from butfor.store import Storage


@dataclass(frozen=True, kw_only=True)
class Recorded:
    """A recorded run.

    Attributes:
        run: The run, stored.
        ending: How the agent ended.
        differences: Where an untouched replay differed from the recording; empty where it was faithful.
        verified: Whether the replay was tried at all.
    """

    run: Run
    ending: Ending
    differences: tuple[str, ...]
    verified: bool


_REFUSED = "boundaries reached from code that the recorder cannot place, and refused: {}"


def record_run(
    agent: str | Callable[..., Any],
    task: Json,
    *,
    store: Storage,
    score: Score | None = None,
    run_id: str | None = None,
    verify: bool = True,
    ambient: bool = False,
) -> Recorded:
    """Record one execution of an agent.

    The agent runs for real: its tools act. Afterwards it is replayed untouched, in a fresh process and twice at the
    same time, with every boundary served from the journal; what lies outside the boundaries runs again then.

    Args:
        agent: ``module:function``, or the callable itself.
        task: The agent's input, a JSON value.
        store: Where the run is kept.
        score: The outcome, if it is known already.
        run_id: The run's name; made from the time by default.
        verify: Whether to replay; a run that was not verified is graded approximate.
        ambient: Whether `time.time`, `random`, `numpy.random` and `uuid.uuid4` are boundaries too, here and in every
            replay of the run.

    Raises:
        AgentError: The agent cannot be imported or called. An agent that raises is recorded as such.
        OutcomeError: The outcome function failed.
    """
    found = find_agent(agent) if isinstance(agent, str) else wrap_agent(agent)
    check_signature(found.fresh(), found.name or "given")
    run_id = run_id or new_run_id()
    header = _header(found, task, ambient=ambient)
    recording = store.open_recording(run_id, header)
    session = RecordingSession(recording.append, entropy=bytes.fromhex(str(header["entropy"])), ambient=ambient)
    with Wrapped(), Routed(on=ambient):
        ending = run_to_end(drive(found, task, session))
    recording.append(footer_line({"status": ending.status, "output": ending.output, "error": ending.error}))
    recording.finish()
    journal = load_journal(store, run_id)
    try:
        outcome = None if score is None else outcome_of(journal, score)
    except OutcomeError as error:
        # What the agent did is done and may have cost much: it is kept, and can be scored once the outcome is mended.
        store.save_run(_graded(found, journal, run_id, ending, None, session.refusals, verify=False)[0])
        raise OutcomeError(
            error.what, where=f"the run is kept as {run_id}", fix=error.fix or "mend it, then attribute that run"
        ) from error
    run, differences, verified = _graded(found, journal, run_id, ending, outcome, session.refusals, verify=verify)
    store.save_run(run)
    return Recorded(run=run, ending=ending, differences=differences, verified=verified)


def new_run_id() -> str:
    """Make a run's name: readable, sortable by time, and unique."""
    return f"{datetime.now(UTC):%Y%m%d-%H%M%S}-{os.urandom(3).hex()}"


def factual_trajectory(journal: Journal) -> Trajectory:
    """Return the recorded execution as an outcome function sees it.

    Raises:
        InputError: The recording was cut off.
    """
    if journal.footer is None:
        raise InputError("the recording was cut off before the agent ended", fix="record the run again")
    failed = journal.footer["status"] != "completed"
    return Trajectory(
        journal=journal,
        crossings=journal.crossings,
        task=journal.header.get("input"),
        output=journal.footer.get("output"),
        failure="raised" if failed else None,
        error=journal.footer.get("error") if failed else None,
    )


def outcome_of(journal: Journal, score: Score) -> Outcome | None:
    """Return y of a recorded run, None where the outcome does not score its kind of ending."""
    value = score.of(factual_trajectory(journal))
    return None if value is None else Outcome(value=value, rule=score.name)


def untouched_differences(journal: Journal, agent: Agent) -> list[str]:
    """Replay a run untouched, alone and twice at the same time; say where it differs from the recording."""

    async def all_three() -> list[str]:
        with Wrapped(), Routed(on=journal.ambient):
            alone = await _untouched(journal, agent)
            together = await asyncio.gather(_untouched(journal, agent), _untouched(journal, agent))
        return [
            *([f"alone: {alone}"] if alone else []),
            *(f"two at the same time: {each}" for each in together if each and each != alone),
        ]

    return run_to_end(all_three())


async def _untouched(journal: Journal, agent: Agent) -> str | None:
    session = RolloutSession(compile_plan(journal, do.nothing), seeds=RecordedSeeds(), tools=ToolPolicy())
    ending = check_held(session, await drive(agent, journal.header.get("input"), session))
    footer = journal.footer or {}
    if ending.status != footer.get("status"):
        return ending.error or f"it {ending.status} where the recording {footer.get('status')}"
    difference = canonical.first_difference(footer.get("output"), ending.output)
    if difference is not None:
        path, old, new = difference
        return f"the output differs at {path}: recorded {str(old)[:60]}, now {str(new)[:60]}"
    # A reading of the time more or less is no difference: a loop that waits makes as many as it needs.
    missed = _without_readings(journal.crossings) - _without_readings(session.crossings)
    return f"{missed} recorded crossings were not reached" if missed else None


def _without_readings(crossings: Sequence[Crossing]) -> int:
    return sum(each.kind != "ambient" for each in crossings)


def _header(agent: Agent, task: Json, *, ambient: bool) -> dict[str, Json]:
    now = time.time()
    return {
        "format": "butfor-journal/1",
        "agent": agent.name,
        "input": canonical.decode(canonical.encode_exact(task)),
        "code": dict(agent.code),
        "ambient": ambient,
        "entropy": os.urandom(16).hex(),
        "started": now,
        "recorded_at": datetime.fromtimestamp(now, UTC).isoformat(),
        "version": butfor.__version__,
        "python": sys.version.split()[0],
    }


def _graded(
    agent: Agent,
    journal: Journal,
    run_id: str,
    ending: Ending,
    outcome: Outcome | None,
    refusals: int,
    *,
    verify: bool,
) -> tuple[Run, tuple[str, ...], bool]:
    differences: tuple[str, ...] = (_REFUSED.format(refusals),) if refusals else ()
    verified = agent.name is not None and verify
    missing = differences
    if agent.name is None:
        missing += ("verification: the agent cannot be imported by name",)
    elif not verify:
        missing += ("verification: skipped",)
    else:
        differences += tuple(verify_in_fresh_process(agent, run_id, journal))
        missing = differences
    grade = Grade(level=Replayability.APPROXIMATE, missing=missing) if missing else Grade()
    run = assemble(journal, journal.crossings, run_id=run_id, output=ending.output, outcome=outcome, grade=grade)
    return run, differences, verified


def verify_in_fresh_process(agent: Agent, run_id: str, journal: Journal) -> list[str]:
    """Replay in a new interpreter, so that what the recording left in memory cannot help.

    Raises:
        AgentError: The new interpreter could not import the agent.
    """
    document = {
        "agent": agent.name,
        "run": run_id,
        "header": journal.header,
        "lines": [each.line() for each in journal.crossings],
        "footer": journal.footer,
    }
    child = subprocess.run(
        [sys.executable, "-m", "butfor.replay.verification"],
        input=canonical.encode(document),
        capture_output=True,
        text=True,
        check=False,
        env=os.environ | {"PYTHONPATH": os.pathsep.join(path for path in sys.path if path)},
    )
    try:
        answer: list[str] = json.loads(child.stdout.splitlines()[-1])["differences"]
    except (ValueError, KeyError, IndexError):
        last = (child.stderr.strip().splitlines() or ["no output"])[-1]
        raise AgentError(f"the fresh process could not replay the agent: {last}") from None
    return answer
