"""The replay engine as an executor: trials of a recorded run, bought once and kept in its store."""

from __future__ import annotations

from typing import TYPE_CHECKING

from butfor import canonical
from butfor.errors import InputError, ReplayDivergence
from butfor.repairs.executor import Trial
from butfor.replay import Job, do
from butfor.replay.crossings import read_line

if TYPE_CHECKING:
    from collections.abc import Sequence

    from butfor.attribution.case import Case
    from butfor.canonical import Json
    from butfor.replay import Intervention, Rollout
    from butfor.replay.crossings import Crossing

# What a tail may contain and still be proven: answers that are functions of what was asked. A live call of a tool that
# reads the world, time and randomness are none.
_PROVEN = frozenset({"forced", "simulated", "recorded", "held"})


class EngineExecutor:
    """Executes trials through the replay engine.

    Each purpose draws from arms of its own, named after it, so that a draw that selected a candidate is never one that
    validates it. Draws of attribution (`resample:k`) and of `butfor replay` (`do:…`) are in yet other arms.

    Args:
        case: The run.
        purpose: What the draws are for: screen, shrink, validate.
    """

    def __init__(self, case: Case, *, purpose: str) -> None:
        self._case, self._purpose = case, purpose
        self._seen: dict[tuple[str, int], Rollout] = {}

    @property
    def bought(self) -> list[Rollout]:
        """The rollouts used so far."""
        return list(self._seen.values())

    def run(self, step: int, action: Json, draw: int) -> float | None:
        """Execute one trial; a budget that does not allow it leaves no outcome."""
        outcomes = self.run_all([Trial(step=step, action=action, draw=draw)])
        return outcomes[0] if outcomes else None

    def run_all(self, trials: Sequence[Trial]) -> list[float | None]:
        """Execute trials together; a shorter list is the prefix that a budget or Ctrl-C left.

        Raises:
            ReplayDivergence: The held prefix asks something other than what was recorded.
        """
        usable = [trial for trial in trials if self.why_unusable(trial.step, trial.action) is None]
        finished = iter(self.rollouts(usable))
        outcomes: list[float | None] = []
        for trial in trials:
            if trial not in usable:
                outcomes.append(1.0)  # an action that the agent cannot be given repairs nothing
                continue
            rollout = next(finished, None)
            if rollout is None:
                break
            outcomes.append(rollout.outcome)
        return outcomes

    def why_unusable(self, step: int, action: Json) -> str | None:
        """Say why an action cannot stand for the recorded answer of a step; None where it can."""
        if action is None:
            return None
        try:
            self._case.rollouts.plan(do.action(step, action))
        except InputError as error:
            return str(error)
        return None

    def rollouts(self, trials: Sequence[Trial]) -> list[Rollout]:
        """Execute trials together, and return everything that is known of them."""
        jobs = [self._job(trial) for trial in trials]
        wanted = list(dict.fromkeys((job.arm, job.ordinal) for job in jobs))
        missing = {(job.arm, job.ordinal): job for job in jobs if (job.arm, job.ordinal) not in self._seen}
        # What has been stopped stays stopped: after Ctrl-C or a spent budget only what is there already is used.
        is_over = self._case.rollouts.interrupted or self._case.rollouts.stopped is not None
        for rollout in [] if is_over else self._case.rollouts.run(list(missing.values())):
            if rollout.status == "diverged":
                raise ReplayDivergence(f"the run cannot be replayed: {rollout.error}")
            self._seen[rollout.arm, rollout.ordinal] = rollout
        finished: list[Rollout] = []
        for key in wanted:
            if key not in self._seen:
                break
            finished.append(self._seen[key])
        return finished

    def deterministic_tail(self, step: int, action: Json) -> bool:
        """Prove it: no stochastic call after the step, and two executions that came out equal, digest by digest."""
        if self.why_unusable(step, action) is not None:
            return False
        pair = self.rollouts([Trial(step=step, action=action, draw=draw) for draw in (0, 1)])
        if len(pair) < 2 or any(each.status != "completed" or each.counts.get("policy") for each in pair):
            return False
        tails = [self._tail(each) for each in pair]
        return (
            all(_is_proven(each) for tail in tails for each in tail)
            and len({*map(_digest, tails)}) == 1
            and (len({canonical.digest([each.outcome, each.output]) for each in pair}) == 1)
        )

    def _tail(self, rollout: Rollout) -> list[Crossing]:
        assert rollout.rollout_id is not None  # it completed
        return crossings_of(self._case.rollouts.store.rollout_journal(rollout.rollout_id), rollout.rollout_id)

    def _job(self, trial: Trial) -> Job:
        if trial.action is None:
            return Job(intervention=do.resample(trial.step), arm=null_arm(trial.step), ordinal=trial.draw)
        intervention = self._intervention(trial)
        return Job(intervention=intervention, arm=f"{self._purpose}:{intervention}", ordinal=trial.draw)

    @staticmethod
    def _intervention(trial: Trial) -> Intervention:
        return do.action(trial.step, trial.action)


def null_arm(step: int) -> str:
    """Name the arm in which a step is decided again to be compared with: no other purpose draws from it."""
    return f"null:{step}"


def crossings_of(journal: str, rollout_id: str) -> list[Crossing]:
    """Read the crossings that a rollout made itself."""
    lines = [line for line in journal.split("\n") if line]
    return [read_line(line, where=f"rollout {rollout_id}, line {i}") for i, line in enumerate(lines, 1)]


def _is_proven(crossing: Crossing) -> bool:
    pure = crossing.kind == "tool" and crossing.answered == "live" and crossing.effect == "none"
    return crossing.answered in _PROVEN or pure


def _digest(tail: list[Crossing]) -> str:
    return canonical.digest([[each.kind, each.name, each.digest, each.response, each.error] for each in tail])
