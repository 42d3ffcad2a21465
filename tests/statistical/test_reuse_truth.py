"""Rollouts that count for several arms leave every bet fair."""

import numpy as np
import pytest

from butfor.attribution.batches import Batch, Table
from butfor.attribution.elimination import Elimination
from butfor.benchmarks.planted import World
from butfor.confidence import known


def batch_of(world, arms, rng):
    """Draw one batch: each rollout leaves the factual path at random."""
    outcomes, held = [], []
    for arm in arms:
        left = arm
        while left < world.steps and rng.random() < world.match[left]:
            left += 1
        chance = world.off_path[left] if left < world.steps else world.v[-1]
        outcomes.append(float(rng.random() < chance))
        held.append(left)
    return Batch.of(arms, outcomes, held)


@pytest.mark.parametrize("match", [0.0, 0.5, 0.9])
def test_capital_against_a_step_that_ties_for_the_largest_is_one_on_average(match):
    # Steps 1 and 3 have the same, largest blame: what is bet against, "blame(3) ≥ blame(1)", is just true.
    v = np.array([0.2, 0.2, 0.5, 0.5, 0.8, 0.8])
    moves = np.diff(v) > 0
    world = World(name="edge", v=v, match=np.where(moves, min(match, 0.4), match))
    rng, capital = np.random.default_rng([11, int(10 * match)]), []
    for _ in range(400):
        elimination = Elimination(steps=5, factual=[known(0.8)], margin=0.1, decisive_margin=0.2, max_help=None)
        for _ in range(2):
            batch = batch_of(world, [0, 1, 2, 3, 4] * 2, rng)
            # A guess that is wrong on purpose, so that the bet is large.
            table = Table(batch=batch, guesses=np.array([[0.2, 0.1, 0.8, 0.6, 0.7, 0.8]]))
            elimination.enter(table, np.zeros(1, dtype=np.int64), np.array([1]))
        capital.append(np.exp(elimination.capital(3)))
    mean, error = np.mean(capital), np.std(capital) / np.sqrt(len(capital))
    assert mean <= 1.0 + 5 * error
    assert error < 0.2
