"""y of a judge is a mean with an interval; a single verdict is not."""

import pytest

from butfor.attribution.judged import judged_outcome
from butfor.attribution.margins import Margins
from butfor.attribution.profile import ProfileSampler
from butfor.attribution.sampling import DrawResult
from butfor.errors import InputError


def test_it_is_the_mean_at_a_fifth_of_alpha():
    y = judged_outcome([1.0] * 58 + [0.0] * 6, margins=Margins(alpha=0.1))
    assert y.point == pytest.approx(58 / 64)
    assert y.alpha == pytest.approx(0.02)
    assert any("judge's score" in assumption for assumption in y.assumptions)


def test_without_verdicts_there_is_none():
    with pytest.raises(InputError, match="verdicts"):
        judged_outcome([])


def test_the_answer_counts_its_level():
    sampler = ProfileSampler(steps=2, factual=judged_outcome([1.0] * 60 + [0.0] * 4), draws=128)
    while draws := sampler.propose():
        sampler.enter(
            [DrawResult(outcome=float(draw.arm.key != "resample:0" or draw.ordinal % 4 == 0)) for draw in draws]
        )
    answer = sampler.answer()
    assert answer.decisive == 0
    assert "94%" in answer.sentence


def test_one_graded_outcome_makes_every_arm_graded():
    sampler = ProfileSampler(steps=2, factual=1.0, draws=8)
    draws = sampler.propose()
    sampler.enter([DrawResult(outcome=1.0 if draw.arm.key == "resample:0" else 0.5) for draw in draws])
    methods = {step.v.to_json()["method"] for step in sampler.answer().steps}
    assert methods == {"betting"}
