import json

import numpy as np
import pytest

from butfor.benchmarks import Settings, find
from butfor.benchmarks.coverage.draws import turned
from butfor.benchmarks.coverage.kept import Kept, fingerprint
from butfor.benchmarks.coverage.tally import Tally
from butfor.benchmarks.coverage.worlds import QUERY, WORLDS, World
from butfor.errors import CorruptRecord
from butfor.estimation import Contrast, EffectEstimate, Insufficient, Level
from butfor.identification import Proof, check


def estimate_with(lower):
    return EffectEstimate(
        point=1.0,
        lower=lower,
        upper=None,
        alpha=0.05,
        n_per_arm={},
        target="contrast",
        estimator="",
        assumptions=(),
        diagnostics={},
        guarantee="asymptotic",
    )


def test_a_miss_counts_among_answers_and_among_all():
    tally = Tally()
    for lower in (0.5, 1.5, 0.9):
        tally.enter(estimate_with(lower), 1.0)
    tally.enter(Insufficient(reason_code="positivity", sentence=""), 1.0)
    row = tally.row("w", 10, "as drawn", "ours")
    assert (row["refused"], row["missed among answers"], row["missed of all"]) == (0.25, 0.3333, 0.25)


def test_a_sweep_goes_on_where_it_was_cut_off(tmp_path):
    path = tmp_path / "cells.jsonl"
    options = {"worlds": "discrete cells", "n": "100", "repetitions": "4", "peers": "no", "keep": str(path)}
    sweep = Settings(quick=True, seed=1, options=options)
    once = find("coverage")(sweep)
    first, *others = path.read_text().splitlines()
    # A line that came from elsewhere is recognised by what it says: a hundred repetitions all missed.
    marked = json.loads(first)
    marked["tallies"]["butfor, default"]["misses"] = 100
    path.write_text("\n".join([json.dumps(marked), *others[:-1], others[-1][:40]]))
    again = find("coverage")(sweep)
    assert again.rows[0]["missed of all"] == 25.0
    assert again.rows[1:] == once.rows[1:]
    assert len(path.read_text().splitlines()) == len(others) + 1
    # Another seed draws again.
    assert find("coverage")(Settings(quick=True, seed=2, options=options)).rows[0]["missed of all"] <= 1.0


def test_a_broken_line_is_named(tmp_path):
    path = tmp_path / "cells.jsonl"
    path.write_text("{}\n{}\n")
    with pytest.raises(CorruptRecord, match="1"):
        Kept(str(path))


def test_a_cell_depends_on_its_table_and_on_the_sources_that_answer_it():
    worlds = {world.name: world for world in WORLDS}
    marks = [fingerprint(worlds[name], 100, 1) for name in ("linear", "curved", "front-door, linear")]
    assert len({mark["table"] for mark in marks}) == 3
    assert marks[1]["code"] != marks[2]["code"]
    assert fingerprint(worlds["curved"], 100, 1) == marks[1]


TABLE = {"t": np.array([0.0, 1.0]), "y": np.array([2.0, 3.0])}


def in_orientation(target, mirror):
    world = World(name="w", draw=lambda rng, n: TABLE, truth=0.7, target=target)
    one = turned(world, TABLE, mirror)
    return one.table["t"].tolist(), one.table["y"].tolist(), one.target, one.truth


def test_mirrors_turn_the_truth_of_a_contrast():
    contrast = Contrast()
    assert in_orientation(contrast, "as drawn") == ([0.0, 1.0], [2.0, 3.0], contrast, 0.7)
    assert in_orientation(contrast, "1 − T") == ([1.0, 0.0], [2.0, 3.0], contrast, -0.7)
    assert in_orientation(contrast, "−Y") == ([0.0, 1.0], [-2.0, -3.0], contrast, -0.7)


def test_a_level_is_asked_for_where_the_treatment_went():
    assert in_orientation(Level(at=1.0), "1 − T") == ([1.0, 0.0], [2.0, 3.0], Level(at=0.0), 0.7)
    assert in_orientation(Level(at=1.0), "−Y") == ([0.0, 1.0], [-2.0, -3.0], Level(at=1.0), -0.7)


def test_the_checker_accepts_every_worlds_proof():
    for world in WORLDS:
        if isinstance(world.proof, Proof):
            assert world.graph is not None
            assert check(world.graph, QUERY, world.proof).ok


def test_effects_of_large_samples_are_the_worlds_truths():
    # The naive difference of a trial with many units is its truth; the confounded worlds are checked by coverage.
    for world in WORLDS:
        if world.graph is None:
            table = world.draw(np.random.default_rng(1), 400_000)
            gap = table["y"][table["t"] == 1].mean() - table["y"][table["t"] == 0].mean()
            assert abs(gap - world.truth) < 0.03


def test_speed_of_estimation_reports_every_row_at_a_small_size():
    options = {"n": "20000", "peers": "no"}
    report = find("speed:estimation")(Settings(quick=True, seed=1, options=options))
    assert [row["method"].split(",")[0] for row in report.rows] == ["butfor"] * 3
    assert report.checks[-1].ok
