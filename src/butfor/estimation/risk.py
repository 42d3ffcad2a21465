"""Upper bounds on what doing it may cost: the chance of harm, and the expected loss."""

from __future__ import annotations

import dataclasses
import types
from typing import TYPE_CHECKING

import numpy as np

from butfor.errors import InputError
from butfor.estimation.answers import Effect, EffectEstimate
from butfor.estimation.dispatch import estimate
from butfor.estimation.questions import Level

if TYPE_CHECKING:
    from collections.abc import Mapping

    from butfor.estimation.columns import Columns
    from butfor.estimation.dispatch import Method
    from butfor.estimation.questions import Randomised
    from butfor.graphs import Graph
    from butfor.identification import Proof, Query


def harm(
    query: Query,
    proof: Proof | Randomised,
    columns: Columns,
    *,
    at: float | str,
    below: float,
    alpha: float = 0.05,
    method: Method | None = None,
    graph: Graph | None = None,
    within: Mapping[str, float | str] | None = None,
) -> Effect:
    """Bound P(Y < the harm line | do(T = at)); the bound to use is `upper`.

    Estimand: P(Y < below | do(T = at)).
    Assumptions and guarantee: those of the estimator that the proof calls for, on the outcome 1{Y < below}.
    Reference: Neyman–Pearson classification's bound on the probability of the costly event.

    Args:
        query: The question.
        proof: Why the level is identified.
        columns: The units.
        at: The treatment value.
        below: The harm line.
        alpha: Level of the upper bound.
        method: How to adjust.
        graph: The proof's graph, for general identification.
        within: Value of each stratum variable.

    Raises:
        InputError: As `estimate`.
    """
    harmed = (columns.y < below).astype(np.float64)
    known = {} if within is None else dict(within)
    outcome = _with_outcome(columns, harmed)
    asked = estimate(
        query,
        proof,
        outcome,
        target=Level(at=at),
        alpha=alpha,
        method=method,
        graph=graph,
        within=known,
        outcome_range=(0.0, 1.0),
    )
    if not isinstance(asked, EffectEstimate) or asked.upper is None:
        return asked
    # A chance lies in [0, 1]; a bound outside it says no more.
    return dataclasses.replace(
        asked,
        lower=max(0.0, asked.lower),
        upper=min(1.0, asked.upper),
        estimator=f"P(outcome < {below:g}): {asked.estimator}",
    )


def expected_loss(
    query: Query,
    proof: Proof | Randomised,
    columns: Columns,
    *,
    at: float | str,
    loss: Mapping[float, float] | None = None,
    alpha: float = 0.05,
    outcome_range: tuple[float, float] | None = None,
    method: Method | None = None,
    graph: Graph | None = None,
    within: Mapping[str, float | str] | None = None,
) -> Effect:
    """Bound E[loss(Y) | do(T = at)]; the bound to use is `upper`.

    Estimand: E[loss(Y) | do(T = at)]; without a table the loss is −Y.
    Assumptions and guarantee: those of the estimator that the proof calls for, on the loss.
    Reference: as `estimate`.

    Args:
        query: The question.
        proof: Why the level is identified.
        columns: The units.
        at: The treatment value.
        loss: Loss of each outcome value, for outcomes of few values.
        alpha: Level of the upper bound.
        outcome_range: Lowest and highest possible loss, declared.
        method: How to adjust.
        graph: The proof's graph, for general identification.
        within: Value of each stratum variable.

    Raises:
        InputError: An outcome has no loss; otherwise as `estimate`.
    """
    if loss is None:
        lost = -columns.y
    else:
        values, place = np.unique(columns.y, return_inverse=True)
        missing = [value for value in values.tolist() if value not in loss]
        if missing:
            raise InputError(f"the outcome {missing[0]:g} has no loss", fix="give a loss for every outcome value")
        lost = np.array([loss[value] for value in values.tolist()], dtype=np.float64)[place]
    return estimate(
        query,
        proof,
        _with_outcome(columns, lost),
        target=Level(at=at),
        alpha=alpha,
        outcome_range=outcome_range,
        method=method,
        graph=graph,
        within={} if within is None else dict(within),
    )


def _with_outcome(columns: Columns, y: np.ndarray[tuple[int], np.dtype[np.float64]]) -> Columns:
    table = types.MappingProxyType({**columns.table, columns.outcome: y})
    few = np.unique(y).size <= 2
    discrete = columns.discrete - {columns.outcome} | ({columns.outcome} if few else set())
    return dataclasses.replace(columns, table=table, discrete=frozenset(discrete))
