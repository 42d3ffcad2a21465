"""Sequential tests, capital against contrasts and closed e-values keep their levels under peeking."""

import math

import numpy as np
import pytest
from scipy.stats import binom

from butfor.confidence import (
    Estimate,
    LabelledSet,
    MarginTest,
    bets_against,
    closed_e_values,
    holm,
    known,
    log_gain,
    without_bias,
)
from butfor.errors import InputError
from butfor.noise import numpy_generator

ALPHA = 0.05


def most(repetitions):
    return binom.ppf(1 - 1e-6, repetitions, ALPHA)


@pytest.mark.parametrize(("mean", "wrong"), [(0.3, "above"), (0.4, "below")])
def test_margin_test_errs_rarely_at_the_edges(mean, wrong):
    rng, repetitions, errors = numpy_generator("margin", str(mean)), 400, 0
    for _ in range(repetitions):
        test = MarginTest(threshold=0.3, margin=0.1)
        errors += test.enter((rng.random(400) < mean).astype(float).tolist()) == wrong
    assert errors <= most(repetitions)


def test_margin_test_decides_where_it_should():
    rng = numpy_generator("margin decides")
    for mean, right in ((0.05, "below"), (0.7, "above")):
        decisions = [
            MarginTest(threshold=0.3, margin=0.1).enter((rng.random(200) < mean).astype(float).tolist())
            for _ in range(40)
        ]
        assert sum(decision == right for decision in decisions) >= 38


def test_missing_draws_never_help_a_decision():
    assert MarginTest(threshold=0.3, margin=0.1).enter([None] * 500) is None


def test_first_decision_stands():
    test = MarginTest(threshold=0.5, margin=0.0)
    assert test.enter([1.0] * 50) == "above"
    assert test.enter([0.0] * 500) == "above"


def test_thresholds_outside_are_refused():
    with pytest.raises(InputError):
        MarginTest(threshold=0.95, margin=0.1)


# Means on the edge of w0 − w1 − w2 + w3 ≤ 0, where the capital is a fair game.
EDGES = [(0.5, 0.5, 0.5, 0.5), (1.0, 0.3, 0.9, 0.2), (0.7, 0.1, 0.6, 0.0), (0.05, 0.02, 0.05, 0.02)]


@pytest.mark.parametrize("means", EDGES)
@pytest.mark.parametrize("graded", [False, True])
def test_capital_against_a_true_contrast_stays_small(means, graded):
    repetitions, looks, size = 500, 12, 4
    rng = numpy_generator("contrast", str(means), graded)
    coefficients = np.tile([1.0, -1.0, -1.0, 1.0], (repetitions, 1))
    mean = np.array(means)
    log_capital, peak = np.zeros(repetitions), np.zeros(repetitions)
    total = np.zeros((repetitions, 4))
    for look in range(looks):
        guesses = (total + 0.5) / (look * size + 1.0)
        draws = (rng.random((repetitions, 4, size)) < mean[None, :, None]).astype(float)
        if graded:
            # Same means, less spread: averages of two 0/1 draws.
            draws = 0.5 * (draws + (rng.random((repetitions, 4, size)) < mean[None, :, None]))
        bets, centres = bets_against(
            guesses, coefficients, np.full((repetitions, 4), float(size)), np.zeros(repetitions)
        )
        log_capital += log_gain(bets, centres, draws, draws)
        peak = np.maximum(peak, log_capital)
        total += draws.sum(axis=2)
    assert (peak >= math.log(1 / ALPHA)).sum() <= most(repetitions)
    # A fair game: on average the capital is 1.
    assert np.exp(log_capital).mean() < 1.5


def test_capital_grows_against_a_false_contrast():
    rng, log_capital, total = numpy_generator("contrast false"), 0.0, np.zeros((1, 4))
    mean = np.array([1.0, 0.3, 0.3, 0.3])
    for look in range(15):
        draws = (rng.random((1, 4, 4)) < mean[None, :, None]).astype(float)
        guesses = (total + 0.5) / (4 * look + 1.0)
        bets, centres = bets_against(guesses, np.array([[1.0, -1, -1, 1]]), np.full((1, 4), 4.0), np.zeros(1))
        log_capital += float(log_gain(bets, centres, draws, draws)[0])
        total += draws.sum(axis=2)
    assert log_capital > math.log(1 / ALPHA)


def test_closed_e_values_by_hand():
    # {1}: min(100, (100 + 1)/2, (100 + 1 + 2)/3); the smallest stays what it is.
    assert closed_e_values([100.0, 1.0, 2.0]) == pytest.approx([103 / 3, 1.0, 1.5])
    assert closed_e_values([]) == []


def test_closed_e_values_keep_the_familywise_level():
    rng, repetitions, errors = numpy_generator("closed"), 2000, 0
    for _ in range(repetitions):
        # Three true nulls with log-normal e-values of mean 1, two false ones.
        true = np.exp(rng.normal(-2.0, 2.0, 3))
        errors += max(closed_e_values([*true, 500.0, 900.0])[:3]) >= 1 / ALPHA
    assert errors <= most(repetitions)


def test_holm_keeps_the_familywise_level():
    rng, repetitions = numpy_generator("holm"), 2000
    errors = sum(min(holm([*rng.random(5), 1e-9])[:5]) <= ALPHA for _ in range(repetitions))
    assert errors <= most(repetitions)


def test_rogan_gladen_covers():
    rng, repetitions, misses = numpy_generator("rogan"), 400, 0
    for _ in range(repetitions):
        labelled = LabelledSet(
            bad=40, bad_found=int(rng.binomial(40, 0.9)), good=40, good_found=int(rng.binomial(40, 0.85))
        )
        truth = without_bias(known(0.9 * 0.4 + 0.15 * 0.6), labelled)
        misses += isinstance(truth, Estimate) and not truth.contains(0.4)
    assert misses <= most(repetitions)
