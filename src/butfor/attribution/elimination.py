"""Which steps can still be the decisive one: evidence against every step, gathered batch by batch.

For each step k two statements are bet against, each with a capital of its own (`butfor.confidence.contrasts`):

* *k has the largest blame*: by comparing blame(k) with the blame of the step that led before the batch;
* *blame(k) ≥ δ_d*.

The step with the largest blame is one fixed step, and it leaves the set only if the capital against a true statement
reaches 1/α: probability ≤ α at any time (Ville's inequality), with no price for the number of steps.

Bounds on a step's blame come from its own v(k) and v(k+1): an arm that was not drawn counts with 0 or 1. With
`max_help` = η (every blame ≥ −η) an undrawn arm is replaced by the nearest drawn ones: blame(k) ≤ v(j) − v(i) +
(j − i − 1)·η for i ≤ k < j, so arms in between need not be drawn.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from butfor.attribution.batches import Statements, Table

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

    from numpy.typing import NDArray

    from butfor.attribution.batches import Entered
    from butfor.confidence import Estimate

# Share of α that the set of steps gets; the two answers that end a search without a step share the rest.
SET_SHARE = 0.8
OTHER_SHARE = 0.1


class Elimination:
    """Capital against every step of a run.

    Args:
        steps: n.
        factual: The recorded outcome y, with its bounds where it is a judge's mean.
        margin: δ, for the commit point and *always fails*.
        decisive_margin: δ_d, below which no step is called decisive.
        max_help: η, or None for no assumption.
    """

    def __init__(
        self,
        *,
        steps: int,
        factual: Estimate,
        margin: float,
        decisive_margin: float,
        max_help: float | None,
    ) -> None:
        self.steps, self.factual, self.margin = steps, factual, margin
        self.decisive_margin, self.max_help = decisive_margin, max_help
        self._largest = Capital(steps)
        self._decisive = Capital(steps)
        self._rescued = Capital(1)

    def enter(self, batch: Sequence[Entered], guesses: NDArray[np.float64], leader: int | None) -> None:
        """Bet with one complete batch.

        Args:
            batch: The rollouts of this batch.
            guesses: v̂ from earlier batches, shape (steps + 1,).
            leader: The step to compare with; its two arms must be in the batch (arm n never needs to be).
        """
        table = Table.of(batch, guesses)
        drawn = arms_of(batch, self.steps)
        lower, upper, slack = neighbours(drawn, steps=self.steps, max_help=self.max_help)
        if leader is not None:
            gain = table.gain(self._comparison(leader, lower, upper, slack))
            gain[leader] = 0.0
            self._largest.add(gain)
        self._decisive.add(table.gain(self._at_least(self.decisive_margin, lower, upper, slack)))
        if 0 in drawn:
            limit = self.factual.upper - self.margin
            self._rescued.add(
                table.gain(Statements(arms=np.array([[0]]), coefficients=np.array([[1.0]]), limit=np.array([limit])))
            )

    def candidates(self, alpha: float) -> list[int]:
        """List the steps that may still be decisive."""
        return self._largest.alive(SET_SHARE * alpha)

    def capital(self, step: int) -> float:
        """Return the log capital against *step has the largest blame*."""
        return float(self._largest.log[step])

    def none_decisive(self, alpha: float) -> bool:
        """Tell whether the largest blame is shown to be below δ_d.

        It belongs to a candidate, so it is enough that no candidate's blame may still reach δ_d.
        """
        return not set(self.candidates(alpha)) & set(self._decisive.alive(OTHER_SHARE * alpha))

    def always_fails(self, alpha: float) -> bool:
        """Tell whether v(0) is shown to be above y − δ."""
        return not self._rescued.alive(OTHER_SHARE * alpha)

    def _comparison(
        self, leader: int, lower: NDArray[np.int64], upper: NDArray[np.int64], slack: NDArray[np.float64]
    ) -> Statements:
        """blame(k) ≥ blame(leader), for every k: w_{m+1} − w_m − w_j + w_i ≤ slack."""
        m = np.full(self.steps, leader)
        arms = np.stack([m + 1, m, upper, lower], axis=1)
        coefficients = np.tile(np.array([1.0, -1.0, -1.0, 1.0]), (self.steps, 1))
        # Neighbouring pairs share an arm, which then counts twice.
        shares_lower, shares_upper = lower == m + 1, upper == m
        coefficients[shares_lower, 0], coefficients[shares_lower, 3] = 2.0, 0.0
        coefficients[shares_upper, 1], coefficients[shares_upper, 2] = -2.0, 0.0
        return self._resolve(arms, coefficients, slack)

    def _at_least(
        self, margin: float, lower: NDArray[np.int64], upper: NDArray[np.int64], slack: NDArray[np.float64]
    ) -> Statements:
        """blame(k) ≥ margin, for every k: −w_j + w_i ≤ slack − margin."""
        arms = np.stack([upper, lower], axis=1)
        coefficients = np.tile(np.array([-1.0, 1.0]), (self.steps, 1))
        return self._resolve(arms, coefficients, slack - margin)

    def _resolve(
        self, arms: NDArray[np.int64], coefficients: NDArray[np.float64], limit: NDArray[np.float64]
    ) -> Statements:
        """Move what is not drawn to the right side: arm n with its bounds, no lower arm as 0, no upper arm as 1."""
        final, absent = arms == self.steps, arms < 0
        bound = np.where(coefficients > 0, self.factual.lower, self.factual.upper)
        limit = limit - (coefficients * bound * final).sum(axis=1)
        limit = limit - np.where(absent & (coefficients < 0), coefficients, 0.0).sum(axis=1)
        out = final | absent
        return Statements(arms=np.where(out, 0, arms), coefficients=np.where(out, 0.0, coefficients), limit=limit)


def arms_of(batch: Sequence[Entered], steps: int) -> list[int]:
    """List the arms below n that a batch bought rollouts for, ascending."""
    return sorted({entered.arm for entered in batch if entered.arm < steps})


def neighbours(
    drawn: Sequence[int], *, steps: int, max_help: float | None
) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.float64]]:
    """Find, for each step, arms i ≤ k < j that bound its blame by v(j) − v(i) + slack.

    Args:
        drawn: Arms of the batch below n, ascending.
        steps: n; arm n is always there.
        max_help: η, or None: then only i = k and j = k + 1 will do.

    Returns:
        (i, j, slack), each of shape (steps,); i or j is −1 where there is none.
    """
    known = np.array([*drawn, steps], dtype=np.int64)
    k = np.arange(steps, dtype=np.int64)
    below = np.searchsorted(known, k, side="right") - 1
    lower: NDArray[np.int64] = np.where(below >= 0, known[below], -1)
    upper: NDArray[np.int64] = known[np.searchsorted(known, k + 1, side="left")]
    if max_help is None:
        lower, upper = np.where(lower == k, lower, -1), np.where(upper == k + 1, upper, -1)
        return lower, upper, np.zeros(steps)
    # Without a drawn i the bound is that for i = 0 with v(0) ≥ 0.
    between = (upper - np.maximum(lower, 0) - 1).astype(np.float64)
    return lower, upper, max_help * between


def leader_of(guesses: NDArray[np.float64], drawn: Collection[int], among: Collection[int]) -> int | None:
    """Return the step with the largest guessed blame among those whose two arms are drawn; None where there is none.

    Args:
        guesses: v̂, shape (steps + 1,), the last one the factual outcome.
        drawn: The arms to choose from; arm n is always there.
        among: The steps to choose from.
    """
    steps = guesses.size - 1
    possible = [k for k in among if k in drawn and (k + 1 in drawn or k + 1 == steps)]
    return max(possible, key=lambda k: (guesses[k + 1] - guesses[k], -k)) if possible else None


class Capital:
    """Log capital against several statements, and the largest each has been."""

    def __init__(self, statements: int) -> None:
        self.log = np.zeros(statements)
        self.peak = np.zeros(statements)

    def add(self, gain: NDArray[np.float64]) -> None:
        """Multiply in the gain of a batch, shape (statements,)."""
        self.log = self.log + gain
        self.peak = np.maximum(self.peak, self.log)

    def alive(self, alpha: float) -> list[int]:
        """List the statements whose capital never reached 1/alpha."""
        return [int(i) for i in np.flatnonzero(self.peak < math.log(1.0 / alpha))]
