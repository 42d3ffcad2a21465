"""What a certificate says of its own fragility: falsification, single-edge changes, hidden causes by strength."""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING

import numpy as np

from butfor.confidence import Undefined
from butfor.errors import ButforError
from butfor.estimation.columns import Columns
from butfor.estimation.falsification import falsify
from butfor.gate.coding import code_of
from butfor.gate.overflow import overflow_refused
from butfor.gate.robustness.mutations import mutants
from butfor.gate.robustness.report import Robustness, Strength
from butfor.gate.rules import SMALLEST_LEVEL
from butfor.identification import Adjustment, Proof

if TYPE_CHECKING:
    from butfor.estimation.falsification import Falsification
    from butfor.gate.inputs import Inputs

# Independence tests on so many rows see a dependence of Cohen's w = 0.05; more rows only take longer.
MOST_TESTED = 20_000
# Beyond so many rows mutations and strength are examined only where the policy demands them.
MOST_SHOWN = 50_000
FALSIFICATION_LEVEL = 0.01


def examine(inputs: Inputs, *, show: bool = True) -> Robustness | None:
    """Examine the graph and the verdict on the evidence.

    Args:
        inputs: What is decided from; its own robustness is not read.
        show: Whether to examine mutations and strength for the certificate where the policy does not demand them.

    Returns:
        What was found; None for cells, which hold no rows to test, and for randomised rows, which need no graph.
    """
    data, demands = inputs.sample.data, inputs.rules.demands
    if (
        not isinstance(data, Columns)
        or not isinstance(inputs.answer, Proof)
        or not SMALLEST_LEVEL <= inputs.level < 0.5
    ):
        return None
    few = show and data.n <= MOST_SHOWN
    wants_strength = demands.robustness is not None or demands.odds_factor is not None
    return Robustness(
        falsification=falsification_of(inputs, data),
        mutants=mutants(inputs) if few or demands.mutations else None,
        strength=strength_of(inputs, data) if few or wants_strength else None,
    )


def falsification_of(inputs: Inputs, columns: Columns) -> Falsification | None:
    """Test what the graph implies; None where no test can be run."""
    rows = columns
    if columns.n > MOST_TESTED:
        step = -(-columns.n // MOST_TESTED)
        rows = columns.where(np.arange(columns.n) % step == 0)
    try:
        with overflow_refused():
            return falsify(rows, inputs.graph, alpha=FALSIFICATION_LEVEL)
    except ButforError:
        return None


def strength_of(inputs: Inputs, columns: Columns) -> Strength | None:
    """Say how strong a hidden cause of treatment and outcome must be to flip the answer.

    Estimand: the contrast, for a proof by adjustment.
    Assumptions, guarantee, reference: see `linear_sensitivity` and `tipping_factor`.

    Returns:
        Both measures; None for a level, or a proof of another kind.
    """
    answer, rules = inputs.answer, inputs.rules
    if not (isinstance(answer, Proof) and isinstance(answer.argument, Adjustment)) or rules.bound_on != "contrast":
        return None
    names = answer.argument.adjust_for
    try:
        with overflow_refused():
            found = _within(inputs, columns)
            if found is None or found.n < 3:
                return None
            found.require(names)
            share, share_words = _share(inputs, found, names)
            factor, factor_words = _factor(inputs, found, names)
    except ButforError:
        return None
    return Strength(robustness=share, odds_factor=factor, words=" ".join(filter(None, (share_words, factor_words))))


def _within(inputs: Inputs, columns: Columns) -> Columns | None:
    columns.require(inputs.query.given)
    for name in inputs.query.given:
        code = code_of(inputs.sample, name, inputs.within[name])
        columns = columns.where(columns.table[name] == (np.nan if code is None else code))
    return columns if columns.n and not (columns.t == columns.t[0]).all() else None


def _share(inputs: Inputs, columns: Columns, names: tuple[str, ...]) -> tuple[float | None, str]:
    """Return the robustness value of the lower bound; the linear model compares t* = 1 with t0 = 0 only."""
    from butfor.estimation.sensitivity import linear_sensitivity

    rules = inputs.rules
    pair = [columns.value(columns.treatment, value) for value in (rules.to, rules.against)]
    two = bool(np.isin(columns.t, pair).all())
    if not two:
        return None, ""
    # The regression's coefficient is for one unit of the treatment, so t* becomes 1 and t0 becomes 0.
    table = {**columns.table, columns.treatment: (columns.t == pair[0]).astype(float)}
    coded = dataclasses.replace(
        columns,
        table=table,
        levels={name: texts for name, texts in columns.levels.items() if name != columns.treatment},
    )
    found = linear_sensitivity(coded, names, threshold=rules.tau_u, alpha=inputs.level)
    if isinstance(found, Undefined):
        return None, ""
    value = float(found.robustness_of_bound)
    return (value, found.in_words()) if np.isfinite(value) else (None, "")


def _factor(inputs: Inputs, columns: Columns, names: tuple[str, ...]) -> tuple[float | None, str]:
    from butfor.estimation.marginal import factor_in_words, tipping_factor

    rules = inputs.rules
    if not columns.discrete.issuperset(names):
        return None, ""
    to, against = (columns.value(columns.treatment, value) for value in (rules.to, rules.against))
    found = tipping_factor(columns, names, level=to, reference=against, threshold=rules.tau_u, alpha=inputs.level)
    return (None, "") if isinstance(found, Undefined) else (float(found), factor_in_words(float(found)))
