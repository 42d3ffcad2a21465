"""Our sequences agree with an independent implementation."""

import numpy as np
import pytest
import ville

from butfor.confidence import Estimate, asymptotic_sequence, betting_interval, bounded_sequence
from butfor.noise import numpy_generator


def last(sequence, values):
    lower, upper = sequence.fit(np.asarray(values)).interval()
    return float(lower), float(upper)


@pytest.mark.parametrize("p", [0.02, 0.4, 0.97])
def test_beta_mixture(p):
    values = (numpy_generator("ville", str(p)).random(150) < p).astype(float)
    ours = bounded_sequence(values.tolist())
    assert isinstance(ours, Estimate)
    theirs = last(ville.BernoulliCS(alpha=0.05, prior=(0.5, 0.5), intersect=False), values)
    assert (ours.lower, ours.upper) == pytest.approx(theirs, abs=1e-6)


@pytest.mark.parametrize("law", ["uniform", "beta"])
def test_betting(law):
    rng = numpy_generator("ville", law)
    values = rng.random(120) if law == "uniform" else rng.beta(5, 1, 120)
    ours = betting_interval(values.tolist())
    assert isinstance(ours, Estimate)
    theirs = last(ville.BettingCS(alpha=0.05, grid=1001), values)
    # Theirs are widened to a neighbouring grid point, ours are exact.
    assert theirs[0] <= ours.lower
    assert ours.upper <= theirs[1]
    assert (ours.lower, ours.upper) == pytest.approx(theirs, abs=2.5 / 1000)


def test_asymptotic():
    values = numpy_generator("ville", "normal").normal(3.0, 2.0, 600)
    ours = asymptotic_sequence(values.tolist(), tuned_for=500)
    assert isinstance(ours, Estimate)
    lower, upper = last(ville.AsymptoticCS(alpha=0.05, t_opt=500), values)
    assert ours.point == pytest.approx((lower + upper) / 2)
    assert ours.width == pytest.approx(upper - lower, rel=0.01)
