"""Each estimator against a second computation of the same thing, and the dispatch by kind of proof."""

import dataclasses
import subprocess
import sys

import numpy as np
import pytest
from scipy import stats

from butfor.errors import InputError
from butfor.estimation import (
    Cells,
    Columns,
    Contrast,
    EffectEstimate,
    Insufficient,
    Level,
    Randomised,
    estimate,
)
from butfor.estimation.anytime import anytime_bounded
from butfor.estimation.front_door import front_door
from butfor.estimation.least_squares import ols_as_published, ols_robust
from butfor.estimation.saturated import saturated
from butfor.estimation.standardise import standardise
from butfor.graphs import Graph
from butfor.identification import Hedge, Query, evaluate, find_instruments, identify
from butfor.identification.expression import estimand
from tests.patience import PATIENCE

QUERY = Query.effect("t", "y")
CONTRAST = Contrast()


def proven(**graph):
    made = Graph.of(**graph)
    proof = identify(made, QUERY)
    assert not isinstance(proof, Hedge)
    return made, proof


def answered(answer):
    assert isinstance(answer, EffectEstimate), answer
    return answer


def confounded(n=2000, seed=1, *, noise=1.0, arms=2):
    rng = np.random.default_rng(seed)
    a, b = rng.integers(0, 3, n), rng.integers(0, 2, n)
    t = np.minimum(rng.integers(0, arms, n) + (rng.random(n) < 0.2 * a), arms - 1)
    y = t + a * b + noise * rng.normal(size=n)
    return Columns.of({"t": t, "y": y, "a": a, "b": b}, treatment="t", outcome="y")


def test_standardisation_is_the_weighted_average_of_stratum_differences():
    columns = confounded()
    expected = 0.0
    for a in range(3):
        for b in range(2):
            rows = (columns.table["a"] == a) & (columns.table["b"] == b)
            gap = columns.y[rows & (columns.t == 1)].mean() - columns.y[rows & (columns.t == 0)].mean()
            expected += rows.mean() * gap
    assert answered(saturated(columns, ["a", "b"], target=CONTRAST)).point == pytest.approx(expected, abs=1e-5)


def test_a_contrast_is_the_difference_of_its_levels_also_among_three_arms():
    columns = confounded(arms=3)
    one, two = (answered(saturated(columns, ["a", "b"], target=Level(at=value))).point for value in (1, 2))
    both = answered(saturated(columns, ["a", "b"], target=Contrast(to=2, against=1)))
    assert both.point == pytest.approx(two - one)


def test_rows_and_their_cells_give_one_answer():
    columns = confounded(n=60_000)
    cells = Cells.of(columns, ["a", "b"])
    assert answered(standardise(cells, target=CONTRAST)) == answered(saturated(columns, ["a", "b"], target=CONTRAST))


def test_finer_cells_are_added_up_to_what_the_proof_adjusts_for():
    columns = confounded(n=60_000)
    graph, proof = proven(directed=[("a", "t"), ("a", "y"), ("t", "y")])
    fine, coarse = Cells.of(columns, ["b", "a"]), Cells.of(columns, ["a"])
    assert graph.names
    assert estimate(QUERY, proof, fine) == estimate(QUERY, proof, coarse)


def test_least_squares_are_the_normal_equations():
    rng = np.random.default_rng(2)
    x = rng.normal(size=(300, 2))
    t = (rng.random(300) < 0.4).astype(float)
    y = 2 * t + x @ [1.0, -1.0] + rng.normal(size=300)
    columns = Columns.of({"t": t, "y": y, "a": x[:, 0], "b": x[:, 1]}, treatment="t", outcome="y")
    design = np.column_stack([np.ones(300), t, x])
    inverse = np.linalg.inv(design.T @ design)
    beta = inverse @ design.T @ y
    resid = y - design @ beta
    se = np.sqrt(resid @ resid / 296 * inverse[1, 1])
    published = answered(ols_as_published(columns, ["a", "b"], target=CONTRAST))
    assert published.point == pytest.approx(beta[1])
    assert published.lower == pytest.approx(beta[1] - stats.norm.ppf(0.95) * se)
    leverage = np.einsum("ij,jk,ik->i", design, inverse, design)
    meat = design.T @ (design * (resid / (1 - leverage))[:, None] ** 2)
    hc3 = np.sqrt((inverse @ meat @ inverse)[1, 1])
    robust = answered(ols_robust(columns, ["a", "b"], target=CONTRAST))
    # At least Student's t with fewer degrees of freedom, so a little below the normal bound of HC3.
    assert 1.645 * hc3 < robust.point - robust.lower < 1.85 * hc3


def test_a_trial_of_rare_events_gets_the_exact_binomial():
    t = np.repeat([0.0, 1.0], 200)
    y = np.zeros(400)
    y[200:206] = 1.0
    columns = Columns.of({"t": t, "y": y}, treatment="t", outcome="y")
    level = answered(estimate(QUERY, Randomised(), columns, target=Level(at=1)))
    assert level.lower == pytest.approx(stats.beta.ppf(0.05, 6, 195), rel=1e-6)


def test_a_declared_range_gives_a_finite_sample_bound():
    columns = confounded()
    ranged = answered(estimate(QUERY, Randomised(), columns, outcome_range=(-9.0, 12.0)))
    assert ranged.guarantee == "finite_sample"
    with pytest.raises(InputError, match="leave the declared range"):
        estimate(QUERY, Randomised(), columns, outcome_range=(0.0, 1.0))


def test_the_discrete_front_door_is_the_formula_on_frequencies():
    rng = np.random.default_rng(4)
    u = rng.normal(size=3000)
    t = (rng.random(3000) < 1 / (1 + np.exp(-u))).astype(int)
    m = (rng.random(3000) < 0.2 + 0.5 * t).astype(int)
    y = (rng.random(3000) < 1 / (1 + np.exp(-u - m))).astype(int)
    graph, proof = proven(directed=[("t", "m"), ("m", "y")], bidirected=[("t", "y")])
    columns = Columns.of({"t": t, "y": y, "m": m}, treatment="t", outcome="y")
    joint = np.zeros((2, 2, 2))
    np.add.at(joint, (t, m, y), 1 / 3000)
    value = np.asarray(evaluate(estimand(graph, proof), joint, ["t", "m", "y"]))
    expected = value[1, 0, 1] - value[0, 0, 1]
    assert answered(front_door(columns, ("m",), target=CONTRAST)).point == pytest.approx(expected)


def napkin(n, seed):
    rng = np.random.default_rng(seed)
    one, two = rng.random(n) < 0.5, rng.random(n) < 0.5
    w = rng.random(n) < 0.3 + 0.2 * one + 0.2 * two
    z = rng.random(n) < 0.35 + 0.3 * w
    t = rng.random(n) < 0.2 + 0.3 * z + 0.3 * one
    y = rng.random(n) < 0.2 + 0.3 * t + 0.3 * two
    table = {name: column.astype(float) for name, column in {"w": w, "z": z, "t": t, "y": y}.items()}
    return Columns.of(table, treatment="t", outcome="y")


NAPKIN = {"directed": [("w", "z"), ("z", "t"), ("t", "y")], "bidirected": [("w", "t"), ("w", "y")]}


def test_general_identification_finds_the_napkins_effect():
    graph, proof = proven(**NAPKIN)
    answer = answered(estimate(QUERY, proof, napkin(40_000, 3), graph=graph))
    assert answer.lower < 0.3 < (answer.upper or 0.0)
    assert answer.point == pytest.approx(0.3, abs=0.05)


def test_an_instrument_is_the_ratio_of_covariances_within_its_bounds():
    rng = np.random.default_rng(6)
    u, i = rng.normal(size=4000), rng.integers(0, 2, 4000)
    t = i + u + 0.5 * rng.normal(size=4000)
    columns = Columns.of({"t": t, "y": t + 1.5 * u, "i": i}, treatment="t", outcome="y")
    graph = Graph.of(directed=[("i", "t"), ("t", "y")], bidirected=[("t", "y")])
    proof = find_instruments(graph, QUERY, assumption="linear_effect")[0]
    answer = answered(estimate(QUERY, proof, columns))
    ratio = np.cov(i, columns.y)[0, 1] / np.cov(i, t)[0, 1]
    assert answer.point == pytest.approx(ratio)
    assert answer.lower < 1.0 < (answer.upper or 0.0)
    assert any("linear" in assumption for assumption in answer.assumptions)


def test_an_instrument_that_moves_nothing_bounds_nothing():
    rng = np.random.default_rng(7)
    u, i = rng.normal(size=500), rng.integers(0, 2, 500)
    columns = Columns.of({"t": u, "y": u + rng.normal(size=500), "i": i}, treatment="t", outcome="y")
    graph = Graph.of(directed=[("i", "t"), ("t", "y")], bidirected=[("t", "y")])
    proof = find_instruments(graph, QUERY, assumption="linear_effect")[0]
    assert answered(estimate(QUERY, proof, columns)).lower < -1e300


def test_a_continuous_treatment_has_a_named_contrast():
    rng = np.random.default_rng(8)
    x = rng.uniform(-2, 2, size=2000)
    t = np.sin(2 * x) + rng.normal(size=2000)
    columns = Columns.of({"t": t, "y": 0.5 * t + np.abs(x) + rng.normal(size=2000), "x": x}, treatment="t", outcome="y")
    _, proof = proven(directed=[("x", "t"), ("x", "y"), ("t", "y")])
    answer = answered(estimate(QUERY, proof, columns, target=Contrast(to=1.5, against=-0.5)))
    assert answer.lower < 1.0 < (answer.upper or 0.0)
    outside = estimate(QUERY, proof, columns, target=Contrast(to=90.0, against=0.0))
    assert isinstance(outside, Insufficient)
    assert outside.reason_code == "positivity"


def test_no_path_is_an_effect_of_nothing():
    _, proof = proven(directed=[("y", "t")])
    assert answered(estimate(QUERY, proof, confounded())).lower == 0.0


def test_a_stratum_is_answered_from_its_own_units():
    columns = confounded(n=6000)
    graph = Graph.of(directed=[("a", "t"), ("a", "y"), ("b", "y"), ("t", "y")])
    query = Query.effect("t", "y", within="b")
    proof = identify(graph, query)
    assert not isinstance(proof, Hedge)
    inside = estimate(query, proof, columns, within={"b": 1})
    alone = saturated(columns.where(columns.table["b"] == 1), ["a"], target=CONTRAST)
    assert inside == alone


def test_clusters_widen_the_bound():
    rng = np.random.default_rng(9)
    cluster = np.repeat(np.arange(60), 20)
    t = np.repeat(rng.integers(0, 2, 60), 20)
    y = t + rng.normal(size=60)[cluster] + 0.3 * rng.normal(size=1200)
    alone = Columns.of({"t": t, "y": y}, treatment="t", outcome="y")
    together = Columns.of({"t": t, "y": y, "run": cluster}, treatment="t", outcome="y", clusters="run")
    narrow, wide = (answered(estimate(QUERY, Randomised(), each)) for each in (alone, together))
    assert wide.point - wide.lower > 3 * (narrow.point - narrow.lower)


def timed(y):
    n = y.size
    t = np.random.default_rng(1).integers(0, 2, n)
    return Columns.of({"t": t, "y": y + t, "at": np.arange(n)}, treatment="t", outcome="y", time="at")


def test_a_drifting_outcome_is_stale_and_a_sticky_one_autocorrelated():
    rng = np.random.default_rng(10)
    noise = rng.normal(size=2000)
    sticky = np.convolve(rng.normal(size=2019), np.ones(20), mode="valid")
    for y, code in ((noise + np.linspace(0, 3, 2000), "stale"), (sticky, "")):
        answer = estimate(QUERY, Randomised(), timed(y))
        assert isinstance(answer, Insufficient)
        assert answer.reason_code in ({code} if code else {"autocorrelation", "stale"})
    assert isinstance(estimate(QUERY, Randomised(), timed(noise)), EffectEstimate)


def test_what_does_not_belong_together_is_refused():
    _, proof = proven(directed=[("a", "t"), ("a", "y"), ("t", "y")])
    with pytest.raises(InputError, match="another query"):
        estimate(Query.effect("t", "y", within="b"), proof, confounded())
    with pytest.raises(InputError, match="no column 'a'"):
        estimate(QUERY, proof, Columns.of({"t": [0, 1], "y": [0, 1]}, treatment="t", outcome="y"))
    with pytest.raises(InputError, match="no method"):
        estimate(QUERY, proof, confounded(), method="magic")  # type: ignore[arg-type]


def test_a_bound_for_every_look_is_wider_and_needs_known_probabilities():
    rng = np.random.default_rng(11)
    t = rng.integers(0, 2, 1500)
    y = (rng.random(1500) < 0.3 + 0.3 * t).astype(float)
    table = {"t": t, "y": y, "p": np.full(1500, 0.5)}
    columns = Columns.of(table, treatment="t", outcome="y", probability="p")
    always = answered(anytime_bounded(columns, target=CONTRAST, outcome_range=(0.0, 1.0)))
    once = answered(estimate(QUERY, Randomised(), columns))
    assert 0.0 < always.lower < once.lower
    unknown = dataclasses.replace(columns, probability=None)
    assert isinstance(anytime_bounded(unknown, target=CONTRAST, outcome_range=(0.0, 1.0)), Insufficient)


def test_earlier_units_only_decide_a_bound_at_a_look():
    rng = np.random.default_rng(12)
    table = {"t": rng.integers(0, 2, 400), "y": rng.random(400), "x": rng.normal(size=400), "p": np.full(400, 0.5)}
    full = Columns.of(table, treatment="t", outcome="y", probability="p")
    part = full.where(np.arange(400) < 250)
    changed = dict(table) | {"y": np.where(np.arange(400) < 250, table["y"], 1.0)}
    other = Columns.of(changed, treatment="t", outcome="y", probability="p").where(np.arange(400) < 250)
    bounds = [
        answered(anytime_bounded(each, target=CONTRAST, outcome_range=(0.0, 1.0), adjust_for=["x"])).lower
        for each in (part, other)
    ]
    assert bounds[0] == bounds[1]


def test_the_path_from_cells_loads_neither_scipy_nor_scikit_learn():
    code = (
        "import sys, numpy as np\n"
        "from butfor.estimation import Cells, Columns, Contrast, Randomised, estimate\n"
        "from butfor.identification import Query\n"
        "c = Columns.of({'t': [0, 1] * 500, 'y': [0, 1, 1, 0, 1] * 200}, treatment='t', outcome='y')\n"
        "estimate(Query.effect('t', 'y'), Randomised(), Cells.of(c, ()))\n"
        "assert not {'scipy', 'sklearn', 'pandas', 'pydantic'} & set(sys.modules), sorted(sys.modules)\n"
    )
    subprocess.run([sys.executable, "-c", code], check=True, timeout=PATIENCE)


def test_what_is_identified_in_general_only_is_not_read_off_a_stratum():
    graph = Graph.of(
        directed=[("w", "z"), ("z", "t"), ("t", "y"), ("s", "y"), ("s", "w")], bidirected=[("w", "t"), ("w", "y")]
    )
    query = Query.effect("t", "y", within="s")
    proof = identify(graph, query)
    assert not isinstance(proof, Hedge)
    rng = np.random.default_rng(15)
    columns = Columns.of({name: rng.integers(0, 2, 800) for name in "wztys"}, treatment="t", outcome="y")
    answer = estimate(query, proof, columns, within={"s": 1}, graph=graph)
    assert isinstance(answer, Insufficient)
    assert answer.reason_code == "unsupported"
    assert "within s" in answer.sentence


def many(n, p=20, seed=1):
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(n, p))
    t = rng.random(n) < 1 / (1 + np.exp(-0.6 * x[:, 0] * x[:, 1]))
    y = t + 1.5 * x[:, 0] * x[:, 1] + rng.normal(size=n)
    names = [f"x{i}" for i in range(p)]
    _, proof = proven(directed=[("t", "y"), *((name, end) for name in names for end in ("t", "y"))])
    return proof, Columns.of({"t": t, "y": y, **dict(zip(names, x.T, strict=True))}, treatment="t", outcome="y")


def test_many_covariates_get_the_functions_that_matter():
    # Neither covariate of the product matters by itself: a straight line is 0.5 off.
    proof, columns = many(2000)
    answer = answered(estimate(QUERY, proof, columns))
    assert answer.estimator == "cross-fitted AIPW, sparse series nuisances"
    assert answer.lower < 1.0 < answered(estimate(QUERY, proof, columns, method="linear")).lower
    assert abs(answer.point - 1.0) < 0.3


def test_more_covariates_than_an_arm_has_room_for_are_refused():
    proof, columns = many(500, p=30)
    answer = estimate(QUERY, proof, columns)
    assert isinstance(answer, Insufficient)
    assert answer.reason_code == "insufficient_evidence"
    assert "too few to rule out a curve" in answer.sentence
