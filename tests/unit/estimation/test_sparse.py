"""Functions are picked by what they explain, outside the predicted fold alone, and in little memory."""

import tracemalloc

import numpy as np

from butfor.estimation import Columns
from butfor.estimation.basis import DICTIONARY_KNOTS, dictionary
from butfor.estimation.sparse import SparseNuisances, forward
from butfor.noise import numpy_generator


def columns(n=1200, p=6):
    rng = numpy_generator("sparse", n)
    x = rng.normal(size=(n, p))
    t = (rng.random(n) < 0.5).astype(float)
    names = [f"x{i}" for i in range(p)]
    table = {"t": t, "y": x[:, 1] * x[:, 4] + rng.normal(size=n), **dict(zip(names, x.T, strict=True))}
    return Columns.of(table, treatment="t", outcome="y"), names


def test_the_functions_that_make_a_target_are_picked_first():
    rng = numpy_generator("forward")
    functions = rng.normal(size=(400, 50))
    target = 3.0 * functions[:, 7] - 2.0 * functions[:, 30] + functions[:, 12] + 0.1 * rng.normal(size=400)
    nothing = np.empty(0, dtype=np.intp)
    assert forward(functions, target, 3, nothing).tolist() == [7, 30, 12]
    # What was picked already comes first and takes room; a repeated function is never picked.
    repeated = np.column_stack([functions, functions[:, 7]])
    assert forward(repeated, target, 3, np.array([50, 7])).tolist() == [50, 30]
    assert 7 not in forward(repeated, target, 51, np.array([50]))


def test_a_product_of_two_columns_is_found_though_neither_matters():
    rows, names = columns()
    fit, predict = np.arange(800), np.arange(800, 1200)
    nuisances = SparseNuisances(dictionary(rows, names), rows.t, 30)
    predicted = nuisances.outcome(fit, predict, rows.y)
    truth = rows.table["x1"][predict] * rows.table["x4"][predict]
    assert np.corrcoef(predicted, truth)[0, 1] > 0.9


def test_outcomes_of_the_predicted_units_change_nothing():
    rows, names = columns()
    fit, predict = np.arange(800), np.arange(800, 1200)
    changed = np.where(np.arange(1200) < 800, rows.y, 100.0)
    known = [SparseNuisances(dictionary(rows, names), rows.t, 20).outcome(fit, predict, y) for y in (rows.y, changed)]
    assert np.array_equal(known[0], known[1])


def test_a_dictionary_of_many_distinct_values_stays_small():
    rows, names = columns(n=20_000, p=5)
    tracemalloc.start()
    made = dictionary(rows, names)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert made.functions.shape == (20_000, 5 * (1 + DICTIONARY_KNOTS))
    assert peak < 10 * made.functions.nbytes
