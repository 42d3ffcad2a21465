"""Is a repair better than luck? Each candidate is tested against deciding its step again.

A run that succeeds with probability p when nothing is changed is "repaired" by one of K tries with probability
1 − (1 − p)^K. So a candidate is accepted only where two things are shown on rollouts that neither produced nor selected
it: P(success | repaired step) reaches a target, and it is above P(success | do.resample(k)), the null arm.

The j-th hypothesis of a failure is tested at 6α/(π²j²). These levels add up to α however many follow, so proposals may
keep coming, and P(any candidate that is no better than the null arm is ever accepted) ≤ α.

Draws of the null arm may serve many candidates, as long as none of the candidates was chosen in view of them. A list
that is fixed before the first of them shares them all (`null_from` is the same); a candidate that comes later begins
after the last one that was seen.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from butfor.confidence import Estimate, Interval, Undefined, difference, known
from butfor.errors import InputError
from butfor.repairs.arm import Arm
from butfor.repairs.executor import Executor, Trial, outcomes_of
from butfor.repairs.lift import LEAST_LIFT, Bet, lift_interval
from butfor.repairs.standard import Standard, level_of
from butfor.repairs.verdict import Decision, Verdict

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from butfor.canonical import Json

# The bound on an arm is computed again after so many of its draws.
BATCH = 8


class Hypothesis:
    """One candidate against its null arm: names the draws that it wants, takes their outcomes, can answer at any time.

    Estimand: P(success | do.action(k, candidate)) and its lift over P(success | do.resample(k)).
    Assumptions: draws of an arm are independent with one mean; none of the candidate's produced or selected it, and it
    was chosen before the null draws from `null_from` on were seen.
    Guarantee: finite-sample at every stopping time. P(accepted | no lift) ≤ level and P(accepted | success below the
    target) ≤ level: to be accepted both must be refuted, each at the whole level.
    Reference: the bets of `lift`; beta mixtures and betting for each arm by itself (`Arm`); a union bound over
    Σ 1/j² = π²/6.

    Args:
        step: k.
        action: The candidate.
        number: j, from 1.
        standard: What must be shown.
        null: The step's null draws by ordinal, with those that earlier candidates bought.
        null_from: Ordinal of the first null draw that counts for this candidate.
        deterministic: Whether the candidate's tail is proven deterministic: one draw then says all.
    """

    def __init__(
        self,
        *,
        step: int,
        action: Json,
        number: int,
        standard: Standard,
        null: dict[int, float | None],
        null_from: int = 0,
        deterministic: bool = False,
    ) -> None:
        self._step, self._action, self._number = step, action, number
        self._standard, self._drawn, self._from = standard, null, null_from
        self._deterministic, self._stopped = deterministic, False
        self._level = level_of(number, standard.alpha)
        self._own, self._null = Arm(), Arm()
        self._better, self._worse = Bet(least=LEAST_LIFT), Bet(least=LEAST_LIFT)
        self._pairs = 0
        self._pending: tuple[Trial, ...] | None = None

    def propose(self) -> tuple[Trial, ...]:
        """Name the next batch in allocation order; empty when decided or used up."""
        if self._pending is None:
            self._take_null()
            self._pending = () if self._stopped or self.decision != "undecided" else self._batch()
        return self._pending

    def _batch(self) -> tuple[Trial, ...]:
        most = 1 if self._deterministic else self._standard.most
        own, null = len(self._own.successes), len(self._null.successes)
        wanted = min(most, own + BATCH)
        # The null arm keeps pace with the candidate. A proven tail is looked at first: where it fails, the null arm
        # costs nothing; where it does not, the null arm goes on alone.
        goal = wanted if not self._deterministic else null + BATCH if own == most else 0
        ours = [Trial(step=self._step, action=self._action, draw=i) for i in range(own, wanted)]
        places = range(self._from + null, self._from + min(goal, self._standard.most))
        return (*ours, *(Trial(step=self._step, action=None, draw=i) for i in places if i not in self._drawn))

    def enter(self, outcomes: Sequence[float | None]) -> None:
        """Take one outcome for each proposed trial, in order; a shorter sequence is what a stopped budget left.

        Raises:
            InputError: There are more outcomes than trials.
        """
        trials = self.propose()
        if len(outcomes) > len(trials):
            raise InputError(f"{len(outcomes)} outcomes were entered for {len(trials)} trials")
        for trial, outcome in zip(trials, outcomes, strict=False):
            if trial.action is None:
                self._drawn[trial.draw] = None if outcome is None else 1.0 - outcome
            else:
                self._own.enter(None if outcome is None else 1.0 - outcome)
        self._take_null()
        self._stopped = self._stopped or len(outcomes) < len(trials)
        self._pending = None

    def _take_null(self) -> None:
        """Let null draws count as far as the candidate has its own, or, for a proven tail, all that are there."""
        own = len(self._own.successes)
        most = self._standard.most if self._deterministic and own else own
        while len(self._null.successes) < most and (place := self._from + len(self._null.successes)) in self._drawn:
            self._null.enter(self._drawn[place])
        while not self._deterministic and self._pairs < min(own, len(self._null.successes)):
            ours, theirs = self._own.successes[self._pairs], self._null.successes[self._pairs]
            self._better.enter(ours, theirs)
            self._worse.enter(theirs, ours)
            self._pairs += 1

    def answer(self) -> Verdict:
        """Say what has been shown so far."""
        success = self._success()
        null = self._null.bound(alpha=self._level, graded=self._standard.graded)
        pairs = list(zip(self._own.successes, self._null.successes, strict=False))
        return Verdict(
            decision=self.decision,
            success=success,
            null=null,
            lift=difference(success, null) if self._deterministic else lift_interval(pairs, level=self._level),
            hypothesis=self._number,
            alpha=self._standard.alpha,
            level=self._level,
            target=self._standard.target,
            draws=len(self._own.successes),
            null_draws=len(self._null.successes),
            deterministic=self._deterministic,
            stopped=self._stopped,
        )

    @property
    def decision(self) -> Decision:
        """What has been decided so far."""
        success = self._success()
        if not isinstance(success, Estimate):
            return "undecided"
        if success.upper < self._standard.target:
            return "rejected"
        better, worse = self._compared(success)
        if success.lower >= self._standard.target and better:
            return "accepted"
        return "rejected" if worse else "undecided"

    def _compared(self, success: Estimate) -> tuple[bool, bool]:
        """Say whether the candidate is shown to do better, or worse, than its null arm."""
        if not self._deterministic:
            return self._better.refutes(self._level), self._worse.refutes(self._level)
        null = self._null.bound(alpha=self._level, graded=self._standard.graded)
        if not isinstance(null, Estimate):
            return False, False
        return success.point > null.upper, success.point < null.lower

    def _success(self) -> Interval:
        if not self._deterministic:
            return self._own.bound(alpha=self._level, graded=self._standard.graded)
        if not self._own.successes or self._own.successes[0] is None:
            return Undefined(reason="no outcome")
        return known(self._own.successes[0], why="proven deterministic tail")


class RepairTest:
    """All candidates of one failure, tested in order.

    Args:
        standard: What must be shown.
        tested: Hypotheses of this failure that were tested before, in earlier calls.
        null_seen: Step to the number of null draws that were seen in earlier calls.
    """

    def __init__(
        self, *, standard: Standard | None = None, tested: int = 0, null_seen: Mapping[int, int] | None = None
    ) -> None:
        self.standard = standard or Standard()
        self.tested = tested
        self._seen = dict(null_seen or {})
        self._null: dict[int, dict[int, float | None]] = {}

    def null_seen(self, step: int) -> int:
        """Return how many null draws of a step were seen: where those of a candidate that is chosen now begin."""
        return max(self._seen.get(step, 0), 1 + max(self._null.get(step, {}), default=-1))

    def open(
        self,
        step: int,
        action: Json,
        *,
        number: int | None = None,
        null_from: int | None = None,
        deterministic: bool = False,
    ) -> Hypothesis:
        """Begin the test of a candidate.

        Args:
            step: k.
            action: The candidate.
            number: The candidate's own number, where it was begun in an earlier call and is taken up again.
            null_from: What `null_seen` was when the candidate was chosen; by default it is chosen now. Candidates of
                a list that was fixed beforehand share their null draws by sharing it.
            deterministic: Whether its tail is proven deterministic.
        """
        j = self.tested + 1 if number is None else number
        self.tested = max(self.tested, j)
        return Hypothesis(
            step=step,
            action=action,
            number=j,
            standard=self.standard,
            null=self._null.setdefault(step, {}),
            null_from=self.null_seen(step) if null_from is None else null_from,
            deterministic=deterministic,
        )

    def test(
        self,
        step: int,
        action: Json,
        executor: Executor,
        *,
        number: int | None = None,
        null_from: int | None = None,
    ) -> Verdict:
        """Test a candidate to its end, or to where the budget stops it; see `open`."""
        deterministic = executor.deterministic_tail(step, action)
        hypothesis = self.open(step, action, number=number, null_from=null_from, deterministic=deterministic)
        while batch := hypothesis.propose():
            hypothesis.enter(outcomes_of(executor, batch))
        return hypothesis.answer()

    def test_all(self, candidates: Sequence[tuple[int, Json]], executor: Executor, *, wanted: int = 1) -> list[Verdict]:
        """Test a list that is fixed now, in its order, until so many are accepted; they share their null draws."""
        starts = {step: self.null_seen(step) for step, _ in candidates}
        verdicts: list[Verdict] = []
        for step, action in candidates:
            if sum(each.accepted for each in verdicts) >= wanted:
                break
            verdicts.append(self.test(step, action, executor, null_from=starts[step]))
        return verdicts
