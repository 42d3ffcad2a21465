"""Sensitivity: identities against the regression that sees the hidden cause, published figures, and refusals."""

import math

import numpy as np
import pytest

from butfor.confidence import Undefined
from butfor.errors import InputError
from butfor.estimation.columns import Columns
from butfor.estimation.marginal import (
    MarginalBound,
    factor_in_words,
    marginal_contrast,
    tipping_factor,
    weighted_level,
)
from butfor.estimation.sensitivity import Confounder, LinearSensitivity, e_value, linear_sensitivity
from butfor.noise import numpy_generator


def linear(answer):
    assert isinstance(answer, LinearSensitivity), answer
    return answer


def marginal(answer):
    assert isinstance(answer, MarginalBound), answer
    return answer


def world(seed, n=300, weight=1.0):
    rng = numpy_generator("world", seed)
    load, team, hidden = rng.normal(size=n), rng.choice(["red", "blue", "green"], n), rng.normal(size=n)
    t = 0.6 * load + 0.7 * weight * hidden + (team == "red") + rng.normal(size=n)
    y = 0.4 * t + 0.8 * load + weight * hidden + 0.3 * (team == "blue") + rng.normal(size=n)
    return {"T": t, "Y": y, "load": load, "team": team, "hidden": hidden}


def columns(table, **names):
    return Columns.of(table, treatment="T", outcome="Y", **names)


@pytest.mark.parametrize("seed", range(5))
def test_the_bound_under_a_hidden_cause_is_what_the_regression_that_sees_it_gives(seed):
    # An identity, not an approximation: with the hidden cause's own shares, both regressions must agree.
    data = columns(world(seed))
    short, full = (linear(linear_sensitivity(data, names)) for names in (["load", "team"], ["load", "team", "hidden"]))
    assert short.effect > full.effect  # the hidden cause works towards the effect, as the bound supposes
    assert short.lower_under(full.strengths["hidden"]) == pytest.approx(full.lower, rel=1e-9)


def test_the_published_study_of_darfur():
    # Cinelli and Hazlett 2020, table 1: t = 4.184 with 783 degrees of freedom; 13.9% and, for the bound, 7.6%.
    # Their interval is two-sided at 5%, so its lower end is a one-sided bound at 2.5%.
    study = LinearSensitivity(effect=0.097, error=0.097 / 4.184, freedom=783, threshold=0.0, alpha=0.025, strengths={})
    assert study.robustness == pytest.approx(0.139, abs=5e-4)
    assert study.robustness_of_bound == pytest.approx(0.076, abs=5e-4)


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("threshold", [0.0, 0.2])
def test_the_robustness_value_is_where_the_answer_flips(seed, threshold):
    found = linear(linear_sensitivity(columns(world(seed)), ["load", "team"], threshold=threshold))
    share = found.robustness_of_bound
    assert 0 < share < found.robustness < 1
    at_it = found.lower_under(Confounder(of_treatment=share, of_outcome=share))
    assert at_it == pytest.approx(threshold, abs=1e-9)
    times = found.flips_at("load")
    assert times is not None
    hidden = found.times("load", times)
    assert hidden is not None
    assert found.lower_under(hidden) == pytest.approx(threshold, abs=1e-6)
    weaker = found.times("load", 0.9 * times)
    assert weaker is not None
    assert found.lower_under(weaker) > threshold
    said = "twice" if round(times, 1) == 2.0 else f"{times:.1f} times"
    assert f"A hidden cause {said} as strong as `load` would flip this." in found.in_words()


def test_the_corner_where_one_share_alone_cannot_do_it():
    strong = LinearSensitivity(effect=10.0, error=0.1, freedom=5, threshold=0.0, alpha=0.05, strengths={})
    share = strong.robustness_of_bound
    assert strong.lower_under(Confounder(of_treatment=share, of_outcome=share)) <= 1e-9 or share > 0.99


def test_a_bound_below_the_threshold_has_nothing_to_flip():
    found = linear(linear_sensitivity(columns(world(1)), ["load"], threshold=50.0))
    assert (found.robustness, found.robustness_of_bound, found.flips_at("load")) == (0.0, 0.0, 0.0)
    assert "even without a hidden cause" in found.in_words()


def test_what_a_regression_cannot_answer_is_undefined():
    table = world(2, n=6)
    assert isinstance(linear_sensitivity(columns(table), ["load", "team", "hidden"]), Undefined)
    table = world(2)
    for broken, words in (
        ({"Y": np.full(300, 0.1)}, "determine the outcome"),
        ({"Y": 2 * table["T"] + 1}, "determine the outcome"),
        ({"T": 3 * table["load"] + 1}, "determine the treatment"),
    ):
        answer = linear_sensitivity(columns({**table, **broken}), ["load"])
        assert isinstance(answer, Undefined)
        assert words in answer.reason
    clustered = linear_sensitivity(columns({**table, "run": np.arange(300) // 10}, clusters="run"), ["load"])
    assert isinstance(clustered, Undefined)
    assert "clusters" in clustered.reason
    several = Columns.of(table, treatment="team", outcome="Y")
    assert isinstance(linear_sensitivity(several, ["load"]), Undefined)
    with pytest.raises(InputError, match="no column 'zeal'"):
        linear_sensitivity(columns(table), ["zeal"])
    with pytest.raises(InputError, match="not among the covariates"):
        linear(linear_sensitivity(columns(table), ["load"])).flips_at("team")
    with pytest.raises(InputError, match="cannot explain"):
        Confounder(of_treatment=1.0, of_outcome=0.5)


def test_e_values_of_the_paper():
    # VanderWeele and Ding 2017: ratio 3.9 gives 7.26, its limit 1.8 gives 3.0.
    assert e_value(3.9) == pytest.approx(7.26, abs=5e-3)
    assert e_value(1.8) == pytest.approx(3.0, abs=5e-3)
    assert e_value(1 / 3.9) == pytest.approx(e_value(3.9))
    assert e_value(1.0) == 1.0
    for wrong in (0.0, -1.0, math.nan, math.inf):
        with pytest.raises(InputError, match="risk ratio"):
            e_value(wrong)


def cells(seed, n=400):
    rng = numpy_generator("cells", seed)
    x = rng.integers(0, 3, n)
    t = (rng.random(n) < 0.3 + 0.2 * x).astype(int)
    return {"T": t, "Y": rng.normal(0.5 * t + x, 1.0, n), "x": x}


def test_no_hidden_cause_is_standardisation():
    table = cells(1)
    found = marginal(marginal_contrast(columns(table), ["x"], level=1, reference=0, factor=1.0))
    t, y, x = table["T"], table["Y"], table["x"]
    by_hand = sum((x == s).mean() * (y[(x == s) & (t == 1)].mean() - y[(x == s) & (t == 0)].mean()) for s in range(3))
    assert found.point == pytest.approx(by_hand, rel=1e-12)


def test_a_stratum_s_least_level_is_the_tilted_law():
    # Λ = 3 and outcomes 0 to 4: the lowest quarter has mean .05/.25 = .2, so the least mean is 2/3 + (2/3)·.2 = .8.
    y = np.concatenate((np.tile([0.0, 1.0, 2.0, 3.0, 4.0], 800), np.tile([4.0, 5.0], 2000)))
    table = {"T": np.repeat([1, 0], 4000), "Y": y}
    found = marginal(marginal_contrast(columns(table), [], level=1, reference=0, factor=3.0))
    # The greatest mean of the reference: 4.5/3 + (2/3)·5.
    assert found.point == pytest.approx(0.5 * (2.0 + 0.8) - 0.5 * (4.5 + 4.5 / 3 + 10 / 3), abs=1e-3)


def test_the_order_of_rows_does_not_matter():
    table, order = cells(4), numpy_generator("order").permutation(400)
    one, other = (
        marginal(marginal_contrast(columns(each), ["x"], level=1, reference=0, factor=2.0))
        for each in (table, {name: values[order] for name, values in table.items()})
    )
    assert (one.point, one.lower) == pytest.approx((other.point, other.lower), rel=1e-12)


def test_the_tipping_factor_is_where_the_bound_falls():
    data = columns(cells(2))
    factor = tipping_factor(data, ["x"], level=1, reference=0)
    assert isinstance(factor, float)
    assert factor > 1
    below, above = (
        marginal(marginal_contrast(data, ["x"], level=1, reference=0, factor=f)) for f in (factor, 1.002 * factor)
    )
    assert below.lower > 0 >= above.lower
    assert f"{factor:.3g}" in factor_in_words(factor)
    assert tipping_factor(data, ["x"], level=1, reference=0, threshold=9.0) == 1.0
    assert "even without" in factor_in_words(1.0)
    # Where treatment and stratum decide the outcome there is no law to tilt.
    table = cells(2)
    x = np.arange(400) % 4
    decided = columns({**table, "x": x, "Y": table["T"] * (1 + x) + x})
    assert tipping_factor(decided, ["x"], level=1, reference=0) == math.inf
    assert "No hidden cause" in factor_in_words(math.inf)


def test_what_the_model_cannot_answer_is_undefined():
    table = cells(3)
    lonely = {**table, "x": np.where(np.arange(400) < 1, 9, table["x"])}
    for answer in (
        marginal_contrast(columns(lonely), ["x"], level=1, reference=0, factor=2.0),
        tipping_factor(columns(lonely), ["x"], level=1, reference=0),
        marginal_contrast(columns(table), ["x"], level=1, reference=7, factor=2.0),
        marginal_contrast(columns(table), ["x"], level=1, reference=1, factor=2.0),
        marginal_contrast(columns({**table, "Y": np.full(400, 0.1)}), ["x"], level=1, reference=0, factor=2.0),
        marginal_contrast(columns({**table, "Y": np.arange(400) < 60}), ["x"], level=1, reference=0, factor=2.0),
    ):
        assert isinstance(answer, Undefined)
    with pytest.raises(InputError, match="no bound on a ratio of odds"):
        marginal_contrast(columns(table), ["x"], level=1, reference=0, factor=0.5)
    with pytest.raises(InputError, match="not discrete"):
        marginal_contrast(columns({**table, "w": np.linspace(0, 1, 400)}), ["w"], level=1, reference=0, factor=2.0)


@pytest.mark.parametrize("seed", range(10))
def test_the_weighted_level_is_the_optimum_over_all_weights(seed):
    rng = numpy_generator("weights", seed)
    n, factor = 7, 1.0 + 3 * rng.random()
    y, e = rng.normal(size=n), rng.uniform(0.1, 0.9, n)
    least, greatest = weighted_level(y, np.ones(n), e, factor=factor)
    corners = np.array(np.meshgrid(*[[1 / factor, factor]] * n)).reshape(n, -1)
    weights = 1 + corners * ((1 - e) / e)[:, None]
    means = (weights * y[:, None]).sum(axis=0) / weights.sum(axis=0)
    assert (least, greatest) == pytest.approx((means.min(), means.max()), rel=1e-12)
    with pytest.raises(InputError, match="propensity"):
        weighted_level(y, np.ones(n), np.zeros(n), factor=2.0)
