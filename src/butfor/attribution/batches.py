"""The draws of one batch, laid out for bets against statements about several arms.

Several runs with the same number of steps may be searched side by side; all arrays then have one row for each. Nothing
that is computed for one run depends on another.

Nested reuse: a rollout of arm j that came out factual up to arm a is also a draw of v(a). In each statement a rollout
counts for one arm only: its own where the statement has that arm, else the first later arm of the statement up to
which it came out factual. Whether it reaches *that* arm decides, not how far it went beyond: given that it got there,
its outcome is a fresh draw of v(a), independent of every other draw in the statement.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from butfor.confidence import bets_against, log_gain, log_gain_of_counts

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray


@dataclass(frozen=True, kw_only=True)
class Batch:
    """Rollouts of prefix arms as columns, in allocation order; all of shape (draws,).

    Attributes:
        run: Whose rollout it is, a row of the arrays.
        arm: k of its v(k).
        low: y; 0 where missing.
        high: y; 1 where missing.
        reached: The last arm up to which it came out factual; `arm` where there is none.
    """

    run: NDArray[np.int64]
    arm: NDArray[np.int64]
    low: NDArray[np.float64]
    high: NDArray[np.float64]
    reached: NDArray[np.int64]

    @classmethod
    def of(cls, arms: Sequence[int], outcomes: Sequence[float | None], held_until: Sequence[int | None]) -> Batch:
        """Lay out rollouts of one run."""
        arm = np.array(arms, dtype=np.int64)
        held = np.array([-1 if held is None else held for held in held_until], dtype=np.int64)
        return cls(
            run=np.zeros(arm.size, dtype=np.int64),
            arm=arm,
            low=np.array([0.0 if y is None else y for y in outcomes]),
            high=np.array([1.0 if y is None else y for y in outcomes]),
            reached=np.maximum(arm, held),
        )


@dataclass(frozen=True, kw_only=True)
class Statements:
    """Σ_a c_a·w_a ≤ t, one row a statement; arms that a row does not use have c = 0.

    Attributes:
        run: Whose arms it is about, shape (statements,).
        arms: Shape (statements, arms of a statement); an arm appears once in a row.
        coefficients: c, same shape.
        limit: t, shape (statements,).
    """

    run: NDArray[np.int64]
    arms: NDArray[np.int64]
    coefficients: NDArray[np.float64]
    limit: NDArray[np.float64]

    def take(self, rows: NDArray[np.int64]) -> Statements:
        """Keep some rows."""
        return Statements(
            run=self.run[rows],
            arms=self.arms[rows],
            coefficients=self.coefficients[rows],
            limit=self.limit[rows],
        )


@dataclass(frozen=True)
class Table:
    """A batch, counted by arm.

    Attributes:
        batch: The rollouts.
        guesses: v̂ from earlier batches, shape (runs, steps + 1).
    """

    batch: Batch
    guesses: NDArray[np.float64]

    @cached_property
    def drawn(self) -> NDArray[np.bool_]:
        """Whether the batch bought rollouts for an arm, shape (runs, steps + 1)."""
        return self._own(None) > 0

    def gain(self, statements: Statements) -> NDArray[np.float64]:
        """Return the log factor by which the batch multiplies the capital against each statement."""
        open_rows = self._contradicted(statements)
        rows = statements.take(open_rows)
        used = rows.coefficients != 0
        before = used[:, None, :] & (rows.arms[:, None, :] < rows.arms[:, :, None])
        previous = np.where(before, rows.arms[:, None, :], -1).max(axis=2)
        return self._spread(statements, open_rows, self._gain(rows, previous))

    def gain_of_own(self, statements: Statements) -> NDArray[np.float64]:
        """Return the same from each arm's own draws alone, for capitals that are built from several statements."""
        open_rows = self._contradicted(statements)
        rows = statements.take(open_rows)
        return self._spread(statements, open_rows, self._gain(rows, rows.arms - 1))

    def count(
        self, run: NDArray[np.int64], arms: NDArray[np.int64], previous: NDArray[np.int64]
    ) -> NDArray[np.float64]:
        """Count the draws that an arm gets in a statement whose next lower arm is `previous`, −1 if none."""
        return self._counted(None, run, arms, previous)

    def _contradicted(self, statements: Statements) -> NDArray[np.int64]:
        """Find the statements that the guesses contradict: no other is bet against."""
        v = self.guesses[statements.run[:, None], statements.arms]
        return np.flatnonzero((statements.coefficients * v).sum(axis=1) > statements.limit)

    @staticmethod
    def _spread(statements: Statements, rows: NDArray[np.int64], gain: NDArray[np.float64]) -> NDArray[np.float64]:
        every = np.zeros(statements.limit.size)
        every[rows] = gain
        return every

    def _gain(self, rows: Statements, previous: NDArray[np.int64]) -> NDArray[np.float64]:
        counts = self._counted(None, rows.run, rows.arms, previous)
        draws = np.where(rows.coefficients != 0, counts, 1.0)
        guesses = self.guesses[rows.run[:, None], rows.arms]
        bets, centres = bets_against(guesses, rows.coefficients, draws, rows.limit)
        if not self._binary:
            return self._gain_of_each(rows, previous, bets, centres)
        low = self._counted(self.batch.low, rows.run, rows.arms, previous)
        high = low if self._complete else self._counted(self.batch.high, rows.run, rows.arms, previous)
        return log_gain_of_counts(bets, centres, np.where(bets > 0, low, high), counts)

    def _gain_of_each(
        self,
        rows: Statements,
        previous: NDArray[np.int64],
        bets: NDArray[np.float64],
        centres: NDArray[np.float64],
    ) -> NDArray[np.float64]:
        """Bet with graded outcomes one by one; what an arm does not get sits at the centre, where it gains nothing."""
        batch, arms = self.batch, rows.arms[:, :, None]
        gets = (batch.run == rows.run[:, None, None]) & (batch.arm <= arms) & (batch.reached >= arms)
        gets &= batch.arm > previous[:, :, None]
        low, high = (np.where(gets, y, centres[:, :, None]) for y in (batch.low, batch.high))
        return log_gain(bets, centres, low, high)

    @cached_property
    def _binary(self) -> bool:
        return bool(np.isin(self.batch.low, (0.0, 1.0)).all())

    @cached_property
    def _complete(self) -> bool:
        return bool((self.batch.low == self.batch.high).all())

    @cached_property
    def _reused(self) -> bool:
        return bool((self.batch.reached > self.batch.arm).any())

    @cached_property
    def _sums(self) -> dict[str, NDArray[np.float64]]:
        return {}

    def _counted(
        self,
        weights: NDArray[np.float64] | None,
        run: NDArray[np.int64],
        arms: NDArray[np.int64],
        previous: NDArray[np.int64],
    ) -> NDArray[np.float64]:
        """Sum weights over the draws that an arm gets: bought after `previous`, for `arms` or before, and got there."""
        at = run[:, None]
        if not self._reused:
            return self._own(weights)[at, arms]
        sums = self._reaching(weights)
        counted: NDArray[np.float64] = sums[at, previous + 1, arms] - sums[at, arms + 1, arms]
        return counted

    def _own(self, weights: NDArray[np.float64] | None) -> NDArray[np.float64]:
        """Sum weights by the arm that draws were bought for, shape (runs, steps + 1)."""
        name = self._name("own", weights)
        if name not in self._sums:
            shape = self.guesses.shape
            place = self.batch.run * shape[1] + self.batch.arm
            self._sums[name] = np.bincount(place, weights, minlength=self.guesses.size).reshape(shape).astype(float)
        return self._sums[name]

    def _reaching(self, weights: NDArray[np.float64] | None) -> NDArray[np.float64]:
        """Entry (run, b, a) sums weights over the draws bought for arm b or later that reached arm a or further."""
        name = self._name("reaching", weights)
        if name not in self._sums:
            runs, arms = self.guesses.shape
            wide = arms + 1
            place = (self.batch.run * wide + self.batch.arm) * wide + np.minimum(self.batch.reached, arms)
            square = np.bincount(place, weights, minlength=runs * wide * wide).reshape(runs, wide, wide)
            self._sums[name] = square[:, ::-1, ::-1].cumsum(axis=1).cumsum(axis=2)[:, ::-1, ::-1].astype(float)
        return self._sums[name]

    def _name(self, kind: str, weights: NDArray[np.float64] | None) -> str:
        return f"{kind} {'count' if weights is None else 'low' if weights is self.batch.low else 'high'}"
