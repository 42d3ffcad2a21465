"""The tests refute a true graph at most as often as they say, and a false one often."""

import numpy as np
import pytest
from scipy.stats import binom

from butfor.estimation.columns import Columns
from butfor.estimation.falsification import falsify
from butfor.estimation.independence import IndependenceTest, independence_test
from butfor.graphs import read
from butfor.identification import Independence
from butfor.noise import numpy_generator

ALPHA = 0.05
DIRECT = Independence(variable="Y", others=("T",), given=("M",))


def most(repetitions: int, share: float = ALPHA) -> int:
    return int(binom.ppf(1 - 1e-6, repetitions, share))


def discrete(rng, n, direct):
    m = rng.integers(0, 3, n)
    t = (rng.random(n) < 0.2 + 0.3 * m).astype(int)
    return {"T": t, "M": m, "Y": (rng.random(n) < 0.1 + 0.25 * m + direct * t * (m < 2)).astype(int)}


def linear(rng, n, direct):
    m = rng.normal(size=n)
    t = m + rng.normal(size=n)
    return {"T": t, "M": m, "Y": m + direct * t + rng.normal(size=n)}


def curved(rng, n, direct):
    """Means are curved and variances depend on M: a plain partial correlation fails here."""
    m = rng.normal(size=n)
    t = m**2 + np.exp(m / 2) * rng.normal(size=n)
    return {"T": t, "M": m, "Y": m**2 + direct * t + np.exp(m / 2) * rng.normal(size=n)}


def mixed(rng, n, direct):
    m, team = rng.normal(size=n), rng.choice(["red", "blue", "green"], n)
    t = (rng.random(n) < 1 / (1 + np.exp(-m))).astype(int)
    y = m + (team == "red") + direct * t + rng.standard_exponential(n)
    return {"T": t, "M": m, "Y": y, "team": team}


WORLDS = {"discrete": (discrete, 0.25), "linear": (linear, 0.25), "curved": (curved, 0.25), "mixed": (mixed, 0.5)}


def refutations(make, n, direct, repetitions, key):
    rng, count = numpy_generator("falsification", key, n), 0
    for _ in range(repetitions):
        answer = independence_test(Columns.of(make(rng, n, direct), treatment="T", outcome="Y"), DIRECT)
        assert isinstance(answer, IndependenceTest)
        count += answer.p <= ALPHA
    return count


@pytest.mark.parametrize("n", [100, 600])
@pytest.mark.parametrize("world", WORLDS)
def test_a_true_independence_is_refuted_at_most_at_the_level(world, n):
    make, _ = WORLDS[world]
    assert refutations(make, n, 0.0, 600, f"{world} level") <= most(600)


@pytest.mark.parametrize("world", WORLDS)
def test_a_false_one_is_found(world):
    make, direct = WORLDS[world]
    assert refutations(make, 600, direct, 100, f"{world} power") >= 80


def test_a_plain_correlation_would_fail_the_level():
    # The check above can fail: without the curved terms the partial correlation refutes the curved world nearly always.
    rng, count = numpy_generator("plain"), 0
    for _ in range(100):
        table = curved(rng, 600, 0.0)
        design = np.column_stack([np.ones(600), table["M"]])
        e, f = (v - design @ np.linalg.lstsq(design, v, rcond=None)[0] for v in (table["T"], table["Y"]))
        count += abs(np.corrcoef(e, f)[0, 1]) > 1.96 / np.sqrt(600)
    assert count > most(100)


def test_sparse_tables_keep_the_level():
    rng, count, repetitions = numpy_generator("sparse level"), 0, 60
    for _ in range(repetitions):
        m = rng.integers(0, 3, 60)
        table = {"T": (m + rng.integers(0, 4, 60)), "M": m, "Y": m * rng.integers(0, 4, 60)}
        answer = independence_test(Columns.of(table, treatment="T", outcome="Y"), DIRECT)
        assert isinstance(answer, IndependenceTest)
        assert "shuffles" in answer.method
        count += answer.p <= ALPHA
    assert count <= most(repetitions)


@pytest.mark.parametrize("graph", ["dag { a -> T b -> T T -> M M -> Y c -> Y d }"])
def test_a_whole_true_graph_is_refuted_at_most_at_the_level(graph):
    rng, count, repetitions, n = numpy_generator("family"), 0, 300, 400
    for _ in range(repetitions):
        a, b, c, d = rng.normal(size=(4, n))
        t = a + b + rng.normal(size=n)
        m = t + rng.normal(size=n)
        y = m + c + rng.normal(size=n)
        columns = Columns.of({"a": a, "b": b, "c": c, "d": d, "T": t, "M": m, "Y": y}, treatment="T", outcome="Y")
        found = falsify(columns, read(graph), alpha=ALPHA)
        assert len(found.tested) > 3
        count += bool(found.refuted)
    assert count <= most(repetitions)


def test_rows_of_a_cluster_are_not_counted_as_independent():
    # T and Y are each constant in a run, and independent: by rows the test would refute nearly always.
    rng, count, by_rows, repetitions = numpy_generator("clusters"), 0, 0, 200
    for _ in range(repetitions):
        t, m, y = (np.repeat(rng.integers(0, 2, 60), 20) for _ in range(3))
        table = {"T": t, "M": m, "Y": y, "run": np.repeat(np.arange(60), 20)}
        for clusters in ("run", None):
            answer = independence_test(
                Columns.of(table, treatment="T", outcome="Y", covariates=["M"], clusters=clusters), DIRECT
            )
            assert isinstance(answer, IndependenceTest)
            if clusters:
                count += answer.p <= ALPHA
            else:
                by_rows += answer.p <= ALPHA
    assert count <= most(repetitions)
    assert by_rows > most(repetitions)
