import numpy as np

from butfor.benchmarks import Settings, find
from butfor.benchmarks.coverage.bench import Tally, mirrored
from butfor.benchmarks.coverage.worlds import QUERY, WORLDS
from butfor.estimation import EffectEstimate, Insufficient
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


def test_mirrors_turn_the_truth():
    table = {"t": np.array([0.0, 1.0]), "y": np.array([2.0, 3.0])}
    turned, truth = mirrored(table, 0.7, "1 − T")
    assert (turned["t"].tolist(), turned["y"].tolist(), truth) == ([1.0, 0.0], [2.0, 3.0], -0.7)
    turned, truth = mirrored(table, 0.7, "−Y")
    assert (turned["t"].tolist(), turned["y"].tolist(), truth) == ([0.0, 1.0], [-2.0, -3.0], -0.7)


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
