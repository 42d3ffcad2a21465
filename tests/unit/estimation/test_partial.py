"""Bounds without identification: against the linear programme that defines them, and on inputs that cannot be."""

import itertools

import numpy as np
import pytest
from scipy.optimize import linprog

from butfor.confidence import Undefined
from butfor.errors import InputError
from butfor.estimation.endpoints import Moments, Range
from butfor.estimation.partial import (
    Bounds,
    balke_pearl,
    instrument_level,
    manski_contrast,
    manski_level,
    manski_level_from_sums,
)
from butfor.noise import numpy_generator

UNIT = Range(low=0.0, high=1.0)
# How a unit answers: t-type (T if Z = 0, T if Z = 1), y-type (Y if T = 0, Y if T = 1).
TYPES = list(itertools.product(itertools.product((0, 1), repeat=2), repeat=2))


def bounds(answer):
    assert isinstance(answer, Bounds), answer
    return answer


def observed(law):
    """P(t, y | z) of a law over TYPES, shape (2, 2, 2)."""
    table = np.zeros((2, 2, 2))
    for share, (t_type, y_type) in zip(law, TYPES, strict=True):
        for z in (0, 1):
            t = t_type[z]
            table[z, t, y_type[t]] += share
    return table


def ends_by_linear_programme(table):
    rows = np.array([observed(np.eye(len(TYPES))[i]).ravel() for i in range(len(TYPES))]).T
    effect = np.array([y_type[1] - y_type[0] for _, y_type in TYPES], dtype=float)
    worst, best = (linprog(sign * effect, A_eq=rows, b_eq=table.ravel(), bounds=(0, 1)).fun for sign in (1.0, -1.0))
    assert worst is not None
    assert best is not None
    return worst, -best


def test_balke_pearl_is_the_linear_programme():
    rng = numpy_generator("balke-pearl")
    for concentration in (0.1, 0.3, 1.0):
        for _ in range(15):
            counts = rng.multinomial(10**7, rng.dirichlet(np.full(len(TYPES), concentration)))
            table = observed(counts)  # both arms of the instrument hold the same units, so shares agree exactly
            answer = bounds(balke_pearl(table))
            assert ends_by_linear_programme(table / 10**7) == pytest.approx((answer.lower, answer.upper), abs=1e-7)


def test_manski_is_the_worst_case():
    y, t = np.array([1.0, 0.5, 0.25, 0.75]), np.array(["a", "a", "b", "c"])
    level = bounds(manski_level(y, t, level="a", limits=UNIT))
    assert (level.lower, level.upper) == (1.5 / 4, 3.5 / 4)
    contrast = bounds(manski_contrast(y, t, level="a", reference="b", limits=UNIT))
    # level a: 1.5/4 to 3.5/4; level b: .25/4 to 3.25/4
    assert (contrast.lower, contrast.upper) == (1.5 / 4 - 3.25 / 4, 3.5 / 4 - 0.25 / 4)


def test_sums_give_what_rows_give():
    rng = numpy_generator("sums")
    y, t = rng.random(50), rng.integers(0, 3, 50)
    limits = Range(low=-1.0, high=2.0)
    arm = y[t == 2]
    sums = Moments(n=arm.size, total=float(arm.sum()), squares=float((arm**2).sum()))
    by_rows, by_sums = (
        bounds(manski_level(y, t, level=2, limits=limits)),
        bounds(manski_level_from_sums(sums, rows=50, limits=limits)),
    )
    for name in ("lower", "upper", "lower_bound", "upper_bound"):
        assert getattr(by_rows, name) == pytest.approx(getattr(by_sums, name), rel=1e-12)


@pytest.mark.parametrize("seed", range(20))
def test_a_contrast_is_never_bounded_away_from_zero(seed):
    # Even where everybody treated does as well as can be and nobody else does.
    rng = numpy_generator("contrast", seed)
    n = int(rng.integers(1, 400))
    t = rng.integers(0, 3, n) if seed % 2 else np.arange(n) % 2
    y = (t == 1).astype(float) if seed % 3 else rng.random(n)
    for clusters in (None, rng.integers(0, 19, n)):
        answer = manski_contrast(y, t, level=1, reference=0, limits=UNIT, clusters=clusters)
        if isinstance(answer, Bounds):
            assert answer.lower <= 0 <= answer.upper
            assert answer.lower_bound <= 0 <= answer.upper_bound


def test_a_level_can_clear_a_threshold_by_itself():
    t = np.repeat([1, 0], [950, 50])
    answer = bounds(manski_level((t == 1).astype(float), t, level=1, limits=Range(low=0, high=1, two_valued=True)))
    assert answer.lower_bound > 0.9


def test_a_refuted_instrument_is_said_to_be_refuted():
    counts = np.zeros((2, 2, 2))
    counts[0, 1, 0] = counts[1, 1, 1] = 500  # T never moves, Y follows Z: Z acts on Y directly
    answer = balke_pearl(counts)
    assert isinstance(answer, Undefined)
    assert "refute the instrument" in answer.reason
    z = np.repeat([0, 1], 500)
    answer = instrument_level(z.astype(float), np.ones(1000), z, level=1, limits=UNIT)
    assert isinstance(answer, Undefined)


def test_what_cannot_be_bounded_is_undefined_not_zero():
    none = np.array([])
    assert isinstance(manski_level(none, none, level=1, limits=UNIT), Undefined)
    assert isinstance(manski_contrast([1.0], [1], level=1, reference=1, limits=UNIT), Undefined)
    assert isinstance(manski_level([1.0, 0.0], [1, 0], level=1, limits=UNIT, clusters=["a", "a"]), Undefined)
    assert isinstance(instrument_level([1.0, 0.0], [1, 0], [1, 1], level=1, limits=UNIT), Undefined)
    assert isinstance(balke_pearl([[[1, 1], [1, 1]], [[0, 0], [0, 0]]]), Undefined)
    lonely = bounds(manski_level([1.0], [1], level=1, limits=UNIT))
    assert (lonely.lower_bound, lonely.upper_bound) == (0.0, 1.0)


def test_clusters_that_all_agree_prove_no_certainty():
    # Twenty runs of thirty rows without a failure: the next run may well fail.
    runs = np.repeat(np.arange(20), 30)
    y, t = np.ones(600), np.ones(600)
    answer = bounds(manski_level(y, t, level=1, limits=UNIT, clusters=runs))
    assert answer.lower == 1.0
    assert answer.lower_bound == pytest.approx(0.05 ** (1 / 20))
    mirrored = bounds(manski_level(1 - y, t, level=1, limits=UNIT, clusters=runs))
    assert mirrored.upper_bound == pytest.approx(1 - 0.05 ** (1 / 20))
    few = manski_level(y, t, level=1, limits=UNIT, clusters=runs // 2)
    assert isinstance(few, Undefined)
    assert "10 clusters" in few.reason


def test_a_range_is_never_widened_by_the_data():
    with pytest.raises(InputError, match=r"not in \[0, 1\] \(row 2\)"):
        manski_level([0.5, 1.5], [1, 0], level=1, limits=UNIT)
    with pytest.raises(InputError, match=r"two declared values \(row 1\)"):
        manski_level([0.5, 1.0], [1, 0], level=1, limits=Range(low=0, high=1, two_valued=True))
    with pytest.raises(InputError, match="not in"):
        manski_level([0.5, float("nan")], [1, 0], level=1, limits=UNIT)
    for low, high in ((1.0, 0.0), (0.0, 0.0), (0.0, float("inf")), (float("nan"), 1.0)):
        with pytest.raises(InputError, match="outcome range"):
            Range(low=low, high=high)
    with pytest.raises(InputError, match="whole numbers"):
        balke_pearl(np.full((2, 2, 2), 0.5))
    with pytest.raises(InputError, match="not part of"):
        manski_level_from_sums(Moments(n=5, total=1, squares=1), rows=4, limits=UNIT)
