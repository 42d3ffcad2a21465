"""What a search decides: which draws come next, which steps are left and when to stop.

One search, or several of different runs with as many steps side by side: no run looks at another, so each goes exactly
as it would alone. Side by side they are far cheaper to simulate, since every bet is sized in one call for all of them.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from butfor.attribution.batches import Batch, Table
from butfor.attribution.commitment import Commitment
from butfor.attribution.elimination import Elimination
from butfor.attribution.plans import EveryStep, Halving, Plan, Standing, looks_at_the_start
from butfor.attribution.plateaus import guess_by_plateaus

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

    from numpy.typing import NDArray

    from butfor.attribution.margins import Margins
    from butfor.confidence import Estimate

# Rollouts without a single outcome after which a search gives up.
HOPELESS = 32


@dataclass(frozen=True, kw_only=True)
class Order:
    """Draws to buy as columns, in allocation order within each run; all of shape (draws,).

    Attributes:
        run: For which run.
        arm: k of v(k).
        ordinal: The how-manieth draw of this arm of this run.
    """

    run: NDArray[np.int64]
    arm: NDArray[np.int64]
    ordinal: NDArray[np.int64]


@dataclass(frozen=True, kw_only=True)
class Settled:
    """What the evidence has settled, one entry a run; shape (runs,).

    Attributes:
        always_fails: v(0) is shown to be above y − δ.
        none_decisive: Every blame is shown to be below δ_d, and it does not always fail.
        one_left: A single step is left, some step is shown to have had an effect at all, and neither of the above.
    """

    always_fails: NDArray[np.bool_]
    none_decisive: NDArray[np.bool_]
    one_left: NDArray[np.bool_]


class Pursuit:
    """Searches of runs with `steps` steps, side by side.

    Args:
        steps: n ≥ 1.
        factual: y of each run.
        margins: α and the margins.
        max_help: η, or None for no assumption.
        budget: Policy calls for each run.
        refused: Steps that cannot be decided again.
    """

    def __init__(
        self,
        *,
        steps: int,
        factual: Sequence[Estimate],
        margins: Margins,
        max_help: float | None,
        budget: int,
        refused: Collection[int] = (),
    ) -> None:
        self.steps, self.margins, self.budget = steps, margins, budget
        self._y = np.array([y.point for y in factual])
        self.evidence = Elimination(
            steps=steps,
            factual=factual,
            margin=margins.commit,
            decisive_margin=margins.decisive,
            max_help=max_help,
        )
        self.commitment = Commitment(steps=steps, factual=factual, margin=margins.commit, max_help=max_help)
        self._plan: Plan = EveryStep() if max_help is None else Halving(max_help)
        self._usable = np.array([k not in refused for k in range(steps)])
        shape = (len(factual), steps + 1)
        self._tried, self._seen, self._total = np.zeros(shape, dtype=np.int64), np.zeros(shape), np.zeros(shape)
        # v̂ when the last batch was ordered: what it is bet with, and the point y.
        self._guesses = np.column_stack((np.full((shape[0], steps), 0.5), self._y))
        self.rollouts, self.calls = np.zeros(shape[0], dtype=np.int64), np.zeros(shape[0], dtype=np.int64)
        self.stopped = np.zeros(shape[0], dtype=bool)
        self._leader = np.full(shape[0], -1)

    @property
    def runs(self) -> int:
        """How many runs are searched."""
        return self._y.size

    def order(self) -> Order:
        """Lay out the next batch of every run that goes on, round by round, so that a prefix holds all arms alike."""
        going = np.flatnonzero(~self._finished())
        self._guesses[going, :-1] = guess_by_plateaus(self._total[going, :-1], self._seen[going, :-1])
        means, left = self._means(), self.evidence.open(self.margins.alpha)
        lines: list[tuple[int, int, int]] = []
        for run in going.tolist():
            standing = Standing(
                guesses=self._guesses[run],
                means=means[run],
                tried=self._tried[run],
                candidates=left[run],
                usable=self._usable,
            )
            allocation = self._plan.allocate(standing)
            self._leader[run] = -1 if allocation.leader is None else allocation.leader
            lines += [(run, arm, count) for arm, count in self._affordable(run, allocation.counts).items()]
        return self._laid_out(lines)

    def enter(self, batch: Batch, policy_calls: NDArray[np.int64]) -> None:
        """Take what was ordered, complete."""
        self.count(batch, policy_calls)
        if not batch.run.size:
            return
        runs, rows = np.unique(batch.run, return_inverse=True)
        table = Table(
            batch=Batch(run=rows, arm=batch.arm, low=batch.low, high=batch.high, reached=batch.reached),
            guesses=self._guesses[runs],
        )
        self.evidence.enter(table, runs, self._leader[runs])
        self.commitment.enter(table, runs)

    def count(self, batch: Batch, policy_calls: NDArray[np.int64]) -> None:
        """Take draws without betting with them: those of a batch that a budget cut short."""
        place = (batch.run, batch.arm)
        np.add.at(self._tried, place, 1)
        np.add.at(self._seen, place, batch.low == batch.high)
        np.add.at(self._total, place, batch.low)  # a missing draw adds nothing
        self.rollouts += np.bincount(batch.run, minlength=self.runs)
        self.calls += np.bincount(batch.run, policy_calls, minlength=self.runs).astype(np.int64)

    def settled(self) -> Settled:
        """Tell what the evidence has settled; *none decisive* includes *flaky*."""
        alpha = self.margins.alpha
        always, none = self.evidence.always_fails(alpha), self.evidence.none_decisive(alpha)
        one = (self.evidence.open(alpha).sum(axis=1) == 1) & self.commitment.some(alpha)
        return Settled(always_fails=always, none_decisive=none & ~always, one_left=one & ~always & ~none)

    @property
    def outcomeless(self) -> NDArray[np.bool_]:
        """Runs of which no rollout gave an outcome, although some were drawn; shape (runs,)."""
        return (self.rollouts > 0) & ~self._seen.any(axis=1)

    def _finished(self) -> NDArray[np.bool_]:
        """Tell which runs are at an end, shape (runs,)."""
        settled = self.settled()
        hopeless = self.outcomeless & (self.rollouts >= HOPELESS)
        # While v(0) alone is being drawn, *always fails* is the better answer and a few draws of one arm away.
        looking = looks_at_the_start(self._tried, self._means()) & self._usable[0]
        answered = settled.always_fails | settled.one_left | (settled.none_decisive & ~looking)
        finished: NDArray[np.bool_] = self.stopped | hopeless | (self.calls >= self.budget) | answered
        return finished

    def _means(self) -> NDArray[np.float64]:
        means = np.where(self._seen > 0, self._total / np.maximum(self._seen, 1.0), 0.5)
        means[:, -1] = self._y
        return means

    def _affordable(self, run: int, counts: dict[int, int]) -> dict[int, int]:
        """Shrink a batch to what is left of the budget, at least one draw of each arm."""
        expected = sum(count * (self.steps - arm) for arm, count in counts.items())
        left = self.budget - int(self.calls[run])
        share = min(1.0, left / max(expected, 1))
        return {arm: max(1, int(share * count)) for arm, count in counts.items()}

    def _laid_out(self, lines: list[tuple[int, int, int]]) -> Order:
        run, arm, count = np.array(lines, dtype=np.int64).reshape(-1, 3).T
        line = np.repeat(np.arange(count.size), count)
        turn = np.arange(line.size) - np.repeat(np.cumsum(count) - count, count)
        place = np.lexsort((arm[line], turn, run[line]))
        run, arm = run[line][place], arm[line][place]
        return Order(run=run, arm=arm, ordinal=self._tried[run, arm] + turn[place])
