"""Which questions an evidence can answer."""

import numpy as np

from butfor.estimation import Cells, Columns
from butfor.gate.budget.answerable import MOST_QUESTIONS, answerable
from butfor.gate.inputs import Sample


def columns(tiers=("gold", "silver"), **more) -> Columns:
    n = 12
    table = {
        "T": np.arange(n) % 3,
        "Y": np.linspace(0.0, 1.0, n),
        "tier": np.array([tiers[(i // 3) % len(tiers)] for i in range(n)]),
        **more,
    }
    return Columns.of(table, treatment="T", outcome="Y")


def test_every_stratum_and_treatment_value_that_occurs_is_a_question():
    found = answerable(Sample(data=columns()), treatment="T", to=None, against=0.0, strata=("tier",))
    assert found == (
        (1.0, {"tier": "gold"}),
        (1.0, {"tier": "silver"}),
        (2.0, {"tier": "gold"}),
        (2.0, {"tier": "silver"}),
    )


def test_cells_have_the_questions_of_their_rows():
    rows = columns()
    cells = Sample(data=Cells.of(rows, ["tier"]), levels=rows.levels)
    assert answerable(cells, treatment="T", to=None, against=0.0, strata=("tier",)) == answerable(
        Sample(data=rows), treatment="T", to=None, against=0.0, strata=("tier",)
    )


def test_a_policy_that_always_sets_one_value_has_a_question_a_stratum():
    assert answerable(Sample(data=columns()), treatment="T", to=1.0, against=0.0, strata=()) == ((1.0, {}),)


def test_outcomes_are_not_read():
    one, other = columns(), columns(Y=np.arange(12)[::-1] / 11)
    assert answerable(Sample(data=one), treatment="T", to=None, against=0.0, strata=("tier",)) == answerable(
        Sample(data=other), treatment="T", to=None, against=0.0, strata=("tier",)
    )


def test_continuous_strata_and_endless_lists_cannot_be_listed():
    load = np.linspace(0.1, 0.9, 12)
    assert answerable(Sample(data=columns(load=load)), treatment="T", to=1.0, against=0.0, strata=("load",)) is None
    many = {f"z{i}": (np.arange(12) >> (i % 3)) % 2 for i in range(7)}
    rows = columns(**{name: values + (np.arange(12) == i) for i, (name, values) in enumerate(many.items())})
    assert MOST_QUESTIONS < 2**7
    assert answerable(Sample(data=rows), treatment="T", to=1.0, against=0.0, strata=tuple(many)) is None
