"""Real tables: what is not here says so, and what is here is answered as is known."""

import numpy as np
import pytest

from butfor.benchmarks import Settings
from butfor.benchmarks.table_data import CAUSALDATA, CAUSALLIB, OBP, csv_columns, folder, member
from butfor.benchmarks.tables.bench import run
from butfor.benchmarks.tables.open_bandit import uniform_value
from butfor.errors import CorruptRecord
from butfor.estimation import Columns, EffectEstimate, Insufficient
from butfor.noise import numpy_generator

QUICK = Settings(quick=True, seed=1, options={})


def test_tables_that_were_not_fetched_are_not_run(tmp_path, monkeypatch):
    monkeypatch.setenv("BUTFOR_TABLES", str(tmp_path))
    report = run(QUICK)
    assert [row["answer"] for row in report.rows] == ["not run"] * 4
    assert report.checks == []
    for note, wheel in zip(report.notes, (CAUSALDATA, CAUSALLIB, CAUSALLIB, OBP), strict=True):
        assert wheel.name in note
        assert "make tables" in note


def test_another_wheel_of_the_same_name_is_refused(tmp_path, monkeypatch):
    monkeypatch.setenv("BUTFOR_TABLES", str(tmp_path))
    (tmp_path / OBP.file).write_bytes(b"PK")
    with pytest.raises(CorruptRecord, match="another one than is meant"):
        member(OBP, "x.csv")


def test_a_column_without_a_name_is_left_out():
    assert csv_columns(b",a,b\n0,1,x\n1,2,y\n") == {"a": ["1", "2"], "b": ["x", "y"]}


@pytest.mark.parametrize("even", [True, False])
def test_a_uniform_policy_is_valued_or_refused(even):
    rng, n, items = numpy_generator("uniform"), 20_000, 5
    shares = np.full(items, 0.2) if even else np.array([0.9996, *[1e-4] * 4])
    shown = rng.choice(items, n, p=shares)
    rate = np.array([0.1, 0.2, 0.3, 0.4, 0.5])
    table = {"item": shown, "click": (rng.random(n) < rate[shown]).astype(int), "p": shares[shown]}
    answer = uniform_value(Columns.of(table, treatment="item", outcome="click", probability="p"), 1)
    if even:
        assert isinstance(answer, EffectEstimate)
        assert 0.27 < answer.lower < 0.3 < answer.point + 0.03
    else:
        assert isinstance(answer, Insufficient)


@pytest.mark.skipif(not (folder() / CAUSALDATA.file).exists(), reason="the tables are not here: make tables")
def test_the_real_tables_are_answered_as_is_known():
    report = run(QUICK)
    assert [check.name for check in report.checks if not check.ok] == []
    assert len(report.checks) == 9
