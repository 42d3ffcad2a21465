"""Is a repair better than luck? Each candidate is tested against deciding its step again.

A run that succeeds with probability p when nothing is changed is "repaired" by one of K tries with probability
1 − (1 − p)^K. So a candidate is accepted only where two bounds hold on rollouts that neither produced nor selected it:
P(success | repaired step) reaches a target, and it is above P(success | do.resample(k)), the null arm.

The j-th hypothesis of a failure is tested at 6α/(π²j²). These levels add up to α however many follow, so proposals may
keep coming, and P(any candidate that is no better than the null arm is ever accepted) ≤ α.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace
from functools import lru_cache
from typing import TYPE_CHECKING

from butfor.confidence import Estimate, Interval, Undefined, betting_interval, bounded_sequence, difference, known
from butfor.errors import InputError
from butfor.repairs.executor import Executor, Trial, outcomes_of
from butfor.repairs.verdict import Decision, Verdict

if TYPE_CHECKING:
    from collections.abc import Sequence

    from butfor.canonical import Json

# Of the level of an arm, the share kept for an outcome that first shows only 0 and 1 and then turns out to be graded.
LATE_GRADED = 0.1
# The bound on an arm is computed again after so many of its draws.
BATCH = 8
# A true lift of .5 (from .4 to .9) is accepted in 99.8% of 400 simulated failures within 192 rollouts, both arms
# together, in half of them within 96; with 64 draws an arm in 91%.
MOST = 96


def level_of(hypothesis: int, alpha: float) -> float:
    """Return the level of the j-th hypothesis of a failure, j from 1: 6α/(π²j²); they add up to α.

    Raises:
        InputError: There is no such number.
    """
    if hypothesis < 1:
        raise InputError(f"hypotheses are counted from 1, not from {hypothesis}")
    return 6.0 * alpha / (math.pi**2 * hypothesis**2)


@dataclass(frozen=True, kw_only=True)
class Standard:
    """What a repair must show.

    Attributes:
        target: P(success | repaired step) has to be shown to be at least this.
        alpha: P(any candidate that is no better than deciding again is accepted), over all hypotheses of a failure.
        most: Draws of each arm, at most.
        graded: Whether the outcome is known to take values other than 0 and 1.
    """

    target: float = 0.5
    alpha: float = 0.05
    most: int = MOST
    graded: bool = False

    def __post_init__(self) -> None:
        if not (0.0 < self.alpha < 1.0 and 0.0 <= self.target <= 1.0 and self.most >= 1):
            raise InputError(
                f"a standard with target {self.target:g}, level {self.alpha:g} and {self.most} draws cannot be met",
                fix="choose a target from 0 to 1, a level between 0 and 1, and at least one draw",
            )


@dataclass(kw_only=True)
class Arm:
    """The draws of one arm, as successes 1 − y, in allocation order; None where an outcome is missing."""

    successes: list[float | None] = field(default_factory=list)
    _ones: int = 0
    _missing: int = 0
    _is_graded: bool = False

    def enter(self, outcome: float | None) -> None:
        """Add a draw with outcome y (1 = bad)."""
        self.successes.append(None if outcome is None else 1.0 - outcome)
        self._missing += outcome is None
        self._ones += outcome == 0.0
        self._is_graded |= outcome not in (None, 0.0, 1.0)

    def bound(self, *, alpha: float, graded: bool) -> Interval:
        """Bound P(success), or the mean success of a graded outcome, whenever and however often one looks.

        Estimand: μ = E[1 − y] of the arm.
        Assumptions: each draw has mean μ given the earlier ones; missing draws may have been anything.
        Guarantee: finite-sample at every number of draws at once, P(ever missed) ≤ alpha. For an outcome not known to
        be graded, the binary bound spends 1 − LATE_GRADED of the level and the graded one the rest.
        Reference: Robbins 1970; Waudby-Smith and Ramdas 2024 (arXiv 2010.09686).
        """
        if graded:
            return betting_interval(self.successes, alpha=alpha)
        if not self._is_graded:
            return _binary(self._ones, len(self.successes), self._missing, alpha)
        interval = betting_interval(self.successes, alpha=LATE_GRADED * alpha)
        return replace(interval, alpha=alpha) if isinstance(interval, Estimate) else interval


@lru_cache(maxsize=65536)
def _binary(ones: int, n: int, missing: int, alpha: float) -> Interval:
    draws = [1.0] * ones + [0.0] * (n - ones - missing) + [None] * missing
    interval = bounded_sequence(draws, alpha=(1.0 - LATE_GRADED) * alpha)
    return replace(interval, alpha=alpha) if isinstance(interval, Estimate) else interval


class Hypothesis:
    """One candidate against its null arm: names the draws that it wants, takes their outcomes, can answer at any time.

    Estimand: P(success | do.action(k, candidate)) and its lift over P(success | do.resample(k)).
    Assumptions: draws of an arm are independent with one mean; none of the candidate's produced or selected it.
    Guarantee: finite-sample at every stopping time. Both arms' bounds hold together at the hypothesis's level, so
    P(accepted | no lift, or success below the target) ≤ level. The null arm may be shared by all candidates of a step,
    and candidates may depend on what it showed, since its bound does not depend on them.
    Reference: Ville 1939 through the bounds of `Arm`; 6α/(π²j²) is a union bound over Σ 1/j² = π²/6.

    Args:
        step: k.
        action: The candidate.
        number: j, from 1.
        standard: What must be shown.
        null: The null arm of the step, with the draws that earlier candidates bought.
        deterministic: Whether the candidate's tail is proven deterministic: one draw then says all.
    """

    def __init__(
        self, *, step: int, action: Json, number: int, standard: Standard, null: Arm, deterministic: bool = False
    ) -> None:
        self._step, self._action, self._number = step, action, number
        self._standard, self._null, self._own = standard, null, Arm()
        self._deterministic, self._stopped = deterministic, False
        self._level = level_of(number, standard.alpha)
        self._pending: tuple[Trial, ...] | None = None
        self._bound_at: tuple[tuple[int, int], tuple[Interval, Interval]] | None = None

    def propose(self) -> tuple[Trial, ...]:
        """Name the next batch in allocation order; empty when decided or used up."""
        if self._pending is None:
            self._pending = () if self._stopped or self._decision() != "undecided" else self._batch()
        return self._pending

    def _batch(self) -> tuple[Trial, ...]:
        most = 1 if self._deterministic else self._standard.most
        own, null = len(self._own.successes), len(self._null.successes)
        wanted = min(most, own + BATCH)
        # The null arm keeps pace with the candidate; where that one is done (a proven tail, or all its draws), it goes
        # on alone. A proven tail is looked at first: where it fails, the null arm costs nothing.
        goal = null + BATCH if own == most else 0 if self._deterministic else wanted
        ours = [Trial(step=self._step, action=self._action, draw=i) for i in range(own, wanted)]
        theirs = [Trial(step=self._step, action=None, draw=i) for i in range(null, min(goal, self._standard.most))]
        return (*ours, *theirs)

    def enter(self, outcomes: Sequence[float | None]) -> None:
        """Take one outcome for each proposed trial, in order; a shorter sequence is what a stopped budget left.

        Raises:
            InputError: There are more outcomes than trials.
        """
        trials = self.propose()
        if len(outcomes) > len(trials):
            raise InputError(f"{len(outcomes)} outcomes were entered for {len(trials)} trials")
        for trial, outcome in zip(trials, outcomes, strict=False):
            (self._null if trial.action is None else self._own).enter(outcome)
        self._stopped = self._stopped or len(outcomes) < len(trials)
        self._pending = None

    def answer(self) -> Verdict:
        """Say what has been shown so far."""
        success, null = self._bounds()
        return Verdict(
            decision=self._decision(),
            success=success,
            null=null,
            lift=difference(success, null),
            hypothesis=self._number,
            alpha=self._standard.alpha,
            level=self._level,
            target=self._standard.target,
            draws=len(self._own.successes),
            null_draws=len(self._null.successes),
            deterministic=self._deterministic,
            stopped=self._stopped,
        )

    def _bounds(self) -> tuple[Interval, Interval]:
        at = len(self._own.successes), len(self._null.successes)
        if self._bound_at is None or self._bound_at[0] != at:
            self._bound_at = at, self._bound()
        return self._bound_at[1]

    def _bound(self) -> tuple[Interval, Interval]:
        """Bound both arms together at the hypothesis's level; a proven tail leaves all of it to the null arm."""
        graded = self._standard.graded
        share = self._level if self._deterministic else self._level / 2.0
        if not self._deterministic:
            success = self._own.bound(alpha=share, graded=graded)
        elif not self._own.successes or self._own.successes[0] is None:
            success = Undefined(reason="no outcome")
        else:
            success = known(self._own.successes[0], why="proven deterministic tail")
        return success, self._null.bound(alpha=share, graded=graded)

    def _decision(self) -> Decision:
        success, null = self._bounds()
        if not isinstance(success, Estimate):
            return "undecided"
        if success.upper < self._standard.target:
            return "rejected"
        if not isinstance(null, Estimate):
            return "undecided"
        if success.lower >= self._standard.target and success.lower > null.upper:
            return "accepted"
        return "rejected" if success.upper <= null.lower else "undecided"


class RepairTest:
    """All candidates of one failure, tested in order.

    Args:
        standard: What must be shown.
        tested: Hypotheses of this failure that were tested before, in earlier calls.
    """

    def __init__(self, *, standard: Standard | None = None, tested: int = 0) -> None:
        self.standard = standard or Standard()
        self.tested = tested
        self._null: dict[int, Arm] = {}

    def open(self, step: int, action: Json, *, number: int | None = None, deterministic: bool = False) -> Hypothesis:
        """Begin the test of the next candidate.

        Args:
            step: k.
            action: The candidate.
            number: The candidate's own number, where it was begun in an earlier call and is taken up again.
            deterministic: Whether its tail is proven deterministic.
        """
        j = self.tested + 1 if number is None else number
        self.tested = max(self.tested, j)
        null = self._null.setdefault(step, Arm())
        return Hypothesis(
            step=step, action=action, number=j, standard=self.standard, null=null, deterministic=deterministic
        )

    def test(self, step: int, action: Json, executor: Executor, *, number: int | None = None) -> Verdict:
        """Test a candidate to its end, or to where the budget stops it."""
        deterministic = executor.deterministic_tail(step, action)
        hypothesis = self.open(step, action, number=number, deterministic=deterministic)
        while batch := hypothesis.propose():
            hypothesis.enter(outcomes_of(executor, batch))
        return hypothesis.answer()
