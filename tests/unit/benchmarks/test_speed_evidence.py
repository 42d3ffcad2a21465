"""The benchmark of evidence runs and compares sums, whatever the times are."""

from butfor.benchmarks import Settings
from butfor.benchmarks.speed_evidence import speed_evidence


def test_it_says_whether_the_sums_agree():
    report = speed_evidence(Settings(quick=True, seed=1, options={}))
    assert [check.value for check in report.checks if "differ" in check.name] == [0, 0]
    assert [row["outcome"] for row in report.rows] == ["0/1", "graded"]
