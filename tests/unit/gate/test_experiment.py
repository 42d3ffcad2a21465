"""The trial that an EXPERIMENT verdict asks for, and the memory between decisions."""

import dataclasses

import numpy as np
import pytest

from butfor.estimation import Cells
from butfor.gate import PAPER, Sample
from butfor.gate.decide import decide
from butfor.gate.experiment import request_for, size_of
from butfor.gate.warm import Warm
from butfor.identification import Query
from tests.unit.gate.worlds import BOW, GRAPH, QUERY, RULES, TRIAL, columns, inputs, rows

TRYING = dataclasses.replace(RULES, trial=TRIAL)


def asked(**changes):
    made = inputs(**changes)
    return request_for(decide(made), made, decision_id="d", entry="e", tool="t", call="c")


def test_only_an_experiment_asks_for_a_trial():
    assert asked() is None
    assert asked(graph=BOW) is None
    found = asked(graph=BOW, rules=TRYING)
    assert found is not None
    assert found.blocked_by == ("T <-> Y",)
    assert any(each.startswith("Measure") for each in found.remedies)


def test_the_size_keeps_its_power_by_simulation():
    rng, effect, draws = np.random.default_rng(1), TRIAL.effect + RULES.tau_u, 2000
    n = size_of(TRYING, inputs(rules=TRYING)).per_arm
    # At the largest spread that a 0/1 outcome has; the normal bound that the calculation is about.
    high, low = (rng.binomial(n, 0.5 + sign * effect / 2, draws) / n for sign in (1, -1))
    error = np.sqrt((high * (1 - high) + low * (1 - low)) / n)
    power = float(((high - low - 1.6449 * error) > RULES.tau_u).mean())
    assert 0.77 < power < 0.86


@pytest.mark.parametrize("bound_on", ["contrast", "level"])
def test_the_size_follows_effect_and_level(bound_on):
    rules = dataclasses.replace(TRYING, bound_on=bound_on)
    sizes = [size_of(rules, inputs(rules=rules, alpha=alpha)).per_arm for alpha in (0.05, 0.01, 0.001)]
    assert sizes == sorted(sizes)
    assert len(set(sizes)) == 3
    finer = dataclasses.replace(rules, trial=dataclasses.replace(TRIAL, effect=TRIAL.effect / 2))
    # Up to the whole unit that each of the two is rounded up to.
    assert size_of(finer, inputs(rules=finer)).per_arm == pytest.approx(4 * sizes[0], abs=4)


def test_a_trial_beyond_the_cap_says_so():
    small = dataclasses.replace(TRYING, trial=dataclasses.replace(TRIAL, most_units=10))
    assert not size_of(small, inputs(rules=small)).within_cap


def test_without_a_range_the_spread_comes_from_the_evidence():
    rules = dataclasses.replace(TRYING, outcome_range=None)
    from_rows = size_of(rules, inputs(rules=rules))
    from_cells = size_of(rules, inputs(rules=rules, sample=Sample(data=Cells.of(columns(), ["Z"]))))
    assert from_rows.per_arm == pytest.approx(from_cells.per_arm, abs=1)
    assert "in the evidence" in from_rows.words


def test_what_is_remembered_is_what_would_be_found():
    warm = Warm()
    one = inputs(sample=Sample(data=columns(), digest="one"))
    assert warm.measured(one) is warm.measured(one)
    for change in (
        {"alpha": 0.01},
        {"rules": dataclasses.replace(RULES, preset=PAPER)},
        {"sample": Sample(data=columns(rows(seed=2)), digest="two")},
        {"graph": BOW},
    ):
        other = dataclasses.replace(one, **change)
        assert warm.measured(other) is not warm.measured(one)
    assert warm.answer(GRAPH, QUERY) == one.answer
    assert warm.answer(GRAPH, Query.effect("T", "Y", within="Z")) != one.answer


def test_the_memory_ends_somewhere():
    warm = Warm(most=2)
    for name in "abc":
        warm.keep(name, name.upper())
    warm.remember("d", list)
    assert [warm.peek(name) for name in "abc"] == [None, None, "C"]


def test_what_raised_is_not_remembered():
    warm = Warm()
    with pytest.raises(ZeroDivisionError):
        warm.remember("x", lambda: 1 / 0)
    assert warm.remember("x", lambda: 2) == 2
