"""The policy's own draws as proposals: what else it decides from the same state, best first."""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING

from butfor import canonical
from butfor.errors import CorruptRecord
from butfor.repairs.edits import decided, key_of
from butfor.repairs.engine import crossings_of
from butfor.repairs.proposal import Proposal
from butfor.replay import Job, do

if TYPE_CHECKING:
    from collections.abc import Sequence

    from butfor.attribution.case import Case
    from butfor.canonical import Json
    from butfor.repairs.proposal import Failure
    from butfor.replay import Rollout

DRAWS = 16
"""Draws of the policy that are looked at, unless told otherwise."""


class Resamples:
    """Actions that the policy itself draws when the step is decided again.

    The draws are those of the arm `resample:k`, which attribution buys too, so most are there already. They produced
    and ranked the proposals; validation draws from arms of its own.

    Args:
        case: The run.
        draws: How many draws to look at; those that are in the store already are all looked at.
    """

    def __init__(self, case: Case, *, draws: int = DRAWS) -> None:
        self._case, self._draws = case, draws
        self.bought: list[Rollout] = []

    def propose(self, failure: Failure, step: int, count: int) -> Sequence[Proposal]:
        """Return the `count` different actions that succeeded most often, the likelier first among equals."""
        del failure
        drawn: dict[str, list[tuple[Json, Rollout]]] = defaultdict(list)
        for rollout in self._rollouts(step):
            action = self._decided(rollout, step)
            if action is not None:
                drawn[key_of(action)].append((action, rollout))
        ranked = sorted(drawn.values(), key=lambda each: (-_successes(each), -len(each)))
        return [self._proposal(step, each) for each in ranked[:count]]

    def _rollouts(self, step: int) -> list[Rollout]:
        arm = f"resample:{step}"
        rollouts = self._case.rollouts
        stored = len(rollouts.store.load_rollouts(rollouts.run_id, rollouts.fingerprint, arm))
        jobs = [
            Job(intervention=do.resample(step), arm=arm, ordinal=i) for i in range(max(self._draws, min(stored, 256)))
        ]
        found = rollouts.run(jobs)
        self.bought += found
        return [each for each in found if each.rollout_id is not None]

    def _decided(self, rollout: Rollout, step: int) -> Json:
        """Return what the policy decided at the step in a rollout; None where it did not come to that."""
        assert rollout.rollout_id is not None
        where = self._case.journal.steps[step]
        try:
            crossings = crossings_of(self._case.rollouts.store.rollout_journal(rollout.rollout_id), rollout.rollout_id)
        except CorruptRecord:
            return None
        for each in crossings:
            if (each.lane, each.occurrence, each.kind) == (where.lane, where.occurrence, "model") and each.response:
                return decided(canonical.decode(each.response))
        return None

    def _proposal(self, step: int, drawn: list[tuple[Json, Rollout]]) -> Proposal:
        origin = {
            "policy": self._case.agent.name or "the recorded agent",
            "rollouts": [rollout.rollout_id for _, rollout in drawn][:8],
            "drawn": len(drawn),
            "succeeded": _successes(drawn),
        }
        return Proposal(step=step, action=drawn[0][0], source="resample", origin=origin)


def _successes(drawn: list[tuple[Json, Rollout]]) -> float:
    return sum(0.0 if rollout.outcome is None else 1.0 - rollout.outcome for _, rollout in drawn)
