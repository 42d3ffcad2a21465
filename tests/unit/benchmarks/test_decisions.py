"""Decisions about subgroups and items: the protocol, the logs, and what is not here."""

import csv

import numpy as np
import pytest

from butfor.benchmarks.decisions import bandit, subgroups
from butfor.benchmarks.harness import Settings, find
from butfor.errors import CorruptRecord
from butfor.gate import PAPER
from butfor.noise import numpy_generator

QUICK = Settings(quick=True, seed=1, options={})


def a_world(effect=2.0, n=900):
    noise = numpy_generator("a world", n)
    sex, age = (noise.random(n) < 0.5).astype(float), noise.standard_normal(n)
    z = (noise.random(n) < np.where(sex == 1, 0.7, 0.3)).astype(float)
    gain = effect + np.where(sex == 1, 1.0, -1.0)
    y = gain * z + 3.0 * sex + age + noise.standard_normal(n)
    return subgroups.World(name="planted", covariates={"sex": sex.tolist(), "age": age.tolist()}, z=z, y=y, effect=gain)


def test_subgroups_are_the_values_of_covariates_with_few_of_them_each_at_two_prices():
    found = list(subgroups.subgroups(a_world()))
    assert len(found) == 4
    assert {group.name for group in found} == {"planted: sex = 0.0", "planted: sex = 1.0"}
    for group in found:
        assert "sex" not in group.table  # it no longer varies
        own = 1.0 if group.name.endswith("0.0") else 3.0
        assert group.gain == pytest.approx(own - group.threshold)
        assert subgroups.oracle(group) == (group.gain > 0)


def test_the_gate_executes_clear_gains_and_refuses_clear_losses():
    world = a_world()
    men = next(group for group in subgroups.subgroups(world) if group.name.endswith("1.0"))
    cheap = subgroups.Subgroup(name="cheap", gain=2.5, threshold=0.5, table=men.table)
    dear = subgroups.Subgroup(name="dear", gain=-2.0, threshold=5.0, table=men.table)
    assert subgroups.gate_reason(cheap, PAPER) == "bound_met"
    assert subgroups.gate_reason(dear, PAPER) == "shown_harmful"
    assert subgroups.predictor(cheap)
    assert not subgroups.predictor(dear)


def test_ihdp_files_are_read_where_a_user_has_them(tmp_path, monkeypatch):
    monkeypatch.delenv("BUTFOR_IHDP", raising=False)
    assert subgroups.ihdp(3) is None
    monkeypatch.setenv("BUTFOR_IHDP", str(tmp_path))
    noise = numpy_generator("ihdp")
    with (tmp_path / "ihdp_npci_1.csv").open("w", newline="") as file:
        csv.writer(file).writerows([[i % 2, 1.0, 2.0, 0.5, 2.5, *noise.integers(0, 2, 25)] for i in range(400)])
    (world,) = subgroups.ihdp(3) or []
    assert world.effect.tolist() == [2.0] * 400
    assert world.z.tolist() == [0.0, 1.0] * 200
    (tmp_path / "ihdp_npci_2.csv").write_text("1,2,3\n")
    with pytest.raises(CorruptRecord):
        subgroups.ihdp(3)


def test_the_synthetic_log_tells_the_truth_to_who_weighs_it():
    log = bandit.synthetic(1, 0, rows=300_000)
    assert log.rates is not None
    weights = 1.0 / log.table["propensity_score"]
    found = np.array(
        [
            (weights * log.table["click"] * (log.table["item_id"] == item)).sum() / log.table["click"].size
            for item in log.items
        ]
    )
    assert np.abs(found - log.rates).max() < 0.012
    raw = np.array([log.table["click"][log.table["item_id"] == item].mean() for item in log.items])
    assert np.abs(raw - log.rates).max() > 0.012


def test_the_gate_shows_good_items_of_a_long_log_and_few_bad_ones():
    log = bandit.synthetic(2, 0, rows=16_000, items=12)
    good = bandit.oracle(log)
    for rule in (bandit.by_known_chances, bandit.by_adjustment):
        found = rule(log)
        assert (found & good).sum() >= 2
        assert (found & ~good).sum() <= 4  # of about six bad items at 5%: once in ten thousand, and this seed is fixed


def test_tables_that_were_not_fetched_are_not_run(tmp_path, monkeypatch):
    monkeypatch.setenv("BUTFOR_TABLES", str(tmp_path))
    monkeypatch.delenv("BUTFOR_IHDP", raising=False)
    report = find("decisions")(QUICK)
    assert [row["table"] for row in report.rows if row["method"] == "not run"] == [
        "ACIC 2016",
        "IHDP",
        "Open Bandit, real",
    ]
    assert [check.name for check in report.checks if not check.ok] == []
