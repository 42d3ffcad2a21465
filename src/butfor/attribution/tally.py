"""What has been drawn of every prefix arm v(k): its own draws, those reused from earlier arms, matches and gaps."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from butfor.attribution.batches import Batch
from butfor.attribution.sampling import Draw, DrawResult, ResampleFrom
from butfor.confidence import Interval, betting_interval, bounded_mean, bounded_sequence, clopper_pearson

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray


@dataclass
class ArmTally:
    """Draws of one v(k).

    Attributes:
        own: Outcomes of the rollouts bought for this arm, in allocation order; None where missing.
        held: Of each own rollout, the last arm up to which it came out factual.
        every: Own outcomes together with those of rollouts bought for an earlier arm that came out factual up to here.
        total: Sum of the own outcomes.
        missing: Own rollouts without an outcome.
        matches: Own rollouts whose step-k action equals the factual one.
        compared: Own rollouts in which step k occurred.
        unsupported: Own rollouts that are missing for want of a tool answer.
    """

    own: list[float | None] = field(default_factory=list)
    held: list[int] = field(default_factory=list)
    total: float = 0.0
    missing: int = 0
    every: list[float | None] = field(default_factory=list)
    matches: int = 0
    compared: int = 0
    unsupported: int = 0

    @property
    def reused(self) -> int:
        """Rollouts of earlier arms that count for this one too."""
        return len(self.every) - len(self.own)

    @property
    def replayable(self) -> bool:
        """Whether it is not so that every rollout tried stayed without an outcome."""
        return not self.own or self.missing < len(self.own)


class Tally:
    """The draws of all arms of a run with `steps` steps, entered in allocation order.

    A rollout enters each arm's estimate at most once: its own arm's, and v(j) of every later step up to which it came
    out factual. Two arms may so share a rollout; bounds on each arm hold by themselves, and a statement about several
    arms counts each rollout for one of them (`batches`).
    """

    def __init__(self, steps: int) -> None:
        self.steps = steps
        self.arms = [ArmTally() for _ in range(steps + 1)]
        self.rollouts = 0
        self.policy_calls = 0
        self.unsupported: Counter[str] = Counter()
        # One graded outcome anywhere shows that the outcome is graded in every arm.
        self.graded = False

    def enter(self, draws: Sequence[Draw], results: Sequence[DrawResult]) -> None:
        """Add results of prefix arms, one for each draw, in allocation order."""
        for draw, result in zip(draws, results, strict=True):
            assert isinstance(draw.arm, ResampleFrom)
            self._enter_one(draw.arm.step, result)

    def _enter_one(self, step: int, result: DrawResult) -> None:
        arm = self.arms[step]
        arm.own.append(result.outcome)
        arm.held.append(step if result.held_until is None else result.held_until)
        arm.every.append(result.outcome)
        arm.total += result.outcome or 0.0
        self.graded |= result.outcome not in (None, 0.0, 1.0)
        arm.missing += result.outcome is None
        if result.matched is not None:
            arm.compared += 1
            arm.matches += result.matched
        if result.unsupported is not None:
            arm.unsupported += 1
            self.unsupported[result.unsupported] += 1
        for later in range(step + 1, min(result.held_until or 0, self.steps - 1) + 1):
            self.arms[later].every.append(result.outcome)
        self.rollouts += 1
        self.policy_calls += result.policy_calls

    def own(self, arms: Sequence[int], start: int, stop: int) -> Batch:
        """Return own rollouts number start … stop − 1 of some arms."""
        tallies = [self.arms[k] for k in arms]
        return Batch.of(
            [k for k, arm in zip(arms, tallies, strict=True) for _ in arm.own[start:stop]],
            [y for arm in tallies for y in arm.own[start:stop]],
            [held for arm in tallies for held in arm.held[start:stop]],
        )

    def drawn(self) -> NDArray[np.float64]:
        """Count own draws with an outcome, shape (steps + 1,)."""
        return np.array([len(arm.own) - arm.missing for arm in self.arms], dtype=float)

    def mean_interval(self, step: int, *, alpha: float) -> Interval:
        """Bound v(step) for a number of draws that was fixed beforehand."""
        bound = betting_interval if self.graded else bounded_mean
        return bound(self.arms[step].every, alpha=alpha)

    def mean_sequence(self, step: int, *, alpha: float) -> Interval:
        """Bound v(step) whatever made the drawing stop."""
        bound = betting_interval if self.graded else bounded_sequence
        return bound(self.arms[step].every, alpha=alpha)

    def match_interval(self, step: int, *, alpha: float) -> Interval:
        """Bound the probability that step `step`, decided again from its factual state, comes out the same."""
        arm = self.arms[step]
        return clopper_pearson(arm.matches, arm.compared, alpha=alpha)
