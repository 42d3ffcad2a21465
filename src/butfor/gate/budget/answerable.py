"""The questions that an evidence can answer: every stratum and treatment value that occur in it.

They are known before any outcome is looked at, so each can have an equal part of the error level, fixed beforehand.
Then the order of asking does not matter: an agent that reads the evidence first, and asks for the best of ten strata
without effect, passes with probability α at most. With levels by order of asking it passed 26.7% of the time.
"""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING, TypeAlias

import numpy as np

from butfor.estimation.cells import Cells

if TYPE_CHECKING:
    from collections.abc import Mapping

    from butfor.gate.inputs import Sample
    from butfor.gate.policy.model import Entry

Value: TypeAlias = float | str
Question: TypeAlias = "tuple[Value, Mapping[str, Value]]"
"""A treatment value t*, and the value of each stratum variable."""

# With more questions an equal part of α = .05 is below .0005, where hardly a bound is above τ_u.
MOST_QUESTIONS = 100


def listed(entry: Entry, sample: Sample | None, to: Value) -> tuple[Question, ...] | None:
    """List the questions among which an entry's error level is divided in equal parts.

    Args:
        entry: The policy entry.
        sample: The evidence; only an entry that declares its questions, or names shares, can do without.
        to: t* of the call.

    Returns:
        The questions; None where levels follow the order of asking: the entry names shares, or there is no list.
    """
    budget, treatment = entry.budget, entry.treatment
    if budget.hypotheses is not None:
        return tuple((each.to, each.stratum) for each in budget.hypotheses)
    if sample is None or budget.shares or budget.other_agents is not None:
        return None
    chosen_by_call = not isinstance(treatment.to, float | int | str)
    return answerable(
        sample,
        treatment=treatment.name,
        to=None if chosen_by_call else to,
        against=treatment.against,
        strata=entry.strata,
    )


def answerable(
    sample: Sample, *, treatment: str, to: Value | None, against: Value, strata: tuple[str, ...]
) -> tuple[Question, ...] | None:
    """List the questions that a sample can answer; outcomes are not read.

    Args:
        sample: The evidence.
        treatment: Its treatment.
        to: t* where every call sets the same; None where calls choose among the values that occur.
        against: t0, which is no question.
        strata: Names of the stratum variables.

    Returns:
        The questions in a fixed order; None where a column is continuous or there are more than `MOST_QUESTIONS`.
    """
    values = [_values(sample, name) for name in strata]
    targets = [to] if to is not None else _values(sample, treatment)
    if targets is None or any(found is None for found in values):
        return None
    lists = [found for found in values if found is not None]
    asked = [target for target in targets if target != against]
    count = len(asked)
    for found in lists:
        count *= len(found)
    if not 0 < count <= MOST_QUESTIONS:
        return None
    return tuple(
        (target, dict(zip(strata, stratum, strict=True))) for target in asked for stratum in itertools.product(*lists)
    )


def _values(sample: Sample, name: str) -> list[Value] | None:
    """Return the values of a discrete column; None for a continuous or absent one."""
    data = sample.data
    if isinstance(data, Cells):
        if name == data.treatment:
            codes = data.arms
        elif name in data.strata:
            codes = np.unique(data.keys[:, data.strata.index(name)])
        else:
            return None
        texts = sample.levels.get(name)
    else:
        if name not in data.discrete:
            return None
        codes = np.unique(data.table[name])
        texts = data.levels.get(name)
    return [float(code) for code in codes] if not texts else [texts[int(code)] for code in codes]
