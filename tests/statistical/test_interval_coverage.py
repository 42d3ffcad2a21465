"""Every default interval covers at least as often as it says, from p = .02 to .98 and for graded outcomes."""

import numpy as np
import pytest
from scipy.stats import binom

from butfor.confidence import (
    Estimate,
    betting_interval,
    bounded_mean,
    bounded_sequence,
    clopper_pearson_bounds,
    hoeffding_bentkus,
    wilson,
)
from butfor.noise import numpy_generator

P = np.linspace(0.02, 0.98, 49)
ALPHA = 0.05


def sure(interval):
    assert isinstance(interval, Estimate)
    return interval


def most_misses(repetitions: int) -> int:
    """Misses that a method with true level ALPHA exceeds once in a million."""
    return int(binom.ppf(1 - 1e-6, repetitions, ALPHA))


def exact_coverage(n, bounds):
    """Coverage for every p in P by summing over all outcomes."""
    lower, upper = np.array([bounds(ones, n) for ones in range(n + 1)]).T
    covers = (lower[:, None] <= P) & (upper[:, None] >= P)
    return (binom.pmf(np.arange(n + 1)[:, None], n, P) * covers).sum(axis=0)


@pytest.mark.parametrize("n", [3, 8, 16, 64, 200])
def test_clopper_pearson_covers_exactly(n):
    assert exact_coverage(n, lambda ones, n: clopper_pearson_bounds(ones, n)).min() >= 1 - ALPHA


@pytest.mark.parametrize("n", [8, 16, 64])
def test_hoeffding_bentkus_covers_exactly_on_binary_draws(n):
    def bounds(ones, n):
        interval = sure(hoeffding_bentkus([1.0] * ones + [0.0] * (n - ones)))
        return interval.lower, interval.upper

    assert exact_coverage(n, bounds).min() >= 1 - ALPHA


def test_wilson_does_not_and_says_so():
    # The check above can fail: the interval that is labelled approximate fails it.
    def bounds(ones, n):
        interval = sure(wilson(ones, n))
        return interval.lower, interval.upper

    assert exact_coverage(16, bounds).min() < 1 - ALPHA


GRADED = {
    "beta(1,3)": lambda rng, n: rng.beta(1, 3, n),
    "beta(.2,.1)": lambda rng, n: rng.beta(0.2, 0.1, n),
    "rare half": lambda rng, n: 0.5 * (rng.random(n) < 0.06),
    "three values": lambda rng, n: rng.choice([0.0, 0.5, 1.0], n, p=[0.1, 0.1, 0.8]),
    "narrow": lambda rng, n: np.clip(rng.normal(0.9, 0.02, n), 0, 1),
}
MEAN = {"beta(1,3)": 0.25, "beta(.2,.1)": 2 / 3, "rare half": 0.03, "three values": 0.85, "narrow": 0.9}


@pytest.mark.parametrize("law", GRADED)
@pytest.mark.parametrize("method", [bounded_mean, betting_interval, hoeffding_bentkus, bounded_sequence])
def test_graded_intervals_cover(method, law):
    repetitions, rng = 400, numpy_generator("graded coverage", law)
    misses = sum(not method(list(GRADED[law](rng, 16))).contains(MEAN[law]) for _ in range(repetitions))
    assert misses <= most_misses(repetitions)


@pytest.mark.slow
@pytest.mark.parametrize("law", GRADED)
@pytest.mark.parametrize("n", [4, 16, 64])
@pytest.mark.parametrize("method", [bounded_mean, betting_interval, hoeffding_bentkus])
def test_graded_intervals_cover_long(method, n, law):
    repetitions, rng = 2000, numpy_generator("graded coverage", law, n)
    misses = sum(not method(list(GRADED[law](rng, n))).contains(MEAN[law]) for _ in range(repetitions))
    assert misses <= most_misses(repetitions)


@pytest.mark.parametrize("p", [0.02, 0.3, 0.5, 0.95])
def test_sequences_cover_at_every_look(p):
    repetitions, looks = 300, [1, 2, 4, 8, 12, 16, 24, 32, 48, 64, 96, 128]
    rng = numpy_generator("sequence coverage", str(p))
    misses = 0
    for _ in range(repetitions):
        draws = (rng.random(looks[-1]) < p).astype(float).tolist()
        misses += any(not sure(bounded_sequence(draws[:n])).contains(p) for n in looks)
    assert misses <= most_misses(repetitions)
