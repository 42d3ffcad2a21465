import numpy as np
import pytest
from scipy import stats

from butfor.errors import InputError
from butfor.estimation import (
    Columns,
    EffectEstimate,
    Insufficient,
    Randomised,
    anytime_asymptotic,
    expected_loss,
    harm,
)
from butfor.estimation.questions import Contrast
from butfor.estimation.sequential_scores import frozen_scores
from butfor.graphs import Graph
from butfor.identification import Proof, Query, identify

QUERY = Query.effect("t", "y")


def table(n=2000, seed=1):
    rng = np.random.default_rng(seed)
    a = rng.integers(0, 2, n)
    t = (rng.random(n) < 0.3 + 0.3 * a).astype(int)
    return {"t": t, "a": a, "y": t + a + rng.normal(size=n)}


def proof():
    found = identify(Graph.of(directed=[("a", "t"), ("a", "y"), ("t", "y")]), QUERY)
    assert isinstance(found, Proof)
    return found


def test_the_chance_of_harm_is_bounded_from_above():
    columns = Columns.of(table(), treatment="t", outcome="y")
    answer = harm(QUERY, proof(), columns, at=1, below=-0.5)
    assert isinstance(answer, EffectEstimate)
    truth = 0.5 * stats.norm.cdf(-1.5) + 0.5 * stats.norm.cdf(-2.5)
    assert answer.upper is not None
    assert answer.point < answer.upper
    assert truth < answer.upper < truth + 0.06


def test_harm_that_was_never_seen_still_has_a_bound():
    columns = Columns.of(table(), treatment="t", outcome="y")
    for found in (proof(), Randomised()):
        answer = harm(QUERY, found, columns, at=1, below=-99.0)
        assert isinstance(answer, EffectEstimate)
        assert answer.upper is not None
        assert (answer.point, answer.lower) == (0.0, 0.0)
        # Three in n, where n is at most the units of the arm.
        assert 2.9 / (columns.t == 1).sum() < answer.upper < 0.01


def test_the_expected_loss_is_that_of_a_table():
    rows = table() | {"y": np.random.default_rng(3).integers(0, 3, 2000)}
    columns = Columns.of(rows, treatment="t", outcome="y")
    answer = expected_loss(QUERY, Randomised(), columns, at=1, loss={0.0: 0.0, 1.0: 0.0, 2.0: 6.0})
    assert isinstance(answer, EffectEstimate)
    assert answer.point == pytest.approx(6 * (columns.y[columns.t == 1] == 2).mean())
    with pytest.raises(InputError, match="outcome 2 has no loss"):
        expected_loss(QUERY, Randomised(), columns, at=1, loss={0.0: 0.0, 1.0: 0.0})


def test_without_a_table_the_loss_is_the_outcome_missed():
    columns = Columns.of(table(), treatment="t", outcome="y")
    answer = expected_loss(QUERY, proof(), columns, at=1)
    assert isinstance(answer, EffectEstimate)
    assert answer.point == pytest.approx(-1.5, abs=0.15)


def test_an_asymptotic_sequence_says_that_it_is_one_and_starts_after_a_burn_in():
    columns = Columns.of(table(4000), treatment="t", outcome="y")
    answer = anytime_asymptotic(columns, target=Contrast(), adjust_for=["a"])
    assert isinstance(answer, EffectEstimate)
    assert answer.guarantee == "anytime_asymptotic"
    assert answer.lower < 1.0 < (answer.upper or 0.0)
    rare = Columns.of(table(400) | {"y": np.arange(400) < 20}, treatment="t", outcome="y")
    early = anytime_asymptotic(rare, target=Contrast(), adjust_for=["a"])
    assert isinstance(early, Insufficient)
    assert early.reason_code == "insufficient_evidence"


def test_scores_once_computed_stay():
    rng = np.random.default_rng(5)
    basis = np.column_stack([np.ones(900), rng.normal(size=900)])
    y, treated = rng.normal(size=900), rng.random(900) < 0.5
    changed = np.where(np.arange(900) < 600, y, 100.0)
    first, _ = frozen_scores(basis, y, [treated, ~treated], None)
    second, _ = frozen_scores(basis, changed, [treated, ~treated], None)
    assert np.isfinite(first[200:600]).all()
    np.testing.assert_array_equal(first[:600], second[:600])
