"""A short version of `butfor bench coverage` that can fail, and the whole of it, which is slow."""

import pytest

from butfor.benchmarks import Settings, find

SEED = 20261130
# Cells that are cheap to draw often; the others are in the slow sweep.
CHEAP = "trial, normal;trial, rare 2%;discrete cells;discrete cells, rare 3%;front-door, discrete;instrument;peeking"


def failed(options, *, quick):
    report = find("coverage")(Settings(quick=quick, seed=SEED, options={"peers": "no", **options}))
    return [check.name for check in report.checks if not check.ok], report


def test_cheap_worlds_keep_their_level():
    wrong, report = failed({"worlds": CHEAP, "n": "500", "repetitions": "150"}, quick=True)
    assert wrong == []
    assert len(report.rows) > 50


def test_series_keep_their_level_where_confounding_is_curved_and_straight_lines_do_not():
    wrong, report = failed({"worlds": "curved", "n": "500", "repetitions": "40"}, quick=True)
    assert wrong == []
    # The same check fails for the paper's default: it can fail.
    paper = [row for row in report.rows if row["mirror"] == "as drawn" and "paper" in row["method"]]
    assert paper[0]["missed of all"] > 0.9


def test_picked_functions_keep_their_level_among_many_covariates():
    wrong, report = failed({"worlds": "many covariates, curved", "n": "500", "repetitions": "20"}, quick=True)
    assert wrong == []
    paper = [row for row in report.rows if row["mirror"] == "as drawn" and "paper" in row["method"]]
    assert paper[0]["missed of all"] > 0.9


def test_hardly_any_answer_without_overlap():
    wrong, report = failed({"worlds": "little overlap", "n": "500", "repetitions": "25"}, quick=True)
    assert wrong == []
    ours = [row for row in report.rows if row["method"] == "butfor, default"]
    assert all(row["refused"] > 0.7 for row in ours)


@pytest.mark.slow
def test_every_world_keeps_its_level():
    wrong, _ = failed({"repetitions": "300"}, quick=False)
    assert wrong == []
