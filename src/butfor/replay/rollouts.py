"""Many rollouts of one run: bought in order, kept one by one, never paid for twice."""

from __future__ import annotations

import asyncio
import time
import uuid
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from functools import cached_property
from typing import TYPE_CHECKING

import butfor
from butfor import canonical
from butfor.errors import AgentError, BudgetStop, DrawTaken, TransportFault
from butfor.replay import reading
from butfor.replay.ambient import Routed
from butfor.replay.budget import Meter
from butfor.replay.draws import FreshSeeds, RecordedSeeds
from butfor.replay.engine import RESULTS, Ending, check_held, drive, run_to_end, trajectory_of
from butfor.replay.jobs import Job, Rollout, Score, from_stored, to_facts
from butfor.replay.journal import Journal
from butfor.replay.lanes import Wrapped
from butfor.replay.plan import Plan, compile_plan
from butfor.replay.rollout import RolloutSession
from butfor.replay.tools import ToolPolicy, simulators_of
from butfor.store import RolloutRecord

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from butfor.canonical import Json
    from butfor.replay.agents import Agent
    from butfor.replay.crossings import Crossing
    from butfor.replay.do import Intervention
    from butfor.store import Storage, StoredRollout


DEFAULT_POOLING = timedelta(days=7)
"""How old a stored draw may be and still enter an estimate: hosted models change under one name."""


class Rollouts:
    """Executes rollouts of one recorded run.

    Args:
        run_id: The run.
        store: Where finished rollouts are kept and found again.
        agent: The user's agent, imported.
        score: The outcome.
        tools: What tools may do.
        meter: Counts against a budget.
        concurrency: Rollouts at the same time.
        time_limit: Seconds for one rollout; None is no limit.
        pooling: Stored draws older than this are made again under a new fingerprint.
        progress: Called after each rollout with (finished, asked for).
    """

    def __init__(
        self,
        run_id: str,
        store: Storage,
        *,
        agent: Agent,
        score: Score,
        tools: ToolPolicy | None = None,
        meter: Meter | None = None,
        concurrency: int = 8,
        time_limit: float | None = None,
        pooling: timedelta = DEFAULT_POOLING,
        progress: Callable[[int, int], None] | None = None,
    ) -> None:
        self.run_id = store.resolve(run_id)
        self.store = store
        self.agent = agent
        self.score = score
        given = tools or ToolPolicy()
        self.tools = replace(given, simulators={**simulators_of(agent.owns), **given.simulators})
        self.meter = meter or Meter()
        self.stopped: BudgetStop | TransportFault | None = None
        self.interrupted = False
        self._concurrency = concurrency
        self._time_limit = time_limit
        self._pooling = pooling
        self._progress = progress
        self._plans: dict[Intervention, Plan] = {}
        self._known: dict[str, dict[int, StoredRollout]] = {}

    @cached_property
    def journal(self) -> Journal:
        """The recording."""
        return load_journal(self.store, self.run_id)

    @cached_property
    def fingerprint(self) -> str:
        """What the draws depend on: agent code, tools, simulators, outcome, model (design §4).

        Where draws of this fingerprint are older than the pooling window, a dated one begins.
        """
        plain = canonical.digest(
            {
                "run": self.run_id,
                "code": self.agent.code_digest,
                "outcome": [self.score.name, self.score.digest, self.score.scores_failures],
                "models": sorted({step.name for step in self.journal.steps}),
                "simulators": sorted(self.tools.simulators),
                "live": [sorted(self.tools.allow_write), self.tools.live_reads_after_write],
                "draws": 1,
            }
        )
        arms = [arm for arm in self.store.list_arms(self.run_id) if arm.fingerprint.partition("@")[0] == plain]
        if not arms:
            return plain
        latest = max(arm.fingerprint for arm in arms)
        now = datetime.now(UTC)
        is_fresh = now - min(arm.oldest for arm in arms if arm.fingerprint == latest) <= self._pooling
        return latest if is_fresh else f"{plain}@{now:%Y-%m-%dT%H:%M}"

    def run(self, jobs: Sequence[Job]) -> list[Rollout]:
        """Execute jobs from synchronous code; see `execute`."""
        return run_to_end(self.execute(jobs))

    async def execute(self, jobs: Sequence[Job]) -> list[Rollout]:
        """Execute jobs, or find them in the store.

        Returns:
            The finished rollouts in the order of the jobs, up to the first that a budget, an unreachable model or
            Ctrl-C left open. What finished beyond it is kept in the store for the next call.

        Raises:
            AgentError: The agent cannot be made.
            OutcomeError: The outcome function failed.
        """
        results = [self._stored(job) for job in jobs]
        done = sum(each is not None for each in results)
        open_jobs = iter([(i, job) for i, job in enumerate(jobs) if results[i] is None])

        async def work() -> None:
            nonlocal done
            for position, job in open_jobs:  # shared: each worker takes the next one
                if self.stopped is None:
                    results[position] = await self._one(job)
                done += 1
                if self._progress is not None:
                    self._progress(done, len(jobs))

        with Wrapped(), Routed(on=self.journal.ambient):
            workers = [asyncio.ensure_future(work()) for _ in range(min(self._concurrency, len(jobs) - done))]
            try:
                await asyncio.gather(*workers)
            except BaseException as error:
                for worker in workers:
                    worker.cancel()
                await asyncio.gather(*workers, return_exceptions=True)
                if not isinstance(error, asyncio.CancelledError):
                    raise
                self.interrupted = True  # Ctrl-C: what is finished is a valid partial result
        return _finished_prefix(results)

    def plan(self, intervention: Intervention) -> Plan:
        """Compile an intervention, once."""
        if intervention not in self._plans:
            self._plans[intervention] = compile_plan(self.journal, intervention)
        return self._plans[intervention]

    def _stored(self, job: Job) -> Rollout | None:
        if isinstance(job.seeds, RecordedSeeds):
            return None
        if job.arm not in self._known:
            self._look_up(job.arm)
        found = self._known[job.arm].get(job.ordinal)
        return None if found is None else from_stored(found)

    def _look_up(self, arm: str) -> None:
        stored = self.store.load_rollouts(self.run_id, self.fingerprint, arm)
        self._known[arm] = {each.draw: each for each in stored}

    async def _one(self, job: Job) -> Rollout | None:
        try:
            self.meter.take_rollout()
        except BudgetStop as stop:
            self.stopped = self.stopped or stop
            return None
        start = time.perf_counter()
        seeds = job.seeds or FreshSeeds(fingerprint=self.fingerprint, draw=f"{job.arm}#{job.ordinal}")
        session = RolloutSession(self.plan(job.intervention), seeds=seeds, tools=self.tools, meter=self.meter)
        ending = await drive(self.agent, self.journal.header.get("input"), session, time_limit=self._time_limit)
        ending = check_held(session, ending)
        if isinstance(ending.cause, BudgetStop | TransportFault):
            self.stopped = self.stopped or ending.cause
            return None
        if isinstance(ending.cause, AgentError):
            raise ending.cause
        rollout = self._describe(job, session, ending, time.perf_counter() - start)
        if rollout.status in RESULTS and not isinstance(job.seeds, RecordedSeeds):
            try:
                self._keep(rollout, session)
            except DrawTaken:
                # Another process analyses the run too and was faster. A draw is made once, so its result is the result.
                self._look_up(job.arm)
                return self._stored(job)
        return rollout

    def _describe(self, job: Job, session: RolloutSession, ending: Ending, seconds: float) -> Rollout:
        scored = ending.status in ("completed", "raised", "timeout")
        return Rollout(
            rollout_id=str(uuid.uuid4()) if ending.status in RESULTS else None,
            arm=job.arm,
            ordinal=job.ordinal,
            status=ending.status,
            outcome=self.score.of(trajectory_of(session, ending)) if scored else None,
            error=ending.error,
            tool=getattr(ending.cause, "tool", None),
            counts=dict(session.counts),
            tokens=(session.usage[0], session.usage[1]),
            seconds=seconds,
            action_matched=session.action_matched,
            matched_until=session.matched_until,
            tail=canonical.digest_text("\n".join([_decided(each) for each in _own(session) if each.kind == "model"])),
            output=ending.output,
        )

    def _keep(self, rollout: Rollout, session: RolloutSession) -> None:
        assert rollout.rollout_id is not None
        self.store.save_rollout(
            RolloutRecord(
                rollout_id=rollout.rollout_id,
                run_id=self.run_id,
                fingerprint=self.fingerprint,
                arm=rollout.arm,
                draw=rollout.ordinal,
                status=rollout.status,
                outcome=rollout.outcome,
                counts=to_facts(rollout, **_more(session)),
                created_at=datetime.now(UTC),
                journal="\n".join([each.line() for each in _own(session)]),
            )
        )


def _own(session: RolloutSession) -> list[Crossing]:
    """Return what was not served from the recording, whose numbers those of a rollout go on from."""
    first = len(session.plan.journal.crossings)
    return [each for each in session.crossings if each.seq >= first]


def _decided(crossing: Crossing) -> str:
    """Say what was decided, without the ids and times that a hosted model gives every answer."""
    response = crossing.response
    # Text is its own action; reading it would cost as much as the rest of a step.
    if response is None or response.startswith('"'):
        return f"{crossing.name}{response}"
    return f"{crossing.name}{reading.read(canonical.decode(response)).key}"


def load_journal(store: Storage, run_id: str) -> Journal:
    """Read a run's journal.

    Raises:
        NotFound: No such run, or it was not recorded here.
        CorruptRecord: The journal is damaged.
    """
    whole = store.resolve(run_id)
    return Journal.read(store.read_header(whole), store.read_journal(whole), where=f"run {whole}")


def _finished_prefix(results: list[Rollout | None]) -> list[Rollout]:
    finished: list[Rollout] = []
    for each in results:
        if each is None:
            break
        finished.append(each)
    return finished


def _more(session: RolloutSession) -> dict[str, Json]:
    """What a stored rollout needs to be shown again: which recorded crossings it was served, and what was changed."""
    held = [each.seq for each in session.crossings if each.seq < len(session.plan.journal.crossings)]
    # Held crossings are mostly a prefix of the recording, so their number says it all.
    prefix = held == list(range(len(held)))
    return {
        "held": len(held) if prefix else list(held),
        "do": session.plan.intervention.to_json(),
        "version": butfor.__version__,
    }
