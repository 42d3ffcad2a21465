"""The bound is the exact end of what the bets refute, on any scale of scores."""

import math

import numpy as np
import pytest

from butfor.confidence import betting_gains, lower_betting_bound, plug_in_bets
from butfor.noise import numpy_generator


def inverse_probability_scores(n=800, share=0.1):
    rng = numpy_generator("betting", "scores")
    treated = rng.random(n) < share
    y = (rng.random(n) < 0.2 + 0.5 * treated).astype(float)
    least = min(-0.3 / share, -0.7 / (1 - share))
    return np.where(treated, (y - 0.3) / share, -(y - 0.3) / (1 - share)), least


def reached(scores, theta, least):
    return betting_gains(scores, plug_in_bets(scores, alpha=0.05), theta, least=least).cumsum().max()


def test_the_bound_is_the_end_of_what_is_refuted():
    scores, least = inverse_probability_scores()
    bound = lower_betting_bound(scores, alpha=0.05, least=least, among=(-1.0, 1.0))
    assert 0.0 < bound < 0.5
    assert reached(scores, bound, least) >= math.log(20.0) > reached(scores, bound + 1e-9, least)


def test_nothing_refuted_gives_the_lowest_candidate():
    assert lower_betting_bound(np.zeros(100), alpha=0.05) == 0.0
    assert lower_betting_bound(np.array([]), alpha=0.05, among=(-1.0, 1.0)) == -1.0


@pytest.mark.parametrize("theta", [0.0, 0.2, 0.9])
def test_the_worst_score_costs_at_most_half_of_the_capital(theta):
    scores = np.full(50, -3.0)
    gains = betting_gains(scores, plug_in_bets(scores, alpha=0.05), theta, least=-3.0)
    assert gains.min() >= math.log(0.5) - 1e-12


def test_draws_of_a_larger_mean_are_refuted_more():
    draws = numpy_generator("betting", "unit").random(300)
    bounds = [lower_betting_bound(draws**power, alpha=0.05) for power in (2.0, 1.0, 0.5)]
    assert bounds == sorted(bounds)
