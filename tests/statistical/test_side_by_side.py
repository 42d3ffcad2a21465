"""Repetitions side by side end as each would alone: same set, same answer, same price, one by one."""

import numpy as np
import pytest

from butfor.attribution.margins import Margins
from butfor.attribution.profile import eliminate
from butfor.attribution.sampling import Draw, ResampleFrom
from butfor.attribution.tally import Tally
from butfor.benchmarks import planted
from butfor.benchmarks.planted.side_by_side import draws_until_right
from butfor.benchmarks.planted.trial import judge_on_the_factual_run, search, searches
from butfor.confidence import known

FAMILIES = {
    "pivotal 20": planted.pivotal(20, at=7),
    "pivotal 10, matches .9": planted.pivotal(10, at=6, match=0.9),
    "and 10": planted.both(10, first=2, second=6),
    "or 6": planted.either(6, first=1, second=4, match=0.5),
    "soft 10": planted.soft(10, at=5),
    "late rescue 10": planted.late_rescue(10, at=4),
    "undone 8": planted.undone(8, helped=2, at=5),
    "hidden help 10": planted.hidden_help(10, at=3),
    "gradual 8": planted.gradual(8),
    "doomed 5": planted.doomed(5),
    "tied 6": planted.tied(6, first=1, second=4, match=0.9),
    "judged": planted.judged(planted.pivotal(10, at=5), flips=0.1),
    "missing": planted.losing_calls(planted.pivotal(10, at=5), missing=0.05),
    "length": planted.variable_length(planted.pivotal(10, at=5)),
    "parallel": planted.parallel_calls(planted.pivotal(10, at=5, match=0.9)),
}


@pytest.mark.parametrize("max_help", [None, 0.0, 0.1])
@pytest.mark.parametrize("family", FAMILIES)
def test_searches(family, max_help):
    world, seeds = FAMILIES[family], range(100, 112)
    factual = [judge_on_the_factual_run(world, seed) if family == "judged" else 1.0 for seed in seeds]
    calls = 8 * world.steps * (world.steps + 1)
    together = searches(world, seeds, max_help=max_help, calls=calls, factual=factual)
    alone = [
        search(world, seed, max_help=max_help, calls=calls, factual=y) for seed, y in zip(seeds, factual, strict=True)
    ]
    assert alone == together


@pytest.mark.slow
@pytest.mark.parametrize("max_help", [None, 0.0])
@pytest.mark.parametrize("family", FAMILIES)
def test_searches_long(family, max_help):
    world, seeds = FAMILIES[family], range(5000, 5200)
    together = searches(world, seeds, max_help=max_help)
    assert [search(world, seed, max_help=max_help) for seed in seeds] == together


def draws_alone(world, seed, most):
    """Count the draws of each step until the profile's set is one right step, by the profile's own rounds."""
    tally, margins = Tally(world.steps), Margins()
    plan = [Draw(arm=ResampleFrom(step=k), ordinal=i) for i in range(most) for k in range(world.steps)]
    tally.enter(plan, world.results(plan, seed))
    for draws, evidence in eliminate(tally, factual=known(float(world.v[-1])), margins=margins):
        candidates = evidence.candidates(margins.alpha)
        if len(candidates) == 1 and candidates[0] in world.right(margins.tie):
            return draws
    return most + 1


@pytest.mark.parametrize("family", ["pivotal 20", "and 10", "or 6", "soft 10", "late rescue 10"])
def test_profiles(family):
    world, seeds = FAMILIES[family], range(12)
    together = draws_until_right(world, seeds, most=64)
    assert [draws_alone(world, seed, 64) for seed in seeds] == together.tolist()
    # Not all of them gave up at once, or nothing was compared.
    assert np.unique(together).size > 1
