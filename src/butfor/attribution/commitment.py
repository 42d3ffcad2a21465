"""Which step can still be the commit point at margin δ: the last one with effect > δ.

The commit point is one fixed step c (or there is none). Against it speak draws of v(c) above y − δ, and draws of a
later v(j) below it; one capital a candidate gathers both, so it leaves the set wrongly with probability ≤ α at any
time. With `max_help` = η, v(c) ≥ v(i) − (c − i)·η stands in for an undrawn v(c).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from butfor.attribution.batches import Statements
from butfor.attribution.elimination import Capital, neighbours

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from butfor.attribution.batches import Table
    from butfor.confidence import Estimate


class Commitment:
    """Capital against every possible commit point of runs with `steps` steps."""

    def __init__(self, *, steps: int, factual: Sequence[Estimate], margin: float, max_help: float | None) -> None:
        self.steps, self.margin, self.max_help = steps, margin, max_help
        self.lower, self.upper = np.array([y.lower for y in factual]), np.array([y.upper for y in factual])
        # Entry c + 1 is commit point c; entry 0 is "there is none".
        self._capital = Capital(len(factual), steps + 1)

    def enter(self, table: Table, runs: NDArray[np.int64]) -> None:
        """Bet with one complete batch, whose rows are `runs`."""
        below = self._below(table, runs)
        # A draw below y − δ at step j speaks against every c < j, and against "there is none".
        from_here = np.cumsum(below[:, ::-1], axis=1)[:, ::-1]
        above = self._above(table, runs)
        above[:, :-1] += from_here[:, 1:]
        self._capital.add(runs, np.concatenate((from_here[:, :1], above), axis=1))

    def candidates(self, alpha: float, run: int = 0) -> list[int | None]:
        """List what may still be the commit point; None stands for *there is none*."""
        alive = np.flatnonzero(self._capital.alive(alpha)[run])
        return [None if entry == 0 else int(entry) - 1 for entry in alive]

    def some(self, alpha: float) -> NDArray[np.bool_]:
        """Tell whether it is shown that there is a commit point, shape (runs,)."""
        return ~self._capital.alive(alpha)[:, 0]

    def _below(self, table: Table, runs: NDArray[np.int64]) -> NDArray[np.float64]:
        """Gain against v(j) ≥ y − δ, shape (runs, steps); 0 for arms that were not drawn."""
        row, arm = np.nonzero(table.drawn[:, : self.steps])
        gain = np.zeros((runs.size, self.steps))
        gain[row, arm] = table.gain_of_own(
            Statements(
                run=row,
                arms=arm[:, None],
                coefficients=np.full((arm.size, 1), -1.0),
                limit=self.margin - self.lower[runs[row]],
            )
        )
        return gain

    def _above(self, table: Table, runs: NDArray[np.int64]) -> NDArray[np.float64]:
        """Gain against v(c) < y − δ, shape (runs, steps)."""
        lower, _, _ = neighbours(table.drawn[:, : self.steps], max_help=self.max_help)
        row, c = np.nonzero(lower >= 0)
        arm, gain = lower[row, c], np.zeros((runs.size, self.steps))
        gain[row, c] = table.gain_of_own(
            Statements(
                run=row,
                arms=arm[:, None],
                coefficients=np.ones((arm.size, 1)),
                limit=self.upper[runs[row]] - self.margin + (self.max_help or 0.0) * (c - arm),
            )
        )
        return gain
