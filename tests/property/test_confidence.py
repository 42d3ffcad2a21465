"""What holds for every input: fair bets, ordered bounds, JSON that loses nothing."""

import numpy as np
from hypothesis import assume, given
from hypothesis import strategies as st

from butfor.confidence import (
    Estimate,
    bets_against,
    betting_interval,
    bounded_mean,
    bounded_sequence,
    closed_e_values,
    hoeffding_bentkus,
    holm,
    interval_from_json,
)

shares = st.floats(0.0, 1.0)
draws = st.lists(st.one_of(st.none(), shares, st.sampled_from([0.0, 1.0])), min_size=1, max_size=40)


@st.composite
def statements(draw):
    """Σ c·w ≤ t with guesses, draw counts and means that make it true."""
    arms = draw(st.integers(1, 5))
    coefficients = draw(st.lists(st.sampled_from([-2.0, -1.0, 0.0, 1.0, 2.0]), min_size=arms, max_size=arms))
    guesses = draw(st.lists(shares, min_size=arms, max_size=arms))
    counts = draw(st.lists(st.integers(1, 12), min_size=arms, max_size=arms))
    means = draw(st.lists(shares, min_size=arms, max_size=arms))
    limit = float(np.dot(coefficients, means)) + draw(st.floats(0.0, 1.0))
    return np.array([guesses]), np.array([coefficients]), np.array([counts], dtype=float), np.array([limit]), means


@given(statements())
def test_a_batch_is_never_a_favourable_game(statement):
    guesses, coefficients, counts, limit, means = statement
    bets, centres = bets_against(guesses, coefficients, counts, limit)
    factor = np.prod((1.0 + bets * (np.array([means]) - centres)) ** counts)
    assert factor <= 1.0 + 1e-9
    # No draw can cost more than everything.
    assert np.all(1.0 - bets * centres >= 0.0)
    assert np.all(1.0 + bets * (1.0 - centres) >= 0.0)


@given(statements())
def test_a_guess_that_agrees_places_no_bet(statement):
    guesses, coefficients, counts, limit, _ = statement
    assume(float((coefficients * np.clip(guesses, 1e-6, 1 - 1e-6)).sum()) <= limit[0])
    bets, _ = bets_against(guesses, coefficients, counts, limit)
    assert np.all(bets == 0.0)


@given(draws, st.sampled_from([0.2, 0.05, 0.001]))
def test_bounds_are_ordered_and_survive_json(values, alpha):
    for method in (bounded_mean, betting_interval, hoeffding_bentkus, bounded_sequence):
        interval = method(values, alpha=alpha)
        assert isinstance(interval, Estimate)
        assert 0.0 <= interval.lower <= interval.upper <= 1.0
        assert interval.n == len(values)
        assert interval_from_json(interval.to_json()) == interval


@given(draws)
def test_a_smaller_alpha_never_narrows(values):
    for method in (bounded_mean, hoeffding_bentkus, bounded_sequence):
        loose, strict = method(values, alpha=0.2), method(values, alpha=0.01)
        assert isinstance(loose, Estimate)
        assert isinstance(strict, Estimate)
        assert strict.lower <= loose.lower + 1e-9
        assert strict.upper >= loose.upper - 1e-9


@given(st.lists(shares, max_size=12))
def test_adjusting_never_helps(p_values):
    adjusted = holm(p_values)
    assert all(after >= before for before, after in zip(p_values, adjusted, strict=True))
    e_values = [1.0 / max(p, 1e-6) for p in p_values]
    assert all(after <= before for before, after in zip(e_values, closed_e_values(e_values), strict=True))
