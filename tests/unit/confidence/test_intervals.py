"""Intervals: values, edges, missing draws, refusals, JSON."""

import math

import pytest
from scipy.stats import binomtest

from butfor.confidence import (
    Estimate,
    Undefined,
    betting_interval,
    bounded_mean,
    bounded_sequence,
    clopper_pearson,
    difference,
    hoeffding_bentkus,
    holm,
    interval_from_json,
    known,
    newcombe,
    wilson,
)
from butfor.errors import InputError


def sure(interval):
    assert isinstance(interval, Estimate)
    return interval


EVERY = [betting_interval, bounded_mean, bounded_sequence, hoeffding_bentkus]


def test_clopper_pearson_agrees_with_scipy():
    for n in (1, 7, 64):
        for ones in range(n + 1):
            theirs = binomtest(ones, n).proportion_ci(0.95, method="exact")
            ours = sure(clopper_pearson(ones, n))
            assert (ours.lower, ours.upper) == pytest.approx((theirs.low, theirs.high), abs=1e-12)


def test_wilson_agrees_with_scipy():
    theirs = binomtest(3, 17).proportion_ci(0.9, method="wilson")
    ours = sure(wilson(3, 17, alpha=0.1))
    assert (ours.lower, ours.upper) == pytest.approx((theirs.low, theirs.high), abs=1e-12)
    assert "approximate" in ours.method


def test_missing_draws_widen_to_both_sides():
    full, gap = sure(clopper_pearson(5, 10)), sure(clopper_pearson(5, 10, missing=3))
    assert gap.lower == full.lower
    assert gap.upper == sure(clopper_pearson(8, 10)).upper
    for method in EVERY:
        certain, unsure = sure(method([1.0, 0.0] * 10)), sure(method([1.0, 0.0] * 8 + [None] * 4))
        assert unsure.lower <= certain.lower
        assert unsure.upper >= certain.upper


@pytest.mark.parametrize("method", EVERY)
def test_all_draws_missing_says_nothing(method):
    assert (method([None] * 12).lower, method([None] * 12).upper) == (0.0, 1.0)


@pytest.mark.parametrize("method", EVERY)
def test_no_draws_is_undefined(method):
    assert isinstance(method([]), Undefined)


@pytest.mark.parametrize("method", EVERY)
def test_mirrored_draws_have_mirrored_bounds(method):
    values = [0.0, 0.25, 1.0, 0.5, 0.75, 1.0, 0.9] * 4
    one, other = method(values), method([1.0 - x for x in values])
    assert (one.lower, one.upper) == pytest.approx((1.0 - other.upper, 1.0 - other.lower), abs=1e-9)


@pytest.mark.parametrize("method", EVERY)
def test_bounds_shrink_around_the_mean(method):
    widths = [method([0.3, 0.5, 0.4, 0.2] * times).width for times in (2, 8, 64)]
    assert widths == sorted(widths, reverse=True)
    assert widths[-1] < 0.25


def test_impossible_counts_are_refused():
    with pytest.raises(InputError):
        clopper_pearson(8, 10, missing=3)
    with pytest.raises(InputError):
        betting_interval([0.5, 1.5])


def test_differences_use_both_bounds():
    a, b = sure(clopper_pearson(60, 64)), sure(clopper_pearson(20, 64))
    gap = sure(difference(a, b))
    assert (gap.lower, gap.upper) == (a.lower - b.upper, a.upper - b.lower)
    assert gap.alpha == pytest.approx(0.1)
    assert isinstance(difference(a, Undefined(reason="x")), Undefined)
    assert sure(newcombe(wilson(60, 64), wilson(20, 64))).width < gap.width


def test_holm_by_hand():
    assert holm([0.01, 0.04, 0.03]) == pytest.approx([0.03, 0.06, 0.06])
    assert holm([0.9, 0.8]) == [1.0, 1.0]
    assert holm([]) == []


def test_json_round_trip():
    for interval in (clopper_pearson(3, 9), known(1.0), Undefined(reason="no draws")):
        assert interval_from_json(interval.to_json()) == interval


def test_known_has_no_width():
    value = known(0.4)
    assert isinstance(value, Estimate)
    assert (value.width, value.alpha) == (0.0, 0.0)
    assert math.isclose(value.point, 0.4)
