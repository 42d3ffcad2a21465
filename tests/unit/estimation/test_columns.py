from typing import Any

import numpy as np
import pytest

from butfor.errors import InputError
from butfor.estimation import Columns, Contrast, EffectEstimate, Insufficient
from butfor.estimation.aipw import aipw_series
from butfor.noise import numpy_generator

GOOD: dict[str, Any] = {"t": [0, 1, 0, 1], "y": [0.5, 1.5, 2.5, 3.25], "z": [1, 1, 2, 2], "name": ["b", "a", "b", "b"]}


def columns(**changed):
    return Columns.of({**GOOD, **changed}, treatment="t", outcome="y")


def test_every_other_column_is_a_covariate():
    assert columns().covariates == ("z", "name")


def test_text_is_coded_in_sorted_order():
    made = columns()
    assert made.table["name"].tolist() == [1, 0, 1, 1]
    assert made.levels == {"name": ("a", "b")}
    assert made.value("name", "b") == 1.0


def test_few_whole_values_are_discrete_and_others_are_not():
    assert columns().discrete == {"t", "z", "name"}


def test_columns_cannot_be_written_to():
    with pytest.raises(ValueError, match="read-only"):
        columns().y[0] = 9.0


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"y": [0.5, float("nan"), 2.5, 3.5]}, "'y' holds nan"),
        ({"z": [1, 2, float("inf"), 2]}, "'z' holds inf"),
        ({"z": [1, "a", 2, 2]}, "'z' mixes int and str"),
        ({"z": [1, None, 2, 2]}, "'z' has an empty entry"),
        ({"z": [1, 2, 2]}, "have"),
        ({"t": [1, 1, 1, 1]}, "treatment 't' is constant"),
        ({"w": [1, 1, 2, 2]}, "'z' and 'w' are the same"),
        ({"z": [0.5, 1.5, 2.5, 3.25]}, "'y' and 'z' are the same"),
        ({"z": [[1], [2], [3], [4]]}, "has 2 dimensions"),
        ({"z": [1j, 2, 3, 4]}, "holds complex"),
    ],
)
def test_what_cannot_be_used_is_named(changed, message):
    with pytest.raises(InputError, match=message):
        columns(**changed)


def test_a_missing_column_is_named():
    with pytest.raises(InputError, match="no column 'w'"):
        Columns.of(GOOD, treatment="t", outcome="y", covariates=["w"])


def test_no_rows_are_refused():
    with pytest.raises(InputError, match="no rows"):
        Columns.of({"t": [], "y": []}, treatment="t", outcome="y")


def test_a_column_has_one_part():
    with pytest.raises(InputError, match="two parts"):
        Columns.of(GOOD, treatment="t", outcome="t")


def test_no_time_is_refused():
    times = np.array(["2026-01-01", "NaT", "2026-01-02", "2026-01-03"], dtype="datetime64[D]")
    with pytest.raises(InputError, match="is no time"):
        Columns.of({**GOOD, "at": times}, treatment="t", outcome="y", time="at")


@pytest.mark.parametrize("probability", [0.0, 1.5])
def test_a_probability_outside_its_range_is_refused(probability):
    with pytest.raises(InputError, match="probability"):
        Columns.of({**GOOD, "p": [0.5, probability, 0.5, 0.5]}, treatment="t", outcome="y", probability="p")


def test_rows_can_be_taken():
    part = Columns.of({**GOOD, "at": [1, 2, 3, 4]}, treatment="t", outcome="y", time="at").where(
        np.array([True, False, True, True])
    )
    assert part.time is not None
    assert (part.n, part.y.tolist(), part.time.tolist()) == (3, [0.5, 2.5, 3.25], [1, 3, 4])


def test_units_of_a_cluster_count_once():
    runs = Columns.of({**GOOD, "run": [7, 7, 7, 9]}, treatment="t", outcome="y", clusters="run")
    alone = Columns.of(GOOD, treatment="t", outcome="y")
    rows = np.array([True, True, False, True])
    assert (runs.independent(), runs.independent(rows), runs.independent(rows & ~rows)) == (2, 2, 0)
    assert (alone.independent(), alone.independent(rows)) == (4, 3)


def test_a_series_is_as_rich_as_the_runs_allow_and_not_the_rows():
    rng = numpy_generator("runs of five")
    a, t = rng.normal(size=100), rng.integers(0, 2, 100)
    table: dict[str, Any] = {
        name: np.repeat(values, 5) for name, values in (("a", a), ("t", t), ("run", np.arange(100)))
    }
    table["y"] = table["t"] + table["a"] + rng.normal(size=500)
    rows = Columns.of({k: v for k, v in table.items() if k != "run"}, treatment="t", outcome="y")
    runs = Columns.of(table, treatment="t", outcome="y", clusters="run")
    assert isinstance(aipw_series(rows, ("a",), target=Contrast()), EffectEstimate)
    refusal = aipw_series(runs, ("a",), target=Contrast())
    assert isinstance(refusal, Insufficient)
    assert "clusters in the smaller arm" in refusal.sentence
