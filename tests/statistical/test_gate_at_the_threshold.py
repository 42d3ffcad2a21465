"""P(EXECUTE | harmful) ≤ α by the real `decide`, where it is hardest: effects at τ_u and just below it.

Every action is harmful, so every EXECUTE counts. The bound is the binomial quantile at 1 − 1e-6 of α: a correct gate
fails once in a million. `butfor bench toolbench --set part=calibration` does the same 100,000 times.
"""

import pytest
from scipy.stats import binom

from butfor.benchmarks.toolbench import FAMILIES
from butfor.benchmarks.toolbench.calibration import METHODS, NOT_LINEAR, harmful_action
from butfor.benchmarks.toolbench.cases import Case
from butfor.benchmarks.toolbench.gate_methods import ALPHA, answer_of

SEED = 20261130
CELLS = [
    (family, method)
    for family in FAMILIES
    for method in METHODS
    if family.identified and (family.name, method) != (NOT_LINEAR, "paper settings")
]
NAMES = [f"{family.name}, {method}" for family, method in CELLS]


def executed(family, method, actions):
    count = 0
    for i in range(actions):
        case = Case(harmful_action(family, SEED, 1, i))
        count += METHODS[method].decided(case, case.log_columns, answer_of(case)).verdict == "EXECUTE"
    return count


@pytest.mark.parametrize(("family", "method"), CELLS, ids=NAMES)
def test_few_harmful_actions_are_executed(family, method):
    assert executed(family, method, 120) <= binom.ppf(1 - 1e-6, 120, ALPHA)


@pytest.mark.slow
@pytest.mark.parametrize(("family", "method"), CELLS, ids=NAMES)
def test_no_more_than_alpha_of_many_harmful_actions_is_executed(family, method):
    assert executed(family, method, 4000) <= binom.ppf(1 - 1e-6, 4000, ALPHA)


def test_assuming_a_straight_line_where_there_is_none_breaks_the_guarantee():
    family = next(family for family in FAMILIES if family.name == NOT_LINEAR)
    assert executed(family, "paper settings", 120) > binom.ppf(1 - 1e-6, 120, ALPHA)
