"""The benchmark of the store says what it measured."""

from butfor.benchmarks import Settings, find


def test_a_rollout_costs_little_more_than_its_bytes():
    report = find("speed:store")(Settings(quick=True, seed=1, options={}))
    assert [row["what"] for row in report.rows] == ["Store.save_rollout", "zstd + SHA-256 + sqlite3 by hand"]
    assert report.settings["seed"] == 1
    assert 15_000 < report.settings["bytes"] < 25_000
    # The absolute bound depends on the machine, so only the benchmark itself holds us to it.
    ratio = report.checks[1]
    assert ratio.ok, ratio
