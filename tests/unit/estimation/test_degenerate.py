"""What makes other libraries say yes: no input here may give a bound above 0, in any orientation."""

from typing import Any

import numpy as np
import pytest

from butfor.errors import InputError
from butfor.estimation import Columns, Contrast, EffectEstimate, Insufficient, Randomised, estimate
from butfor.graphs import Graph
from butfor.identification import Proof, Query, identify

GRAPH = Graph.of(directed=[("x", "t"), ("x", "y"), ("z", "t"), ("z", "y"), ("t", "y")])
QUERY = Query.effect("t", "y")
METHODS = [None, "saturated", "series", "linear", "ols", "ols_as_published"]


def rows(n=400, seed=3, **changed: Any) -> dict[str, Any]:
    rng = np.random.default_rng(seed)
    x, z = rng.normal(size=n), rng.integers(0, 2, n).astype(float)
    t = (rng.random(n) < 0.5).astype(float)
    table: dict[str, Any] = {"t": t, "x": x, "z": z, "y": x + rng.normal(size=n)}
    for name, make in changed.items():
        table[name] = make(table, rng)
    return table


def only(value, where=0):
    def treated(table, rng):
        column = np.full(table["t"].size, 1.0 - value)
        column[where] = value
        return column

    return treated


def not_a_number(table, rng):
    column = table["y"].copy()
    column[7] = np.nan
    return column


CASES: dict[str, tuple[dict[str, Any], int, set[str]]] = {
    "constant treatment": ({"t": lambda table, rng: np.ones(table["t"].size)}, 400, {"the treatment 't' is constant"}),
    "a confounder equals the treatment": (
        {"z": lambda table, rng: table["t"].copy()},
        400,
        {"positivity", "separation"},
    ),
    "a confounder mirrors the treatment": ({"z": lambda table, rng: 1 - table["t"]}, 400, {"positivity", "separation"}),
    "one NaN": ({"y": not_a_number}, 400, {"holds nan"}),
    "an infinity": ({"x": lambda table, rng: np.where(table["x"] > 2, np.inf, table["x"])}, 400, {"holds inf"}),
    "one treated unit": ({"t": only(1.0)}, 400, {"insufficient_evidence", "leverage"}),
    "six units": ({}, 6, {"insufficient_evidence", "is constant", "leverage"}),
    "constant outcome": ({"y": lambda table, rng: np.full(table["t"].size, 0.1)}, 400, {"constant_outcome"}),
    "duplicate columns": ({"z": lambda table, rng: table["x"].copy()}, 400, {"are the same"}),
    "outcome equals a confounder": ({"x": lambda table, rng: table["y"].copy()}, 400, {"are the same", "separation"}),
    "outcome is a function of a confounder": (
        {"y": lambda table, rng: 3 * table["x"] - 1},
        400,
        {"separation"},
    ),
}


def orientations(table):
    for flip_t in (False, True):
        for flip_y in (False, True):
            turned = dict(table)
            turned["t"] = 1 - table["t"] if flip_t else table["t"]
            if flip_y:
                turned["y"] = -table["y"]
            yield turned


def asked(table, method):
    """The answer to a query, or the sentence of the error."""
    proof = identify(GRAPH, QUERY)
    assert isinstance(proof, Proof)
    if method == "saturated":
        proof = identify(Graph.of(directed=[("z", "t"), ("z", "y"), ("t", "y")]), QUERY)
        assert isinstance(proof, Proof)
    try:
        return estimate(QUERY, proof, Columns.of(table, treatment="t", outcome="y"), method=method)
    except InputError as error:
        return str(error)


# A stratum variable alone does not make the outcome of the rows a function of anything.
OF_A_CONTINUOUS_CONFOUNDER = {"outcome equals a confounder", "outcome is a function of a confounder"}
TRIED = [
    (case, method)
    for case in CASES
    for method in METHODS
    if not (method == "saturated" and case in OF_A_CONTINUOUS_CONFOUNDER)
]


@pytest.mark.parametrize(("case", "method"), TRIED)
def test_no_degenerate_input_gives_a_positive_bound(case, method):
    changed, n, reasons = CASES[case]
    for table in orientations(rows(n=n, **changed)):
        answer = asked(table, method)
        if isinstance(answer, EffectEstimate):
            pytest.fail(f"answered {answer.lower}")
        found = answer if isinstance(answer, str) else answer.reason_code
        assert any(reason in found for reason in reasons), found


@pytest.mark.parametrize("method", [None, "series", "linear"])
def test_a_deterministic_treatment_is_refused_for_overlap(method):
    for table in orientations(rows(t=lambda table, rng: (table["x"] > 0).astype(float))):
        answer = asked(table, method)
        assert isinstance(answer, Insufficient)
        assert answer.reason_code == "positivity"


def test_a_trial_with_a_constant_outcome_is_refused_without_a_range():
    table = rows(y=lambda table, rng: np.full(table["t"].size, 0.1))
    for turned in orientations(table):
        columns = Columns.of(turned, treatment="t", outcome="y")
        answer = estimate(QUERY, Randomised(), columns)
        assert isinstance(answer, Insufficient)
        assert answer.reason_code == "constant_outcome"


def test_a_trial_with_a_constant_outcome_in_a_range_bounds_the_effect_from_both_sides():
    columns = Columns.of(rows(y=lambda table, rng: np.ones(table["t"].size)), treatment="t", outcome="y")
    answer = estimate(QUERY, Randomised(), columns, outcome_range=(0.0, 1.0), target=Contrast())
    assert isinstance(answer, EffectEstimate)
    assert answer.upper is not None
    assert answer.lower < 0.0 < answer.upper
