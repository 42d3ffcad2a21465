"""profile on planted truth: bounds cover together, the set keeps the decisive step, order of completion is nothing."""

from dataclasses import replace

import numpy as np
import pytest
from scipy.stats import binom

from butfor.attribution.answers import AnswerKind, Role
from butfor.attribution.profile import ProfileSampler
from butfor.benchmarks.planted import (
    World,
    both,
    doomed,
    either,
    finish_times,
    gradual,
    judged,
    late_rescue,
    losing_calls,
    pivotal,
    simulate,
    simulate_on_slots,
    slow_failures,
    soft,
    tied,
    undone,
)
from butfor.confidence import Estimate, bounded_mean

ALPHA = 0.05
FAMILIES = {
    "pivotal 3": pivotal(3, at=1),
    "pivotal 20": pivotal(20, at=10),
    "pivotal 10, matches .9": pivotal(10, at=6, match=0.9),
    "pivotal 10, half": pivotal(10, at=4, fails=0.5),
    "and 3": both(3, first=0, second=1),
    "and 20": both(20, first=5, second=12),
    "or 6": either(6, first=1, second=4),
    "soft 10, 1%": soft(10, at=5, rescue=0.01),
    "soft 10, 5%": soft(10, at=5, rescue=0.05),
    "late rescue 10": late_rescue(10, at=4),
    "undone 8": undone(8, helped=2, at=5),
    "tied 6": tied(6, first=1, second=4),
    "tied 6, matches .9": tied(6, first=1, second=4, match=0.9),
    "doomed 5": doomed(5),
    "gradual 12": gradual(12),
    "missing 5%": losing_calls(pivotal(6, at=3), missing=0.05),
}


def most(repetitions, p):
    return int(binom.ppf(1 - 1e-6, repetitions, p))


def sure(interval):
    assert isinstance(interval, Estimate)
    return interval


def profiles(world, *, repetitions, draws, seed=0, factual=1.0):
    for i in range(repetitions):
        yield simulate(ProfileSampler(steps=world.steps, factual=factual, draws=draws), world, seed + i)[0]


def errors_of(world, *, repetitions, draws):
    """Count missed bands, missed sets and wrong names; each must be rare."""
    errors = np.zeros(3, dtype=int)
    for profile in profiles(world, repetitions=repetitions, draws=draws):
        covered = all(
            sure(step.v).contains(world.v[k])
            and sure(step.effect).contains(world.v[-1] - world.v[k])
            and sure(step.blame).contains(world.blame[k])
            for k, step in enumerate(profile.steps)
        )
        right = world.right(profile.margins.tie)
        wrong = profile.decisive is not None and profile.decisive not in right
        errors += [not covered, not right & set(profile.candidates), wrong]
    return errors


def test_bounds_and_set_hold():
    # All families together: with few repetitions of each, only the sum is a check that can fail.
    repetitions = 25
    errors = sum(errors_of(world, repetitions=repetitions, draws=16) for world in FAMILIES.values())
    assert max(errors) <= most(repetitions * len(FAMILIES), ALPHA)


@pytest.mark.slow
@pytest.mark.parametrize("draws", [16, 64])
@pytest.mark.parametrize("family", [*FAMILIES, "pivotal 50"])
def test_bounds_and_set_hold_long(family, draws):
    world = FAMILIES.get(family) or pivotal(50, at=20)
    assert max(errors_of(world, repetitions=1000, draws=draws)) <= most(1000, ALPHA)


def test_the_decisive_step_is_right_on_pivotal_and_and():
    for world in (
        pivotal(3, at=1),
        pivotal(20, at=10, fails=0.5),
        both(3, first=0, second=1),
        both(20, first=5, second=12),
    ):
        right = [p.leading in world.right(0.05) for p in profiles(world, repetitions=25, draws=64)]
        assert sum(right) >= binom.ppf(1e-6, len(right), 0.95)


def test_a_claimed_step_is_usually_claimed():
    claimed = [p.decisive for p in profiles(pivotal(20, at=10), repetitions=25, draws=64)]
    assert set(claimed) <= {10, None}
    assert claimed.count(10) >= binom.ppf(1e-6, 25, 0.95)


class HalfAsBad(World):
    """y in {0, ½}: all v are half of what they say."""

    def results(self, draws, seed):
        return [replace(result, outcome=0.5 * (result.outcome or 0.0)) for result in super().results(draws, seed)]


def test_graded_outcomes_are_covered():
    inner = pivotal(5, at=2)
    misses = 0
    for profile in profiles(
        HalfAsBad(name="graded", v=inner.v, match=inner.match), repetitions=40, draws=24, factual=0.5
    ):
        misses += not all(sure(step.v).contains(0.5 * inner.v[k]) for k, step in enumerate(profile.steps))
        assert profile.decisive in {2, None}
    assert misses <= most(40, ALPHA)


def test_a_judges_noise_is_not_blamed_on_the_last_step():
    world = judged(pivotal(10, at=5), flips=0.1)
    rng = np.random.default_rng(7)
    for i in range(40):
        verdicts = (rng.random(64) < world.v[-1]).astype(float).tolist()
        factual = sure(bounded_mean(verdicts, alpha=0.01))
        sampler = ProfileSampler(steps=10, factual=factual, draws=32)
        assert simulate(sampler, world, i)[0].decisive in {5, None}


def test_slow_failures_do_not_change_the_answer():
    world = slow_failures(pivotal(6, at=3))
    sampler = ProfileSampler(steps=6, factual=1.0, draws=16)
    draws = sampler.propose()
    results = world.results(draws, 3)
    finished = finish_times(results, slots=16, slow=world.slow)
    arrival = sorted(range(len(draws)), key=finished.__getitem__)
    arrived = {i: world.results([draws[i]], 3)[0] for i in arrival}
    sampler.enter([arrived[i] for i in range(len(draws))])
    assert sampler.answer() == simulate(ProfileSampler(steps=6, factual=1.0, draws=16), world, 3)[0]
    # The orders do differ: by completion, the first rounds would hold mostly successes.
    first = np.mean([results[i].outcome == 1.0 for i in arrival[:16]])
    assert first < np.mean([result.outcome == 1.0 for result in results[:16]])


def test_a_time_stop_with_slow_failures_keeps_the_bounds():
    world, misses = slow_failures(pivotal(6, at=3)), 0
    for seed in range(60):
        sampler = ProfileSampler(steps=6, factual=1.0, draws=16)
        profile, _ = simulate_on_slots(sampler, world, seed, slots=16, seconds=10.0 + seed % 20)
        assert not profile.complete
        bounded = [(step.v, world.v[k]) for k, step in enumerate(profile.steps) if step.n]
        misses += not all(sure(v).contains(truth) for v, truth in bounded)
    assert misses <= most(60, ALPHA)


def test_answers_without_a_step():
    kinds = {p.kind for p in profiles(doomed(5), repetitions=10, draws=64)}
    assert kinds == {AnswerKind.ALWAYS_FAILS}
    flaky = World(name="flaky", v=np.linspace(0.7, 1.0, 13), match=np.zeros(12))
    kinds = {p.kind for p in profiles(flaky, repetitions=4, draws=400)}
    assert AnswerKind.FLAKY in kinds
    assert kinds <= {AnswerKind.FLAKY, AnswerKind.WITHHELD}


def test_a_step_that_executes_what_was_decided_is_mechanical():
    # Decided at 3; from 4 on everything comes out the same.
    v = np.where(np.arange(9) <= 3, 0.3, 1.0)
    world = World(name="executes", v=v, match=np.array([0, 0, 0, 0, 1, 1, 1, 1], dtype=float))
    for profile in profiles(world, repetitions=10, draws=64):
        assert profile.decisive == 3
        assert profile.steps[5].role is Role.MECHANICAL
