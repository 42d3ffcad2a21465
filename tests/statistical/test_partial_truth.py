"""The confidence bounds on the ends of a partial answer miss the effect at most as often as they say.

Each law puts the effect exactly on the end that is bounded: the unobserved outcomes are the worst that can be.
"""

import itertools

import numpy as np
import pytest
from scipy.stats import binom

from butfor.estimation.endpoints import Range
from butfor.estimation.partial import Bounds, balke_pearl, instrument_level, manski_contrast, manski_level
from butfor.noise import numpy_generator

ALPHA = 0.05
OUTCOMES = {
    "rare": (lambda rng, n: (rng.random(n) < 0.02).astype(float), 0.02, True),
    "common": (lambda rng, n: (rng.random(n) < 0.9).astype(float), 0.9, True),
    "skewed": (lambda rng, n: rng.beta(0.2, 0.8, n), 0.2, False),
    "narrow": (lambda rng, n: rng.uniform(0.85, 0.95, n), 0.9, False),
}


def most_misses(repetitions: int) -> int:
    return int(binom.ppf(1 - 1e-6, repetitions, ALPHA))


@pytest.mark.parametrize("law", OUTCOMES)
@pytest.mark.parametrize(("n", "share"), [(40, 0.5), (400, 0.95), (400, 0.05)])
def test_a_level_is_bounded(law, n, share):
    draw, mean, two_valued = OUTCOMES[law]
    limits = Range(low=0.0, high=1.0, two_valued=two_valued)
    rng, repetitions = numpy_generator("manski", law, n, str(share)), 500
    too_high = too_low = 0
    for _ in range(repetitions):
        t = rng.random(n) < share
        answer = manski_level(draw(rng, n), t, level=True, limits=limits, alpha=ALPHA)
        assert isinstance(answer, Bounds)
        too_high += answer.lower_bound > share * mean
        too_low += answer.upper_bound < share * mean + 1 - share
    assert too_high <= most_misses(repetitions)
    assert too_low <= most_misses(repetitions)


def test_a_contrast_is_bounded():
    rng, repetitions, n = numpy_generator("manski contrast"), 500, 200
    limits, misses = Range(low=-2.0, high=2.0), 0
    for _ in range(repetitions):
        t = rng.choice([0, 1, 2], n, p=[0.3, 0.6, 0.1])
        y = np.clip(rng.normal(t - 0.5, 1.0, n), -2, 2)
        answer = manski_contrast(y, t, level=1, reference=0, limits=limits, alpha=ALPHA)
        assert isinstance(answer, Bounds)
        # E[Y|T=1] = −E[Y|T=0] by symmetry of the clipped normal, so the lower end is known from one of them.
        end = 0.6 * MEAN_AT_HALF + 0.4 * -2 - (0.3 * -MEAN_AT_HALF + 0.7 * 2)
        misses += answer.lower_bound > end
    assert misses <= most_misses(repetitions)


MEAN_AT_HALF = float(np.clip(numpy_generator("clipped").normal(0.5, 1.0, 4_000_000), -2, 2).mean())


@pytest.mark.parametrize("size", [5, 40])
def test_clustered_rows_are_bounded_by_their_clusters(size):
    # All rows of a cluster share treatment and outcome: by rows the bound misses far too often.
    rng, repetitions, clusters = numpy_generator("clusters", size), 500, 60
    limits = Range(low=0.0, high=1.0)
    misses = by_rows = 0
    for _ in range(repetitions):
        y, t = (np.repeat(rng.random(clusters) < p, size) for p in (0.6, 0.7))
        of = np.repeat(np.arange(clusters), size)
        answer = manski_level(y, t, level=True, limits=limits, alpha=ALPHA, clusters=of)
        naive = manski_level(y, t, level=True, limits=limits, alpha=ALPHA)
        assert isinstance(answer, Bounds)
        assert isinstance(naive, Bounds)
        misses += answer.lower_bound > 0.42
        by_rows += naive.lower_bound > 0.42
    assert misses <= most_misses(repetitions)
    assert size == 5 or by_rows > most_misses(repetitions)


@pytest.mark.parametrize("share", [0.9, 0.98])
def test_few_failing_clusters_are_bounded_too(share):
    # By Student's t alone twenty clusters that all succeed would be called certain: it would miss 67% at .98.
    rng, repetitions, clusters, size = numpy_generator("agreeing", str(share)), 400, 20, 10
    misses = 0
    for _ in range(repetitions):
        y = np.repeat(rng.random(clusters) < share, size)
        answer = manski_level(
            y, np.ones(y.size), level=1, limits=Range(low=0, high=1), clusters=np.repeat(np.arange(clusters), size)
        )
        assert isinstance(answer, Bounds)
        misses += answer.lower_bound > share
    assert misses <= most_misses(repetitions)


TYPES = list(itertools.product(itertools.product((0, 1), repeat=2), repeat=2))


@pytest.mark.parametrize("n", [60, 600])
@pytest.mark.parametrize("concentration", [0.2, 1.0])
def test_an_instrument_bounds_the_effect_of_any_law(n, concentration):
    rng, repetitions = numpy_generator("instrument", n, str(concentration)), 400
    t_of = np.array([t for t, _ in TYPES])
    y_of = np.array([y for _, y in TYPES])
    misses = level_misses = 0
    for _ in range(repetitions):
        law = rng.dirichlet(np.full(len(TYPES), concentration))
        kind = rng.choice(len(TYPES), n, p=law)
        z = rng.integers(0, 2, n)
        t = t_of[kind, z]
        y = y_of[kind, t]
        counts = np.bincount(z * 4 + t * 2 + y, minlength=8).reshape(2, 2, 2)
        effect = float(law @ (y_of[:, 1] - y_of[:, 0]))
        answer = balke_pearl(counts, alpha=ALPHA)
        # A true instrument that is called refuted counts as a miss.
        misses += not isinstance(answer, Bounds) or answer.lower_bound > effect
        limits = Range(low=0.0, high=1.0, two_valued=True)
        level = instrument_level(y.astype(float), t, z, level=1, limits=limits, alpha=ALPHA)
        level_misses += not isinstance(level, Bounds) or level.lower_bound > float(law @ y_of[:, 1])
    assert misses <= most_misses(repetitions)
    assert level_misses <= most_misses(repetitions)


def test_a_strong_instrument_shows_a_benefit():
    # 95% follow the assignment and the treatment helps four in five: worth 0.8 · 0.95 and more.
    rng, n = numpy_generator("strong"), 2000
    z = rng.integers(0, 2, n)
    t = np.where(rng.random(n) < 0.95, z, 1 - z)
    y = np.where(rng.random(n) < 0.8, t, 0)
    answer = balke_pearl(np.bincount(z * 4 + t * 2 + y, minlength=8).reshape(2, 2, 2), alpha=ALPHA)
    assert isinstance(answer, Bounds)
    assert 0.5 < answer.lower_bound < 0.8
