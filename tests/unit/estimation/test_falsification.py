"""Falsification: known statistics, refusals, and a wrong graph beside the right one."""

import numpy as np
import pytest
from scipy.special import chdtrc
from scipy.stats import chi2_contingency

from butfor.confidence import Undefined
from butfor.estimation.columns import Columns
from butfor.estimation.falsification import Baseline, Falsification, falsify, permutation_baseline
from butfor.estimation.independence import SHUFFLES, IndependenceTest, NotTested, independence_test
from butfor.graphs import read
from butfor.identification import Independence
from butfor.noise import numpy_generator


def columns(table, **parts):
    return Columns.of(table, treatment="T", outcome="Y", **parts)


def sure(answer):
    assert isinstance(answer, IndependenceTest), answer
    return answer


def chain(n=1000, *, discrete=True, seed=0, direct=0.0):
    """T -> M -> Y, with a direct effect where asked for."""
    rng = numpy_generator("chain", seed)
    if not discrete:
        t = rng.normal(size=n)
        m = np.sin(t) + rng.normal(size=n)
        return {"T": t, "M": m, "Y": m**2 + direct * t + rng.normal(size=n)}
    t = rng.integers(0, 2, n)
    m = (rng.random(n) < 0.2 + 0.6 * t).astype(int) + rng.integers(0, 2, n)
    return {"T": t, "M": m, "Y": (rng.random(n) < 0.1 + 0.3 * m + direct * t).astype(int)}


CHAIN, WRONG = read("dag { T -> M -> Y }"), read("dag { M -> T -> Y }")
DIRECT = Independence(variable="Y", others=("T",), given=("M",))


def test_g_squared_is_the_likelihood_ratio_of_the_tables():
    table = chain()
    found = sure(independence_test(columns(table), DIRECT))
    parts = [
        chi2_contingency(
            np.histogram2d(table["T"][table["M"] == m], table["Y"][table["M"] == m], bins=2)[0],
            correction=False,
            lambda_="log-likelihood",
        )
        for m in range(3)
    ]
    assert found.freedom == sum(part.dof for part in parts) == 3
    assert found.p == pytest.approx(float(chdtrc(3, sum(part.statistic for part in parts))), rel=1e-9)


@pytest.mark.parametrize("discrete", [True, False])
def test_a_right_graph_stands_and_a_wrong_one_falls(discrete):
    data = columns(chain(discrete=discrete))
    right, wrong = falsify(data, CHAIN), falsify(data, WRONG)
    assert right.refuted == ()
    assert "confirms none" in right.in_words()
    assert [str(each.statement) for each in wrong.refuted] == ["Y ⊥ M | T"]
    assert "contradict the graph: Y ⊥ M | T" in wrong.in_words()


def test_a_missing_variable_counts_as_latent():
    data = columns({name: values for name, values in chain().items() if name != "M"})
    found = falsify(data, read("dag { T -> M -> Y }"))
    assert found.tested == ()
    assert "nothing speaks for or against it" in found.in_words()
    control = falsify(data, CHAIN, controls=[DIRECT])
    assert [each.reason for each in control.untested] == ["the evidence has no column 'M'"]


def test_a_negative_control_is_tested_with_the_rest():
    rng = numpy_generator("control")
    u, n = rng.normal(size=800), 800
    table = {"T": u + rng.normal(size=n), "Y": u + rng.normal(size=n), "placebo": u + rng.normal(size=n)}
    control = Independence(variable="placebo", others=("T",), given=())
    found = falsify(columns(table), read("dag { T -> Y }"), controls=[control])
    assert [each.statement for each in found.refuted] == [control]


def test_sparse_tables_are_shuffled():
    rng = numpy_generator("sparse")
    table = {"T": rng.integers(0, 8, 60), "Y": rng.integers(0, 8, 60), "M": rng.integers(0, 2, 60)}
    found = sure(independence_test(columns(table), DIRECT))
    assert "shuffles" in found.method
    assert 1 / (SHUFFLES + 1) <= found.p <= 1
    assert found == independence_test(columns(table), DIRECT)
    copied = sure(independence_test(columns({**table, "Y": (table["T"] + 1) % 8}), DIRECT))
    assert copied.p == 1 / (SHUFFLES + 1)


def test_what_cannot_be_tested_says_why():
    table = chain(100)
    odd = {**table, "Y": np.zeros(100), "id": np.arange(100) % 50, "load": np.linspace(0, 1, 100)}
    for statement, reason in (
        (DIRECT, "'Y' does not vary"),
        (Independence(variable="T", others=("zeal",), given=()), "no column 'zeal'"),
        (Independence(variable="T", others=("load",), given=("id",)), "too few"),
    ):
        answer = independence_test(columns(odd), statement)
        assert isinstance(answer, NotTested)
        assert reason in answer.reason
    z = np.linspace(0, 1, 100)
    doubled = {"T": 2 * z, "Y": numpy_generator("y").normal(size=100), "z": z}
    answer = independence_test(columns(doubled), Independence(variable="T", others=("Y",), given=("z",)))
    assert isinstance(answer, NotTested)
    assert "a function of what is given" in answer.reason


def test_the_smallest_detectable_dependence_shrinks_with_rows():
    few, many = (sure(independence_test(columns(chain(n)), DIRECT)).detectable(0.05) for n in (200, 20_000))
    assert few == pytest.approx(10 * many)
    assert 0.1 < few < 0.5


def test_a_right_graph_beats_its_shuffles():
    rng, n = numpy_generator("baseline"), 1000
    a, b = rng.normal(size=(2, n))
    c = a + b + rng.normal(size=n)
    t = c + rng.normal(size=n)
    table = {"a": a, "b": b, "c": c, "T": t, "Y": t + c + rng.normal(size=n)}
    right = permutation_baseline(columns(table), read("dag { a -> c b -> c c -> T T -> Y c -> Y }"), shuffles=49)
    wrong = permutation_baseline(columns(table), read("dag { c -> a T -> a a -> b b -> Y a -> Y }"), shuffles=49)
    assert isinstance(right, Baseline)
    assert isinstance(wrong, Baseline)
    assert right.violated == 0
    assert right.share <= 0.1
    assert wrong.violated == wrong.implied
    assert wrong.share > 0.3
    full = permutation_baseline(columns(table), read("dag { T -> Y }"), shuffles=9)
    assert isinstance(full, Undefined)


def test_an_empty_list_is_no_confirmation():
    assert "nothing speaks" in Falsification(tested=(), untested=(), alpha=0.05, complete=True).in_words()
