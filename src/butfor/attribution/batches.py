"""The draws of one batch, laid out for bets against statements about several arms.

Nested reuse: a rollout of arm j that came out factual up to arm a is also a draw of v(a). In each statement a rollout
counts for one arm only: its own where the statement has that arm, else the first later arm of the statement up to
which it came out factual. Whether it reaches *that* arm decides, not how far it went beyond: given that it got there,
its outcome is a fresh draw of v(a), independent of every other draw in the statement.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from butfor.confidence import bets_against, log_gain

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray


@dataclass(frozen=True, kw_only=True)
class Entered:
    """One rollout of a prefix arm.

    Attributes:
        arm: k of its v(k).
        outcome: y; None where missing.
        held_until: The last arm up to which it came out factual; `arm` where there is none.
    """

    arm: int
    outcome: float | None
    held_until: int


@dataclass(frozen=True, kw_only=True)
class Statements:
    """Σ_a c_a·w_a ≤ t, one row a statement; arms that a row does not use have c = 0.

    Attributes:
        arms: Shape (statements, arms of a statement); an arm appears once in a row.
        coefficients: c, same shape.
        limit: t, shape (statements,).
    """

    arms: NDArray[np.int64]
    coefficients: NDArray[np.float64]
    limit: NDArray[np.float64]


@dataclass(frozen=True, kw_only=True)
class Table:
    """A batch as padded arrays over all arms.

    Attributes:
        low: Row a holds the draws of v(a), those bought for the latest arm first, missing ones as 0.
        high: The same with missing ones as 1.
        bought_after: Entry (a, p + 1) counts the draws in row a that were bought for an arm after p.
        guesses: v̂ from earlier batches, shape (steps + 1,).
    """

    low: NDArray[np.float64]
    high: NDArray[np.float64]
    bought_after: NDArray[np.int64]
    guesses: NDArray[np.float64]

    @classmethod
    def of(cls, batch: Sequence[Entered], guesses: NDArray[np.float64]) -> Table:
        """Lay out a batch; arms that nothing was bought for stay empty."""
        latest_first = sorted(batch, key=lambda entered: -entered.arm)
        bought = np.array([entered.arm for entered in latest_first], dtype=np.int64)
        reached = np.array([max(entered.arm, entered.held_until) for entered in latest_first], dtype=np.int64)
        low = np.array([0.0 if entered.outcome is None else entered.outcome for entered in latest_first])
        high = np.array([1.0 if entered.outcome is None else entered.outcome for entered in latest_first])
        arms = guesses.size
        rows = {int(a): np.flatnonzero((bought <= a) & (reached >= a)) for a in np.unique(bought)}
        longest = max((row.size for row in rows.values()), default=0)
        table = cls(
            low=np.zeros((arms, longest)),
            high=np.zeros((arms, longest)),
            bought_after=np.zeros((arms, arms + 1), dtype=np.int64),
            guesses=guesses,
        )
        for a, row in rows.items():
            table.low[a, : row.size], table.high[a, : row.size] = low[row], high[row]
            table.bought_after[a] = (bought[row][:, None] > np.arange(-1, arms)).sum(axis=0)
        return table

    def gain(self, statements: Statements) -> NDArray[np.float64]:
        """Return the log factor by which the batch multiplies the capital against each statement."""
        arms, used = statements.arms, statements.coefficients != 0
        before = used[:, None, :] & (arms[:, None, :] < arms[:, :, None])
        previous = np.where(before, arms[:, None, :], -1).max(axis=2)
        return self._gain(statements, self.bought_after[arms, previous + 1])

    def gain_of_own(self, statements: Statements) -> NDArray[np.float64]:
        """Return the same from each arm's own draws alone, for capitals that are built from several statements."""
        return self._gain(statements, self.bought_after[statements.arms, statements.arms])

    def _gain(self, statements: Statements, counts: NDArray[np.int64]) -> NDArray[np.float64]:
        draws = np.where(statements.coefficients != 0, counts, 1).astype(np.float64)
        arms = statements.arms
        bets, centres = bets_against(self.guesses[arms], statements.coefficients, draws, statements.limit)
        # Padding sits at the centre of the bet, where it gains nothing.
        counted = np.arange(self.low.shape[1]) < counts[:, :, None]
        low = np.where(counted, self.low[arms], centres[:, :, None])
        high = np.where(counted, self.high[arms], centres[:, :, None])
        return log_gain(bets, centres, low, high)
