"""Misuse is one sentence; answers that are no step are ordinary."""

import pytest

from butfor.attribution.answers import AnswerKind, Role
from butfor.attribution.margins import Margins
from butfor.attribution.profile import ProfileSampler
from butfor.attribution.responsibility import ResponsibilitySampler
from butfor.attribution.sampling import DrawResult
from butfor.attribution.search import SearchSampler
from butfor.attribution.shapley import PooledShapley
from butfor.errors import InputError


@pytest.mark.parametrize(
    "make",
    [
        lambda: ProfileSampler(steps=0, factual=1.0),
        lambda: ProfileSampler(steps=3, factual=1.0, draws=0),
        lambda: ProfileSampler(steps=3, factual=1.5),
        lambda: ProfileSampler(steps=3, factual=float("nan")),
        lambda: SearchSampler(steps=0, factual=1.0),
        lambda: SearchSampler(steps=3, factual=1.0, max_help=-0.1),
        lambda: SearchSampler(steps=3, factual=1.0, policy_calls=0),
        lambda: PooledShapley(steps=11, rollouts=10**6),
        lambda: PooledShapley(steps=3, rollouts=10),
        lambda: ResponsibilitySampler(steps=3, proposals={2: 1}),
        lambda: Margins(alpha=0.0),
    ],
)
def test_misuse_is_refused(make):
    with pytest.raises(InputError):
        make()


def answered(sampler, result):
    while draws := sampler.propose():
        sampler.enter([result] * len(draws))
    return sampler.answer()


@pytest.mark.parametrize("method", [ProfileSampler, SearchSampler])
def test_a_run_without_outcomes_is_not_replayable_and_names_the_tool(method):
    answer = answered(method(steps=3, factual=1.0), DrawResult(outcome=None, unsupported="refund"))
    assert answer.kind is AnswerKind.NOT_REPLAYABLE
    assert "'refund'" in answer.sentence
    assert answer.unsupported == {"refund": answer.rollouts}


def test_a_search_without_outcomes_stops_early():
    assert answered(SearchSampler(steps=50, factual=1.0), DrawResult(outcome=None)).rollouts < 250


@pytest.mark.parametrize("method", [ProfileSampler, SearchSampler])
def test_a_refused_step_is_never_drawn(method):
    sampler = method(steps=4, factual=1.0, refused={1: "request missing"})
    answer = answered(sampler, DrawResult(outcome=1.0))
    assert answer.steps[1].n == 0
    assert answer.steps[1].v.to_json() == {"undefined": "request missing"}
    assert 1 in answer.candidates


def test_a_refused_step_has_that_role():
    answer = answered(ProfileSampler(steps=4, factual=1.0, refused={1: "request missing"}), DrawResult(outcome=1.0))
    assert answer.steps[1].role is Role.NOT_REPLAYABLE


def test_one_step_is_not_decisive_by_default():
    answer = answered(ProfileSampler(steps=1, factual=1.0), DrawResult(outcome=1.0))
    assert answer.kind is AnswerKind.ALWAYS_FAILS
    answer = answered(SearchSampler(steps=1, factual=1.0), DrawResult(outcome=0.0))
    assert answer.kind is AnswerKind.DECISIVE


def test_a_run_that_did_not_fail_has_no_decisive_step():
    answer = answered(ProfileSampler(steps=3, factual=0.0), DrawResult(outcome=0.0))
    assert answer.kind in (AnswerKind.NO_STEP_DECISIVE, AnswerKind.ALWAYS_FAILS)
