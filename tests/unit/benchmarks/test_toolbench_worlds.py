"""The actions that the toolbench decides about: what was fixed before any method was run."""

import math
from collections import Counter

import numpy as np
import pytest

from butfor.benchmarks.toolbench import FAMILIES, Draw, instances, utility
from butfor.benchmarks.toolbench.families import ROWS
from butfor.benchmarks.toolbench.surrogate import AGGREGATES, aggregates, worlds
from butfor.estimation import Columns, EffectEstimate, Method, Randomised, estimate
from butfor.identification import Adjustment, FrontDoor, Hedge, Proof, Query, find_instruments, identify
from butfor.noise import numpy_generator

ROOT = 20261130


def test_there_are_1890_actions_in_the_published_product():
    listed = instances(ROOT)
    assert len(listed) == 1890
    assert Counter((each.seed, each.family.name, each.regime) for each in listed) == {
        (seed, family.name, regime): count
        for seed in range(7)
        for family in FAMILIES
        for regime, count in (("moderate", 25), ("adversarial", 20))
    }


def test_a_fifth_of_the_effects_is_within_one_standard_error_in_every_family_and_regime():
    listed = instances(ROOT)
    for family in FAMILIES:
        for regime in ("moderate", "adversarial"):
            part = [each for each in listed if (each.family, each.regime) == (family, regime)]
            near = [abs(each.effect) <= family.standard_error(each.push, 0.0) for each in part]
            assert sum(near) * 5 == len(part)


def test_the_same_root_draws_the_same_tables():
    one, other = instances(ROOT, seeds=[3])[7], instances(ROOT, seeds=[3])[7]
    assert one.effect == other.effect
    assert all(np.array_equal(one.log()[name], other.log()[name]) for name in one.log())
    assert not np.array_equal(one.log()[one.family.outcome], one.trial()[one.family.outcome])


@pytest.mark.parametrize("family", FAMILIES, ids=lambda family: family.name)
def test_the_graph_identifies_by_the_route_that_the_family_names(family):
    query = Query.effect(family.treatment, family.outcome)
    answer = identify(family.graph, query)
    instruments = find_instruments(family.graph, query, assumption="linear_effect")
    kind = {"back-door": Adjustment, "front-door": FrontDoor}.get(family.route)
    if kind is not None:
        assert isinstance(answer, Proof)
        assert isinstance(answer.argument, kind)
    else:
        assert isinstance(answer, Hedge)
        assert bool(instruments) == (family.route == "instrument")


@pytest.mark.parametrize("family", FAMILIES, ids=lambda family: family.name)
def test_tables_show_the_naive_contrast_the_effect_and_the_spread_that_the_family_states(family):
    push, effect, noise = 3.5, 2.0, numpy_generator("worlds", family.name)
    whole = Draw(effect=effect, push=push, n=400_000, randomised=False, noise=noise)
    log, trial = family.rows(whole), family.rows(Draw(**{**vars(whole), "randomised": True}))
    for table, expected in ((log, effect + push * family.pull), (trial, effect)):
        t, y = table[family.treatment], table[family.outcome]
        assert abs(y[t == 1].mean() - y[t == 0].mean() - expected) < 0.15
    small = [_deciding_estimate(family, effect, push, noise) for _ in range(300)]
    assert abs(np.std(small) / family.standard_error(push, effect) - 1.0) < 0.2
    assert abs(np.mean(small) - effect) < 5 * np.std(small) / math.sqrt(300)


def _deciding_estimate(family, effect, push, noise):
    randomised = not family.identified
    rows = family.rows(Draw(effect=effect, push=push, n=ROWS, randomised=randomised, noise=noise))
    columns = Columns.of(rows, treatment=family.treatment, outcome=family.outcome)
    query = Query.effect(family.treatment, family.outcome)
    # Least squares where all is linear: a refusal for overlap would select among the tables.
    method: Method | None = "ols" if family.name == "database indexing" else None
    answer = estimate(query, Randomised() if randomised else _proof(family, query), columns, method=method)
    assert isinstance(answer, EffectEstimate)
    return answer.point


def _proof(family, query):
    found = identify(family.graph, query)
    return found if isinstance(found, Proof) else find_instruments(family.graph, query, assumption="linear_effect")[0]


def test_utility_is_the_published_one():
    effect = np.array([2.0, -2.0, 2.0, -2.0, 2.0])
    executed = np.array([True, True, False, False, True])
    tried = np.array([False, False, False, False, True])
    assert utility(effect, executed, tried).tolist() == [2.0, -2.0, -0.6, 2.0, 1.95]


def test_the_surrogate_gives_its_aggregates_within_monte_carlo_error():
    found = aggregates(worlds(4000, ROOT))
    for name, (derived, _) in AGGREGATES.items():
        value, error = found[name]
        # Half a unit of the derivation's last digit, and a deviation that happens once in a million.
        assert abs(value - derived) <= 0.005 + 4.9 * error + 1e-4, name
