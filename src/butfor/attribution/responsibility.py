"""responsibility: would another action at this step have saved the run?

CausalFlow's CRS says 1 where any of K proposals flips the verifier. A run that succeeds with probability p when a step
is merely decided again gets 1 with probability 1 − (1 − p)^K, so luck counts as responsibility. Beside it stands the
honest version: the effect of the best proposal against the null arm `do.resample(k)`, on rollouts that did not choose
the proposal.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from butfor.attribution.responsibility_result import Responsibility, StepResponsibility
from butfor.attribution.sampling import Draw, DrawResult, Proposal, ResampleFrom, check_results
from butfor.confidence import Undefined, bonferroni, bounded_mean, difference
from butfor.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence


class Proposer(Protocol):
    """Where proposals come from. The driver asks it; the sampler knows proposals by number only."""

    def propose(self, step: int, count: int) -> Sequence[Any]:
        """Return up to `count` replacement actions for a step, in the form of the run's own actions."""
        ...


class ScriptedProposer:
    """Proposals written down beforehand, for tests and for users who know what to try.

    Args:
        script: Step to its proposals.
    """

    def __init__(self, script: Mapping[int, Sequence[Any]]) -> None:
        self._script = {step: list(actions) for step, actions in script.items()}

    def propose(self, step: int, count: int) -> Sequence[Any]:
        """Return the first `count` proposals for a step; none where none was written down."""
        return self._script.get(step, [])[:count]


class ResponsibilitySampler:
    """The published score, and the best proposal against the null arm.

    Three stages: one rollout of every proposal (the published score), more to choose the best of each step, then fresh
    rollouts of the best and of the null arm.

    Args:
        steps: n ≥ 2; the final step is excluded, as published.
        proposals: Step to its number of proposals; a step without any has an undefined score.
        screening: Rollouts of each proposal that choose the best, the published one included.
        draws: Fresh rollouts of the best proposal, and of the null arm.
        alpha: Allowed probability that any step's bounds miss.
        flipped_below: A rollout flips the verifier if its outcome is below this.
    """

    def __init__(
        self,
        *,
        steps: int,
        proposals: Mapping[int, int],
        screening: int = 4,
        draws: int = 32,
        alpha: float = 0.05,
        flipped_below: float = 0.5,
    ) -> None:
        outside = [step for step in proposals if not 0 <= step < steps - 1]
        if outside:
            raise InputError(
                f"step {outside[0]} of {steps} cannot be scored", fix="propose for steps before the final one"
            )
        if min(screening, draws) < 1:
            raise InputError("responsibility needs rollouts", fix="pass screening and draws of at least 1")
        self._steps, self._screening, self._draws = steps, screening, draws
        self._alpha, self._flipped_below = alpha, flipped_below
        self._arms = [Proposal(step=k, number=j) for k in sorted(proposals) for j in range(proposals[k])]
        self._seen: dict[Proposal | ResampleFrom, list[DrawResult]] = {}
        self._best: dict[int, Proposal] = {}
        self._stage, self._stopped = 0, False

    def propose(self) -> tuple[Draw, ...]:
        """Name the rollouts of the current stage."""
        if self._stopped or self._stage > 1 or not self._arms:
            return ()
        if self._stage == 0:
            return tuple(Draw(arm=arm, ordinal=i) for i in range(self._screening) for arm in self._arms)
        return tuple(
            Draw(arm=arm, ordinal=i + (self._screening if isinstance(arm, Proposal) else 0))
            for i in range(self._draws)
            for step, best in self._best.items()
            for arm in (best, ResampleFrom(step=step))
        )

    def enter(self, results: Sequence[DrawResult]) -> None:
        """Take the results of the stage, or the prefix that the budget allowed."""
        proposed = self.propose()
        check_results(proposed, results)
        for draw, result in zip(proposed, results, strict=False):
            assert isinstance(draw.arm, Proposal | ResampleFrom)
            self._seen.setdefault(draw.arm, []).append(result)
        self._stopped = len(results) < len(proposed)
        if self._stage == 0:
            self._best = {step: self._best_of(step) for step in sorted({arm.step for arm in self._arms})}
        self._stage += 1

    def answer(self) -> Responsibility:
        """Score every step that has proposals."""
        results = [result for arm in self._seen.values() for result in arm]
        scored = sorted({arm.step for arm in self._arms})
        return Responsibility(
            steps=tuple(self._score(step, len(scored)) for step in scored),
            alpha=self._alpha,
            rollouts=len(results),
            policy_calls=sum(result.policy_calls for result in results),
        )

    def _score(self, step: int, scored: int) -> StepResponsibility:
        numbers = [arm for arm in self._arms if arm.step == step]
        first = [self._seen[arm][0].outcome for arm in numbers if self._seen.get(arm)]
        seen = [y for y in first if y is not None]
        best = self._best.get(step)
        if best is None:
            return StepResponsibility(step=step, published=None, best=None, lift=Undefined(reason="not drawn"))
        # Two bounds a step, all of them at once.
        level = bonferroni(self._alpha, 2 * scored)
        fresh = [result.outcome for result in self._seen.get(best, [])[self._screening :]]
        null = [result.outcome for result in self._seen.get(ResampleFrom(step=step), [])]
        return StepResponsibility(
            step=step,
            published=float(any(y < self._flipped_below for y in seen)) if seen else None,
            best=best.number,
            lift=difference(bounded_mean(null, alpha=level), bounded_mean(fresh, alpha=level)),
        )

    def _best_of(self, step: int) -> Proposal:
        """Return the proposal with the lowest mean outcome in screening; a missing outcome counts as bad."""
        return min((arm for arm in self._arms if arm.step == step), key=lambda arm: (self._badness(arm), arm.number))

    def _badness(self, arm: Proposal) -> float:
        outcomes = [result.outcome for result in self._seen.get(arm, [])]
        return float(np.mean([1.0 if y is None else y for y in outcomes])) if outcomes else 1.0
