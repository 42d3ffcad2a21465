"""A judge's bias is corrected from labels, and only from labels."""

import pytest

from butfor.confidence import (
    Estimate,
    LabelledSet,
    Undefined,
    clopper_pearson,
    effect_without_bias,
    known,
    without_bias,
)
from butfor.errors import InputError

GOOD_JUDGE = LabelledSet(bad=2000, bad_found=1800, good=2000, good_found=1600)


def test_rogan_gladen_by_hand():
    # se = .9, sp = .8, P(bad) = .3: the judge says bad in .9·.3 + .2·.7 = .41 of the runs.
    truth = without_bias(known(0.41), GOOD_JUDGE)
    assert isinstance(truth, Estimate)
    assert truth.point == pytest.approx(0.3)
    assert truth.contains(0.3)
    assert truth.width < 0.12
    assert any("labelled" in assumption for assumption in truth.assumptions)


def test_an_effect_is_stretched():
    effect = effect_without_bias(known(0.35), GOOD_JUDGE)
    assert isinstance(effect, Estimate)
    assert effect.point == pytest.approx(0.5)


def test_levels_add_up():
    truth = without_bias(clopper_pearson(41, 100, alpha=0.03), GOOD_JUDGE, alpha=0.02)
    assert isinstance(truth, Estimate)
    assert truth.alpha == pytest.approx(0.05)


def test_a_judge_that_is_not_shown_to_be_better_than_chance_corrects_nothing():
    assert isinstance(without_bias(known(0.5), LabelledSet(bad=10, bad_found=6, good=10, good_found=6)), Undefined)
    assert isinstance(without_bias(known(0.5), LabelledSet(bad=0, bad_found=0, good=10, good_found=9)), Undefined)


def test_more_found_than_there_were_is_refused():
    with pytest.raises(InputError):
        LabelledSet(bad=5, bad_found=6, good=5, good_found=5)
