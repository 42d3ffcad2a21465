"""Many repetitions of `search`, or of a profile, at once: the product's own `Pursuit`, with one row a repetition.

Draws are the ones that `simulate` would make with the same seeds, so each repetition ends as it would alone;
`tests/statistical/test_side_by_side.py` holds them together one by one.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from butfor.attribution.batches import Batch, Table
from butfor.attribution.elimination import Elimination
from butfor.attribution.margins import Margins
from butfor.attribution.plateaus import guess_by_plateaus
from butfor.attribution.profile import DRAWS, ROUND, factual_outcome
from butfor.attribution.pursuit import Order, Pursuit
from butfor.attribution.sampling import Draw, ResampleFrom
from butfor.benchmarks.planted.world import uniforms

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from butfor.benchmarks.planted.world import World
    from butfor.confidence import Estimate

# Ids of draws are computed so many at a time.
BLOCK = 32


def search_side_by_side(
    world: World,
    seeds: Sequence[int],
    *,
    max_help: float | None,
    calls: int | None,
    factual: Sequence[float | Estimate],
) -> Pursuit:
    """Search one planted run with many seeds, each to its end.

    Args:
        world: The run; its rollouts all take the same time.
        seeds: One a repetition.
        max_help: η, or None.
        calls: Budget in policy calls; None for that of a default profile.
        factual: y of each repetition.
    """
    pursuit = Pursuit(
        steps=world.steps,
        factual=[factual_outcome(y) for y in factual],
        margins=Margins(),
        max_help=max_help,
        budget=calls or DRAWS * world.steps * (world.steps + 1) // 2,
    )
    ids, roots = _DrawIds(world.steps), np.array(seeds, dtype=np.uint64)
    while (order := pursuit.order()).run.size:
        batch, spent = _rolled(world, order, roots, ids)
        pursuit.enter(batch, spent)
    return pursuit


def _rolled(world: World, order: Order, roots: NDArray[np.uint64], ids: _DrawIds) -> tuple[Batch, NDArray[np.int64]]:
    seeds, draws = roots[order.run], ids.of(order.arm, order.ordinal)
    rolled = world.rolled(order.arm, lambda slots: uniforms(seeds, draws, slots))
    low = np.where(rolled.gone, 0.0, rolled.bad)
    high = np.where(rolled.gone, 1.0, rolled.bad)
    return Batch(run=order.run, arm=order.arm, low=low, high=high, reached=rolled.left), rolled.calls


def draws_until_right(world: World, seeds: Sequence[int], *, most: int) -> NDArray[np.int64]:
    """Count the draws of each step that a profile needs until its set is one right step, `most` + 1 where more.

    Each profile looks at its evidence round by round, as `profile.eliminate` does.

    Args:
        world: The run; no outcome is missing.
        seeds: One a repetition.
        most: Where a profile is given up.
    """
    margins, n, runs = Margins(), world.steps, np.arange(len(seeds))
    evidence = Elimination(
        steps=n,
        factual=[factual_outcome(float(world.v[-1]))] * runs.size,
        margin=margins.commit,
        decisive_margin=margins.decisive,
        max_help=None,
    )
    ids, roots, total = _DrawIds(n), np.array(seeds, dtype=np.uint64), np.zeros((runs.size, n + 1))
    right, needed = np.zeros(n, dtype=bool), np.full(runs.size, most + 1)
    right[list(world.right(margins.tie))] = True
    for start in range(0, most - ROUND + 1, ROUND):
        going = np.flatnonzero(needed > most)
        steps = guess_by_plateaus(total[going, :-1], np.full((going.size, n), float(start)))
        guesses = np.column_stack((steps, np.full(going.size, float(world.v[-1]))))
        leader = np.argmax(np.diff(guesses, axis=1), axis=1) if start else np.full(going.size, -1)
        batch, _ = _rolled(world, _round(going, n, start), roots, ids)
        np.add.at(total, (batch.run, batch.arm), batch.low)
        table = Table(batch=replace(batch, run=np.searchsorted(going, batch.run)), guesses=guesses)
        evidence.enter(table, going, leader)
        left = evidence.open(margins.alpha)
        needed[(left.sum(axis=1) == 1) & (left & right).any(axis=1) & (needed > most)] = start + ROUND
    return needed


def _round(runs: NDArray[np.int64], steps: int, start: int) -> Order:
    """Order ROUND draws of every arm of some runs."""
    run, arm, ordinal = np.meshgrid(runs, np.arange(steps), start + np.arange(ROUND), indexing="ij")
    return Order(run=run.ravel(), arm=arm.ravel(), ordinal=ordinal.ravel())


class _DrawIds:
    """Ids of draws of prefix arms, looked up by arm and ordinal."""

    def __init__(self, steps: int) -> None:
        self._ids = np.zeros((steps, 0), dtype=np.uint64)
        self._known = np.zeros(steps, dtype=np.int64)

    def of(self, arm: NDArray[np.int64], ordinal: NDArray[np.int64]) -> NDArray[np.uint64]:
        """Return the ids, shape of `arm`."""
        needed = np.zeros(self._known.size, dtype=np.int64)
        np.maximum.at(needed, arm, ordinal + 1)
        for step in np.flatnonzero(needed > self._known).tolist():
            self._learn(step, int(needed[step]))
        ids: NDArray[np.uint64] = self._ids[arm, ordinal]
        return ids

    def _learn(self, step: int, count: int) -> None:
        start, stop = int(self._known[step]), -(-count // BLOCK) * BLOCK
        if stop > self._ids.shape[1]:
            wider = np.zeros((self._known.size, 2 * stop), dtype=np.uint64)
            wider[:, : self._ids.shape[1]] = self._ids
            self._ids = wider
        arm = ResampleFrom(step=step)
        self._ids[step, start:stop] = [Draw(arm=arm, ordinal=i).index for i in range(start, stop)]
        self._known[step] = stop
