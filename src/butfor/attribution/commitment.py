"""Which step can still be the commit point at margin δ: the last one with effect > δ.

The commit point is one fixed step c (or there is none). Against it speak draws of v(c) above y − δ, and draws of a
later v(j) below it; one capital a candidate gathers both, so it leaves the set wrongly with probability ≤ α at any
time. With `max_help` = η, v(c) ≥ v(i) − (c − i)·η stands in for an undrawn v(c).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from butfor.attribution.batches import Statements, Table
from butfor.attribution.elimination import Capital, arms_of, neighbours

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from butfor.attribution.batches import Entered
    from butfor.confidence import Estimate


class Commitment:
    """Capital against every possible commit point of a run with `steps` steps."""

    def __init__(self, *, steps: int, factual: Estimate, margin: float, max_help: float | None) -> None:
        self.steps, self.factual, self.margin, self.max_help = steps, factual, margin, max_help
        # Entry c + 1 is commit point c; entry 0 is "there is none".
        self._capital = Capital(steps + 1)

    def enter(self, batch: Sequence[Entered], guesses: NDArray[np.float64]) -> None:
        """Bet with one complete batch; `guesses` are v̂ from earlier batches, shape (steps + 1,)."""
        table = Table.of(batch, guesses)
        drawn = arms_of(batch, self.steps)
        below = self._below(table, drawn)
        # A draw below y − δ at step j speaks against every c < j, and against "there is none".
        from_here = np.cumsum(below[::-1])[::-1]
        self._capital.add(np.concatenate(([from_here[0]], self._above(table, drawn) + from_here[1:])))

    def candidates(self, alpha: float) -> list[int | None]:
        """List what may still be the commit point; None stands for *there is none*."""
        return [None if entry == 0 else entry - 1 for entry in self._capital.alive(alpha)]

    def _below(self, table: Table, drawn: list[int]) -> NDArray[np.float64]:
        """Gain against v(j) ≥ y − δ, shape (steps + 1,); 0 for arms that were not drawn."""
        gain = np.zeros(self.steps + 1)
        arms = np.array(drawn, dtype=np.int64)[:, None]
        limit = np.full(len(drawn), self.margin - self.factual.lower)
        gain[drawn] = table.gain_of_own(Statements(arms=arms, coefficients=np.full(arms.shape, -1.0), limit=limit))
        return gain

    def _above(self, table: Table, drawn: list[int]) -> NDArray[np.float64]:
        """Gain against v(c) < y − δ, shape (steps,)."""
        lower, _, _ = neighbours(drawn, steps=self.steps, max_help=self.max_help)
        distance = np.where(lower >= 0, np.arange(self.steps) - lower, 0)
        statements = Statements(
            arms=np.maximum(lower, 0)[:, None],
            coefficients=np.where(lower >= 0, 1.0, 0.0)[:, None],
            limit=self.factual.upper - self.margin + (self.max_help or 0.0) * distance,
        )
        return table.gain_of_own(statements)
