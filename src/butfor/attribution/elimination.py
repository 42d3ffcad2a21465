"""Which steps can still be the decisive one: evidence against every step, gathered batch by batch.

For each step k two statements are bet against, each with a capital of its own (`butfor.confidence.contrasts`):

* *k has the largest blame*: by comparing blame(k) with the blame of the step that led before the batch;
* *blame(k) ≥ δ_d*.

The step with the largest blame is one fixed step, and it leaves the set only if the capital against a true statement
reaches 1/α: probability ≤ α at any time (Ville's inequality), with no price for the number of steps.

Several runs with as many steps can be searched side by side; each has its own capitals, a row of every array.

Bounds on a step's blame come from its own v(k) and v(k+1): an arm that was not drawn counts with 0 or 1. With
`max_help` = η (every blame ≥ −η) an undrawn arm is replaced by the nearest drawn ones: blame(k) ≤ v(j) − v(i) +
(j − i − 1)·η for i ≤ k < j, so arms in between need not be drawn.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from butfor.attribution.batches import Statements

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from butfor.attribution.batches import Table
    from butfor.confidence import Estimate

# Share of α that the set of steps gets; the two answers that end a search without a step share the rest.
SET_SHARE = 0.8
OTHER_SHARE = 0.1


class Elimination:
    """Capital against every step.

    Args:
        steps: n.
        factual: The recorded outcome y of each run, with its bounds where it is a judge's mean.
        margin: δ, for the commit point and *always fails*.
        decisive_margin: δ_d, below which no step is called decisive.
        max_help: η, or None for no assumption.
    """

    def __init__(
        self,
        *,
        steps: int,
        factual: Sequence[Estimate],
        margin: float,
        decisive_margin: float,
        max_help: float | None,
    ) -> None:
        self.steps, self.margin = steps, margin
        self.decisive_margin, self.max_help = decisive_margin, max_help
        self.lower, self.upper = np.array([y.lower for y in factual]), np.array([y.upper for y in factual])
        self._largest = Capital(len(factual), steps)
        self._decisive = Capital(len(factual), steps)
        self._rescued = Capital(len(factual), 1)

    def enter(self, table: Table, runs: NDArray[np.int64], leader: NDArray[np.int64]) -> None:
        """Bet with one complete batch.

        Args:
            table: The batch; its rows are `runs`.
            runs: Which runs it is about, shape (r,).
            leader: The step to compare with, shape (r,); −1 where there is none. Its two arms must be in the batch
                (arm n never needs to be).
        """
        lower, upper, slack = neighbours(table.drawn[:, : self.steps], max_help=self.max_help)
        led = np.flatnonzero(leader >= 0)
        if led.size:
            self._largest.add(runs[led], self._against_the_largest(table, runs, led, leader, lower, upper, slack))
        at_least = self._at_least(self.decisive_margin, runs, lower, upper, slack)
        self._decisive.add(runs, table.gain(at_least).reshape(runs.size, self.steps))
        self._bet_on_rescue(table, runs)

    def candidates(self, alpha: float, run: int = 0) -> list[int]:
        """List the steps of a run that may still be decisive."""
        return [int(k) for k in np.flatnonzero(self.open(alpha)[run])]

    def open(self, alpha: float) -> NDArray[np.bool_]:
        """Tell which steps may still be decisive, shape (runs, steps)."""
        return self._largest.alive(SET_SHARE * alpha)

    def capital(self, step: int, run: int = 0) -> float:
        """Return the log capital against *step has the largest blame*."""
        return float(self._largest.log[run, step])

    def none_decisive(self, alpha: float) -> NDArray[np.bool_]:
        """Tell whether the largest blame is shown to be below δ_d, shape (runs,).

        It belongs to a candidate, so it is enough that no candidate's blame may still reach δ_d.
        """
        reaching: NDArray[np.bool_] = self.open(alpha) & self._decisive.alive(OTHER_SHARE * alpha)
        return np.asarray(~reaching.any(axis=1))

    def always_fails(self, alpha: float) -> NDArray[np.bool_]:
        """Tell whether v(0) is shown to be above y − δ, shape (runs,)."""
        return ~self._rescued.alive(OTHER_SHARE * alpha)[:, 0]

    def _against_the_largest(
        self,
        table: Table,
        runs: NDArray[np.int64],
        led: NDArray[np.int64],
        leader: NDArray[np.int64],
        lower: NDArray[np.int64],
        upper: NDArray[np.int64],
        slack: NDArray[np.float64],
    ) -> NDArray[np.float64]:
        """Gain against blame(k) ≥ blame(leader), for every k: w_{m+1} − w_m − w_j + w_i ≤ slack."""
        m = np.repeat(leader[led][:, None], self.steps, axis=1)
        lower, upper = lower[led], upper[led]
        arms = np.stack([m + 1, m, upper, lower], axis=2)
        coefficients = np.tile(np.array([1.0, -1.0, -1.0, 1.0]), (*m.shape, 1))
        # Neighbouring pairs share an arm, which then counts twice.
        shares_lower, shares_upper = lower == m + 1, upper == m
        coefficients[shares_lower, 0], coefficients[shares_lower, 3] = 2.0, 0.0
        coefficients[shares_upper, 1], coefficients[shares_upper, 2] = -2.0, 0.0
        gain = table.gain(self._resolve(led, runs[led], arms, coefficients, slack[led])).reshape(m.shape)
        gain[np.arange(led.size), leader[led]] = 0.0
        return gain

    def _at_least(
        self,
        margin: float,
        runs: NDArray[np.int64],
        lower: NDArray[np.int64],
        upper: NDArray[np.int64],
        slack: NDArray[np.float64],
    ) -> Statements:
        """blame(k) ≥ margin, for every k: −w_j + w_i ≤ slack − margin."""
        arms = np.stack([upper, lower], axis=2)
        coefficients = np.tile(np.array([-1.0, 1.0]), (*lower.shape, 1))
        return self._resolve(np.arange(runs.size), runs, arms, coefficients, slack - margin)

    def _bet_on_rescue(self, table: Table, runs: NDArray[np.int64]) -> None:
        rows = np.flatnonzero(table.drawn[:, 0])
        start = np.zeros((rows.size, 1), dtype=np.int64)
        limit = self.upper[runs[rows]] - self.margin
        statements = Statements(run=rows, arms=start, coefficients=np.ones(start.shape), limit=limit)
        self._rescued.add(runs[rows], table.gain(statements)[:, None])

    def _resolve(
        self,
        rows: NDArray[np.int64],
        runs: NDArray[np.int64],
        arms: NDArray[np.int64],
        coefficients: NDArray[np.float64],
        limit: NDArray[np.float64],
    ) -> Statements:
        """Move what is not drawn to the right side: arm n with its bounds, no lower arm as 0, no upper arm as 1.

        Args:
            rows: Rows of the batch's table, shape (r,).
            runs: The runs they are about, shape (r,).
            arms: Shape (r, steps, arms of a statement).
            coefficients: Same shape.
            limit: Shape (r, steps).
        """
        final, absent = arms == self.steps, arms < 0
        lower, upper = self.lower[runs][:, None, None], self.upper[runs][:, None, None]
        moved = coefficients * np.where(coefficients > 0, lower, upper) * final
        moved += np.where(absent & (coefficients < 0), coefficients, 0.0)
        out = final | absent
        width = arms.shape[2]
        return Statements(
            run=np.repeat(rows, self.steps),
            arms=np.where(out, 0, arms).reshape(-1, width),
            coefficients=np.where(out, 0.0, coefficients).reshape(-1, width),
            limit=(limit - moved.sum(axis=2)).ravel(),
        )


def neighbours(
    drawn: NDArray[np.bool_], *, max_help: float | None
) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.float64]]:
    """Find, for each step, arms i ≤ k < j that bound its blame by v(j) − v(i) + slack.

    Args:
        drawn: Whether the batch has draws of an arm below n, shape (runs, steps); arm n is always there.
        max_help: η, or None: then only i = k and j = k + 1 will do.

    Returns:
        (i, j, slack), each of shape (runs, steps); i or j is −1 where there is none.
    """
    steps = drawn.shape[1]
    k = np.arange(steps)
    lower: NDArray[np.int64] = np.maximum.accumulate(np.where(drawn, k, -1), axis=1)
    here_or_later = np.minimum.accumulate(np.where(drawn, k, steps)[:, ::-1], axis=1)[:, ::-1]
    upper: NDArray[np.int64] = np.full(drawn.shape, steps)
    upper[:, :-1] = here_or_later[:, 1:]
    if max_help is None:
        lower, upper = np.where(lower == k, lower, -1), np.where(upper == k + 1, upper, -1)
        return lower, upper, np.zeros(drawn.shape)
    # Without a drawn i the bound is that for i = 0 with v(0) ≥ 0.
    between = (upper - np.maximum(lower, 0) - 1).astype(np.float64)
    return lower, upper, max_help * between


def leader_of(guesses: NDArray[np.float64], drawn: NDArray[np.bool_], among: NDArray[np.bool_]) -> int | None:
    """Return the step with the largest guessed blame among those whose two arms are drawn; None where there is none.

    Args:
        guesses: v̂, shape (steps + 1,), the last one the factual outcome.
        drawn: The arms to choose from, shape (steps,); arm n is always there.
        among: The steps to choose from, shape (steps,).
    """
    possible = drawn & among
    possible[:-1] &= drawn[1:]
    if not possible.any():
        return None
    return int(np.argmax(np.where(possible, np.diff(guesses), -np.inf)))


class Capital:
    """Log capital against several statements about each run, and the largest each has been."""

    def __init__(self, runs: int, statements: int) -> None:
        self.log = np.zeros((runs, statements))
        self.peak = np.zeros((runs, statements))

    def add(self, runs: NDArray[np.int64], gain: NDArray[np.float64]) -> None:
        """Multiply in the gain of a batch, shape (len(runs), statements)."""
        self.log[runs] += gain
        self.peak[runs] = np.maximum(self.peak[runs], self.log[runs])

    def alive(self, alpha: float) -> NDArray[np.bool_]:
        """Tell which statements' capital never reached 1/alpha, shape (runs, statements)."""
        return self.peak < math.log(1.0 / alpha)
