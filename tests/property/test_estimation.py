"""What every estimator must do to a changed unit of measurement, and to a changed order of rows."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from butfor.estimation import Cells, Columns, Contrast, EffectEstimate, Randomised, estimate
from butfor.graphs import Graph
from butfor.identification import Hedge, Query, find_instruments, identify

QUERY = Query.effect("t", "y")


def proof_for(**graph):
    proof = identify(Graph.of(**graph), QUERY)
    assert not isinstance(proof, Hedge)
    return proof


CONFOUNDED = proof_for(directed=[("a", "t"), ("a", "y"), ("t", "y")])
CURVED = proof_for(directed=[("x", "t"), ("x", "y"), ("t", "y")])
FRONT_DOOR = proof_for(directed=[("t", "m"), ("m", "y")], bidirected=[("t", "y")])
INSTRUMENT = find_instruments(
    Graph.of(directed=[("i", "t"), ("t", "y")], bidirected=[("t", "y")]), QUERY, assumption="linear_effect"
)[0]
ASKED = [
    ("trial", Randomised(), None),
    ("trial, adjusted", Randomised(adjust_for=("x",)), None),
    ("saturated", CONFOUNDED, None),
    ("series", CURVED, None),
    ("linear", CURVED, "linear"),
    ("ols", CURVED, "ols"),
    ("ols_as_published", CURVED, "ols_as_published"),
    ("front-door", FRONT_DOOR, None),
    ("instrument", INSTRUMENT, None),
]


def table(seed, n=600):
    rng = np.random.default_rng(seed)
    a, i, x = rng.integers(0, 3, n), rng.integers(0, 2, n), rng.uniform(-1, 1, n)
    t = (rng.random(n) < 0.2 + 0.1 * a + 0.35 * i).astype(float)
    m = (rng.random(n) < 0.25 + 0.5 * t).astype(float)
    return {"t": t, "y": t + a + np.abs(x) + m + rng.normal(size=n), "a": a, "i": i, "x": x, "m": m}


def answered(rows, proof, method):
    columns = Columns.of(rows, treatment="t", outcome="y")
    answer = estimate(QUERY, proof, columns, method=method, target=Contrast())
    assert isinstance(answer, EffectEstimate), answer
    assert answer.upper is not None
    assert answer.lower <= answer.point <= answer.upper
    return answer.point, answer.lower, answer.upper


@pytest.mark.parametrize(("proof", "method"), [each[1:] for each in ASKED], ids=[each[0] for each in ASKED])
@settings(max_examples=8, deadline=None)
@given(seed=st.integers(0, 10_000), shift=st.floats(-50, 50), scale=st.floats(0.05, 20))
def test_another_unit_of_measurement_is_the_same_answer(proof, method, seed, shift, scale):
    rows = table(seed)
    point, lower, upper = answered(rows, proof, method)
    changed = answered(rows | {"y": shift + scale * rows["y"]}, proof, method)
    # Cells are fixed-point numbers: a millionth of the outcome's range is their grain.
    tight = pytest.approx([point, lower, upper], rel=1e-3, abs=1e-3 * (upper - lower) + 1e-4)
    assert [value / scale for value in changed] == tight
    mirrored = answered(rows | {"y": -rows["y"]}, proof, method)
    assert [-mirrored[0], -mirrored[2], -mirrored[1]] == pytest.approx([point, lower, upper], rel=1e-6, abs=1e-6)


@given(seed=st.integers(0, 10_000))
@settings(max_examples=25, deadline=None)
def test_cells_added_up_are_cells_counted_coarsely(seed):
    columns = Columns.of(table(seed, n=300), treatment="t", outcome="y")
    fine = Cells.of(columns, ["a", "i", "m"])
    assert fine.over(["m", "a"]).to_json() == Cells.of(columns, ["m", "a"]).to_json()
    assert Cells.from_json(fine.to_json()).to_json() == fine.to_json()
