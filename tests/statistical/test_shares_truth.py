"""Shapley values and responsibility against planted truth, and against the published estimators."""

import numpy as np
import pytest
from scipy.stats import binom

from butfor.attribution.responsibility import ResponsibilitySampler, ScriptedProposer
from butfor.attribution.sampling import DrawResult, Proposal
from butfor.attribution.shapley import PooledShapley, shapley_weights
from butfor.attribution.shapley_orders import PublishedShapley, StratifiedShapley
from butfor.benchmarks.planted import TableWorld, simulate, uniforms
from butfor.confidence import Estimate

ALPHA = 0.05
AND = TableWorld(steps=3, bad={0: 0.3, 1: 0.3})


def most(repetitions, p):
    return int(binom.ppf(1 - 1e-6, repetitions, p))


def test_the_truth_of_the_and_run():
    assert AND.shapley() == pytest.approx([0.455, 0.455, 0.0])
    # The published over-count: contrastive effects add up to far more than there is to share.
    assert AND.contrastive() == pytest.approx([0.91, 0.7, 0.0])


def test_weights_give_shapley_values():
    coalitions = [frozenset(k for k in range(4) if bits >> k & 1) for bits in range(16)]
    world = TableWorld(steps=4, bad={0: 0.2, 1: 0.7, 3: 0.4}, fails_if="any")
    values = np.array([world.value(held) for held in coalitions])
    assert shapley_weights(coalitions, 4) @ values == pytest.approx(world.shapley())
    assert sum(world.shapley()) == pytest.approx(world.value(frozenset(range(4))) - world.value(frozenset()))


def answers(make, world, repetitions):
    return [simulate(make(seed), world, seed)[0] for seed in range(repetitions)]


def misses(found, world):
    truth = world.shapley()
    return sum(
        any(isinstance(s.value, Estimate) and not s.value.contains(truth[s.step]) for s in answer.steps)
        for answer in found
    )


def flags(found, world):
    return sum(any(step.flagged for step in answer.steps if step.step not in world.bad) for answer in found)


@pytest.mark.parametrize("n", [3, 5])
def test_pooled_intervals_hold_together(n):
    world = TableWorld(steps=n, bad={0: 0.3, n // 2: 0.3})
    found = answers(lambda seed: PooledShapley(steps=n, rollouts=128 * (n + 1)), world, 60)
    assert misses(found, world) <= most(60, ALPHA)
    assert flags(found, world) <= most(60, ALPHA)
    assert np.mean([answer.total for answer in found]) == pytest.approx(0.91, abs=0.03)
    assert all(isinstance(a.efficiency, Estimate) and abs(a.efficiency.point - a.total) < 1e-9 for a in found)


@pytest.mark.slow
@pytest.mark.parametrize("n", [3, 5, 10])
def test_null_steps_are_rarely_flagged_long(n):
    world = TableWorld(steps=n, bad={0: 0.3, n // 2: 0.3})
    blocks = 128 // n
    ours = answers(lambda seed: StratifiedShapley(steps=n, blocks=blocks, seed=seed), world, 2000)
    assert flags(ours, world) <= most(2000, ALPHA)


def test_stratified_intervals_hold_together():
    world = TableWorld(steps=5, bad={1: 0.3, 3: 0.3})
    found = answers(lambda seed: StratifiedShapley(steps=5, blocks=20, seed=seed), world, 60)
    assert misses(found, world) <= most(60, ALPHA)
    assert np.mean([answer.total for answer in found]) == pytest.approx(0.91, abs=0.03)


def test_the_published_estimator_is_right_on_average_and_flags_too_often():
    world = TableWorld(steps=10, bad={0: 0.3, 5: 0.3})
    found = answers(lambda seed: PublishedShapley(steps=10, orders=32, seed=seed), world, 60)
    means = np.mean([[s.value.point for s in answer.steps] for answer in found], axis=0)
    assert means == pytest.approx(world.shapley(), abs=0.04)
    # Its intervals are per step: among eight null steps one is flagged far more often than α says.
    assert flags(found, world) > most(60, ALPHA)


def test_pooling_is_as_narrow_for_half_the_rollouts():
    # 7,680 and 3,840 rollouts at full size; the ratio is that of the variances at any size.
    theirs = answers(lambda seed: PublishedShapley(steps=3, orders=240, seed=seed), AND, 6)
    ours = answers(lambda seed: PooledShapley(steps=3, rollouts=960), AND, 6)
    width = [np.mean([s.value.width for a in found for s in a.steps]) for found in (theirs, ours)]
    assert ours[0].rollouts * 2 == theirs[0].rollouts
    # Ours hold together, theirs singly: z(.05/6)/z(.05/2) = 1.22 puts both on one footing.
    assert width[1] <= 1.22 * width[0]


def test_a_stopped_budget_drops_unfinished_orders():
    sampler = PublishedShapley(steps=3, orders=10)
    sampler.enter(AND.results(sampler.propose()[:20], 1))
    answer = sampler.answer()
    assert not answer.complete
    # 20 rollouts finish two pairs of orders of 8 rollouts each.
    assert all(step.value.n == 2 for step in answer.steps if isinstance(step.value, Estimate))


class Lucky:
    """A run that a re-decision saves with probability `luck`, a proposal with probability `saved`."""

    def __init__(self, luck, saved):
        self.luck, self.saved = luck, saved

    def results(self, draws, seed):
        ids = np.array([draw.index for draw in draws], dtype=np.uint64)
        chance = [self.saved if isinstance(draw.arm, Proposal) else self.luck for draw in draws]
        good = uniforms(seed, ids, 0) < np.array(chance)
        return [DrawResult(outcome=float(not g), policy_calls=1) for g in good]


def responsibilities(world, repetitions):
    make = lambda: ResponsibilitySampler(steps=3, proposals={0: 3}, draws=48)  # noqa: E731
    return [simulate(make(), world, seed)[0].steps[0] for seed in range(repetitions)]


def test_luck_counts_as_responsibility_only_in_the_published_score():
    steps = responsibilities(Lucky(luck=0.2, saved=0.2), 60)
    # 1 − .8³ = .49: as often as that, a proposal that does nothing "repairs" the run.
    assert binom.ppf(1e-6, 60, 0.488) <= sum(step.published for step in steps) <= binom.ppf(1 - 1e-6, 60, 0.488)
    assert sum(step.responsible for step in steps) <= most(60, ALPHA)


def test_a_real_repair_is_found():
    steps = responsibilities(Lucky(luck=0.2, saved=0.9), 20)
    assert all(step.published == 1.0 for step in steps)
    assert sum(step.responsible for step in steps) >= 18


def test_a_step_without_proposals_has_no_score():
    answer = simulate(ResponsibilitySampler(steps=3, proposals={}), Lucky(luck=0.5, saved=0.5), 0)[0]
    assert answer.steps == ()


def test_scripted_proposals():
    proposer = ScriptedProposer({1: ["look up", "ask"]})
    assert proposer.propose(1, 1) == ["look up"]
    assert proposer.propose(0, 3) == []
