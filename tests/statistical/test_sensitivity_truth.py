"""The bound of the marginal sensitivity model holds where the hidden cause is as strong as it says."""

import numpy as np
import pytest
from scipy.stats import binom

from butfor.estimation.columns import Columns
from butfor.estimation.marginal import MarginalBound, marginal_contrast
from butfor.estimation.sensitivity import LinearSensitivity, linear_sensitivity
from butfor.noise import numpy_generator

ALPHA = 0.05


def most_misses(repetitions: int) -> int:
    return int(binom.ppf(1 - 1e-6, repetitions, ALPHA))


def lowest_part(law, p, factor):
    """Mean of the lowest 1/(1 + Λ) of the law."""
    share = 1 / (1 + factor)
    return share / 2 if law == "uniform" else max(0.0, (p - (1 - share)) / share)


@pytest.mark.parametrize("mirrored", [False, True])
@pytest.mark.parametrize("law", ["uniform", "binary"])
@pytest.mark.parametrize("factor", [1.0, 1.5, 4.0])
def test_the_least_contrast_is_bounded(law, factor, mirrored):
    """Arms have one law each: the least level among the others is μ/Λ + (1 − 1/Λ)·(mean of the lowest part)."""
    rng = numpy_generator("least", law, str(factor), str(mirrored))
    repetitions, n, misses = 400, 1000, 0
    share = np.array([0.3, 0.5, 0.7])
    taken = 1 - share.mean() if mirrored else share.mean()
    mean = {"uniform": 0.5, "binary": 0.6}[law]
    least = mean / factor + (1 - 1 / factor) * lowest_part(law, mean, factor)
    other = 1 - mean  # the reference arm has the law of 1 − Y, so its greatest level is 1 − least
    level = taken * mean + (1 - taken) * least
    reference = (1 - taken) * other + taken * (1 - least)
    for _ in range(repetitions):
        x = rng.integers(0, 3, n)
        t = rng.random(n) < share[x]
        t = ~t if mirrored else t
        draw = rng.random(n) if law == "uniform" else (rng.random(n) < mean).astype(float)
        y = np.where(t, draw, 1 - draw)
        columns = Columns.of({"T": t, "Y": y, "x": x}, treatment="T", outcome="Y")
        answer = marginal_contrast(columns, ["x"], level=1, reference=0, factor=factor, alpha=ALPHA)
        assert isinstance(answer, MarginalBound)
        misses += answer.lower > level - reference
    assert misses <= most_misses(repetitions)


def test_a_hidden_cause_that_fools_standardisation_does_not_fool_the_bound():
    """U triples the odds of treatment against its absence, so Λ = 3 holds; the treatment does nothing."""
    rng, repetitions, n = numpy_generator("hidden"), 300, 800
    fooled = misses = 0
    for _ in range(repetitions):
        x, u = rng.integers(0, 2, n), rng.integers(0, 2, n)
        odds = np.where(u == 1, 3.0, 1.0) * np.where(x == 1, 1.0, 0.5)
        t = rng.random(n) < odds / (1 + odds)
        y = (rng.random(n) < 0.2 + 0.5 * u).astype(float)
        columns = Columns.of({"T": t, "Y": y, "x": x}, treatment="T", outcome="Y")
        naive, answer = (
            marginal_contrast(columns, ["x"], level=1, reference=0, factor=f, alpha=ALPHA) for f in (1.0, 3.0)
        )
        assert isinstance(naive, MarginalBound)
        assert isinstance(answer, MarginalBound)
        fooled += naive.lower > 0
        misses += answer.lower > 0
    assert fooled > 0.8 * repetitions
    assert misses <= most_misses(repetitions)


def test_the_linear_bound_holds_under_the_hidden_cause_it_is_given():
    """With the hidden cause's strength in the population, the bound covers; without it, it never does."""
    rng, repetitions, n = numpy_generator("linear hidden"), 400, 300
    misses = naive = 0
    for _ in range(repetitions):
        x, u = rng.normal(size=(2, n))
        t = 0.5 * x + u + rng.normal(size=n)
        y = x + u + rng.normal(size=n)
        columns = Columns.of({"T": t, "Y": y, "x": x, "u": u}, treatment="T", outcome="Y")
        short = linear_sensitivity(columns, ["x"], alpha=ALPHA)
        full = linear_sensitivity(columns, ["x", "u"], alpha=ALPHA)
        assert isinstance(short, LinearSensitivity)
        assert isinstance(full, LinearSensitivity)
        naive += short.lower > 0
        misses += short.lower_under(full.strengths["u"]) > 0
    assert naive > 0.99 * repetitions
    assert misses <= most_misses(repetitions)
