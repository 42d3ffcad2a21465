"""The guess is the mean over all ways to cut the arms into stretches, for every run by itself."""

from itertools import pairwise, product

import numpy as np
import pytest
from scipy.special import betaln

from butfor.attribution.plateaus import CHANGE, LONGEST, PRIOR, guess_by_plateaus

TOTAL = np.array([[3.0, 4.0, 3.0, 9.0, 9.0]])
DRAWS = np.array([[10.0, 10.0, 8.0, 10.0, 9.0]])


def by_hand(total, draws):
    """Go through every way to cut the arms."""
    arms, weights, means = total.size, [], []
    for cuts in product([False, True], repeat=arms - 1):
        ends = [0, *(k + 1 for k, cut in enumerate(cuts) if cut), arms]
        weight, mean = float(np.prod([CHANGE if cut else 1 - CHANGE for cut in cuts])), []
        for start, stop in pairwise(ends):
            ones, size = total[start:stop].sum(), draws[start:stop].sum()
            weight *= np.exp(betaln(PRIOR + ones, PRIOR + size - ones) - betaln(PRIOR, PRIOR))
            mean += [(PRIOR + ones) / (2 * PRIOR + size)] * (stop - start)
        weights.append(weight)
        means.append(mean)
    return np.average(means, axis=0, weights=weights)


@pytest.mark.parametrize("scale", [1.0, 0.5])
def test_it_averages_over_all_cuts(scale):
    assert guess_by_plateaus(scale * TOTAL, DRAWS)[0] == pytest.approx(by_hand(scale * TOTAL[0], DRAWS[0]))


def test_flat_neighbours_are_read_together_and_a_rise_is_kept():
    guesses = guess_by_plateaus(TOTAL, DRAWS)[0]
    raw = TOTAL[0] / DRAWS[0]
    assert np.ptp(guesses[:3]) < 0.5 * np.ptp(raw[:3])
    assert guesses[3] - guesses[2] > 0.4


def test_arms_without_draws_are_left_out():
    draws, total = np.insert(DRAWS, 2, 0.0, axis=1), np.insert(TOTAL, 2, 0.0, axis=1)
    guesses = guess_by_plateaus(total, draws)[0]
    assert guesses[2] == 0.5
    assert np.delete(guesses, 2).tolist() == guess_by_plateaus(TOTAL, DRAWS)[0].tolist()
    assert guess_by_plateaus(np.zeros((2, 3)), np.zeros((2, 3))).tolist() == [[0.5] * 3] * 2


def test_a_run_is_guessed_the_same_alone_and_beside_others():
    rng = np.random.default_rng(5)
    draws = rng.integers(0, 6, (20, 3 * LONGEST)) * (rng.random((20, 3 * LONGEST)) < rng.random((20, 1)))
    total = np.floor(draws * rng.random(draws.shape))
    together = guess_by_plateaus(total, draws.astype(float))
    alone = [guess_by_plateaus(total[i : i + 1], draws[i : i + 1].astype(float))[0].tolist() for i in range(20)]
    assert together.tolist() == alone
