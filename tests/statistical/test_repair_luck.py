"""Proposals that change nothing, at every base success rate and number of them; and true fixes, which are found."""

import pytest
from scipy.stats import binom

from butfor.benchmarks.harness import Settings
from butfor.benchmarks.luck import ALPHA, LIFTS, ONCE_IN, PROPOSALS, RATES, run
from butfor.repairs import RepairTest, Standard, TableExecutor


@pytest.mark.slow
def test_the_luck_table_holds_at_every_rate_and_number_of_proposals():
    report = run(Settings(quick=True, seed=7, options={}))
    assert len(report.rows) == len(RATES) * len(PROPOSALS) + len(LIFTS)
    assert [check.name for check in report.checks if not check.ok] == []


def test_candidates_that_come_one_by_one_in_view_of_the_verdicts_are_accepted_at_most_at_alpha():
    # The user keeps proposing until something is accepted: each candidate is chosen after the last verdict.
    failures, accepted = 60, 0
    for seed in range(failures):
        test, executor = RepairTest(standard=Standard(target=0.0, most=24)), TableExecutor(null=0.5, seed=seed)
        accepted += any(test.test(0, f"idea {i}", executor).accepted for i in range(6))
    assert accepted <= binom.ppf(1 - ONCE_IN, failures, ALPHA)


def test_a_proven_tail_that_is_as_good_as_the_null_arm_is_no_repair():
    # Both arms always succeed: whatever is proven about one of them, it is no better than the other.
    failures, accepted = 80, 0
    for seed in range(failures):
        executor = TableExecutor(null=1.0, success={"same": 1.0}, seed=seed, deterministic=lambda action: True)
        accepted += RepairTest(standard=Standard(most=48)).test(0, "same", executor).accepted
    assert accepted == 0
