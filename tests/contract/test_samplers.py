"""What every method that buys rollouts must keep, whoever drives it."""

import itertools
import json
from typing import Any

import pytest

from butfor.attribution.profile import ProfileSampler
from butfor.attribution.profile_result import Profile
from butfor.attribution.responsibility import ResponsibilitySampler
from butfor.attribution.responsibility_result import Responsibility
from butfor.attribution.sampling import (
    Arm,
    Coalition,
    Draw,
    DrawResult,
    Proposal,
    ResampleFrom,
    arm_from_json,
    arm_to_json,
)
from butfor.attribution.search import SearchSampler
from butfor.attribution.search_result import Search
from butfor.attribution.shapley import PooledShapley
from butfor.attribution.shapley_orders import PublishedShapley, StratifiedShapley
from butfor.attribution.shapley_result import Shapley
from butfor.benchmarks.planted import uniforms
from butfor.errors import InputError

METHODS: dict[str, tuple[Any, Any]] = {
    "profile": (lambda: ProfileSampler(steps=4, factual=1.0, draws=12), Profile),
    "search": (lambda: SearchSampler(steps=4, factual=1.0), Search),
    "search, limited help": (lambda: SearchSampler(steps=4, factual=1.0, max_help=0.05), Search),
    "published Shapley": (lambda: PublishedShapley(steps=4, orders=6), Shapley),
    "stratified Shapley": (lambda: StratifiedShapley(steps=4, blocks=4), Shapley),
    "pooled Shapley": (lambda: PooledShapley(steps=4, rollouts=200), Shapley),
    "responsibility": (lambda: ResponsibilitySampler(steps=4, proposals={0: 2, 1: 1}, draws=8), Responsibility),
}
every_method = pytest.mark.parametrize("method", METHODS)


def results(draws, *, missing=0.0):
    """Step 2 decides: half of the rollouts that decide it again are saved."""
    import numpy as np

    ids = np.array([draw.index for draw in draws], dtype=np.uint64)
    saved, gone = uniforms(5, ids, 0) < 0.5, uniforms(5, ids, 1) < missing
    return [result_of(draw, bool(s), bool(g)) for draw, s, g in zip(draws, saved, gone, strict=True)]


def result_of(draw, saved, gone):
    match draw.arm:
        case ResampleFrom(step=step):
            open_still = step <= 2
        case Coalition(held=held):
            open_still = 2 not in held
        case Proposal(step=step):
            open_still = step <= 2
    return DrawResult(outcome=None if gone else float(not (open_still and saved)), policy_calls=1)


def finish(sampler, **how):
    while draws := sampler.propose():
        sampler.enter(results(draws, **how))
    return sampler.answer()


@every_method
def test_it_ends_and_answers(method):
    make, _ = METHODS[method]
    sampler = make()
    answer = finish(sampler)
    assert sampler.propose() == ()
    assert answer.rollouts > 0
    assert answer.policy_calls == answer.rollouts


@every_method
def test_an_answer_is_there_at_any_time(method):
    make, _ = METHODS[method]
    sampler = make()
    sampler.answer()
    sampler.enter(results(sampler.propose()))
    sampler.answer()


@every_method
def test_proposing_twice_gives_the_same_batch(method):
    make, _ = METHODS[method]
    sampler = make()
    assert sampler.propose() == sampler.propose()


@every_method
def test_it_depends_on_entered_results_alone(method):
    make, _ = METHODS[method]
    assert finish(make()) == finish(make())


@every_method
def test_no_draw_is_bought_twice(method):
    make, _ = METHODS[method]
    sampler, seen = make(), []
    while draws := sampler.propose():
        seen += draws
        sampler.enter(results(draws))
    assert len({draw.index for draw in seen}) == len(seen)
    for arm, of_arm in itertools.groupby(sorted(seen, key=lambda d: (d.arm.key, d.ordinal)), key=lambda d: d.arm.key):
        assert [draw.ordinal for draw in of_arm] == list(range(sum(d.arm.key == arm for d in seen)))


@every_method
@pytest.mark.parametrize("share", [0, 1, 5])
def test_a_stopped_budget_leaves_a_valid_answer(method, share):
    make, _ = METHODS[method]
    sampler = make()
    draws = sampler.propose()
    sampler.enter(results(draws)[: min(share, len(draws) - 1)])
    assert sampler.propose() == ()
    assert sampler.answer().rollouts == min(share, len(draws) - 1)


@every_method
def test_more_results_than_draws_are_refused(method):
    make, _ = METHODS[method]
    sampler = make()
    too_many = [*results(sampler.propose()), DrawResult(outcome=1.0)]
    with pytest.raises(InputError, match="results were entered"):
        sampler.enter(too_many)


@every_method
@pytest.mark.parametrize("missing", [0.0, 0.3, 1.0])
def test_the_answer_survives_json(method, missing):
    make, kind = METHODS[method]
    answer = finish(make(), missing=missing)
    assert kind.from_json(json.loads(json.dumps(answer.to_json(), allow_nan=False))) == answer


def test_arms_survive_json():
    for arm in (ResampleFrom(step=3), Coalition(held=frozenset({2, 0})), Proposal(step=1, number=4)):
        assert arm_from_json(json.loads(json.dumps(arm_to_json(arm)))) == arm


def test_arms_never_share_a_draw_id():
    arms: list[Arm] = [ResampleFrom(step=k) for k in range(20)]
    arms += [Proposal(step=k, number=j) for k in range(5) for j in range(3)]
    arms += [Coalition(held=frozenset(range(k))) for k in range(20)]
    ids = [Draw(arm=arm, ordinal=i).index for arm in arms for i in range(50)]
    assert len(set(ids)) == len(ids)
    assert all(0 <= i < 2**63 for i in ids)


@pytest.mark.parametrize("outcome", [1.5, -0.1, float("nan")])
def test_an_outcome_outside_is_refused(outcome):
    with pytest.raises(InputError, match="number in"):
        DrawResult(outcome=outcome)
