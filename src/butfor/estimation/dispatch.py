"""The estimator that a proof asks for."""

from __future__ import annotations

import dataclasses
import types
from typing import TYPE_CHECKING, Literal, TypeAlias, get_args

import numpy as np

from butfor.errors import InputError
from butfor.estimation.answers import Effect, EffectEstimate, Insufficient
from butfor.estimation.cells import Cells
from butfor.estimation.questions import Contrast, Level, Randomised
from butfor.identification import Adjustment, FrontDoor, GeneralId, Instrument, NoEffect, Proof

if TYPE_CHECKING:
    from collections.abc import Mapping

    from butfor.estimation.columns import Columns
    from butfor.estimation.questions import Target
    from butfor.graphs import Graph
    from butfor.identification import Query

Method: TypeAlias = Literal["saturated", "series", "linear", "boosted", "ols", "ols_as_published"]

# So many units a stratum and arm, on average, before all-discrete confounders are saturated; else a series is fitted.
UNITS_A_CELL = 5
_NO_STRATUM: Mapping[str, float | str] = types.MappingProxyType({})


def estimate(
    query: Query,
    proof: Proof | Randomised,
    data: Columns | Cells,
    *,
    target: Target | None = None,
    alpha: float = 0.05,
    outcome_range: tuple[float, float] | None = None,
    within: Mapping[str, float | str] = _NO_STRATUM,
    method: Method | None = None,
    graph: Graph | None = None,
    seed: int = 0,
) -> Effect:
    """Estimate what a query asks, by the estimator that its proof calls for.

    Estimand: E[Y | do(t*)] − E[Y | do(t0)] or E[Y | do(t*)], within the stratum that the query names.
    Assumptions: the proof's graph, and those that the answer lists.
    Guarantee: the answer names it. The lower bound is above the truth with probability at most alpha.
    Reference: each estimator's own.

    Args:
        query: The question.
        proof: Why the effect is identified, or `Randomised` for trial data.
        data: Units, or cells of discrete strata.
        target: What is compared; by default treatment 1 against 0.
        alpha: Level of each one-sided bound.
        outcome_range: Lowest and highest possible outcome, declared; gives trial data a finite-sample bound, and a
            0/1 outcome that never varied any bound at all.
        within: Value of each stratum variable of the query.
        method: How to adjust; by default saturated where all confounders are discrete, else a series.
        graph: The proof's graph; general identification needs it to write its formula.
        seed: Of fold assignment and bootstrap.

    Returns:
        An estimate, or the reason why there is none.

    Raises:
        InputError: Proof, query and data do not belong together, or a column is missing.
    """
    asked = Contrast() if target is None else target
    _check(query, proof, data, alpha, within, method)
    if query.given and isinstance(proof, Proof) and not isinstance(proof.argument, Adjustment | NoEffect):
        return _not_within(query, proof)
    data = _stratum(query, data, within)
    if isinstance(data, Cells):
        return _from_cells(proof, data, asked, alpha)
    early = _refuse_target(data, asked)
    if early is not None:
        return early
    if isinstance(proof, Randomised):
        return _randomised(proof, data, asked, alpha, outcome_range, seed)
    argument = proof.argument
    if isinstance(argument, NoEffect):
        return _no_effect(data, asked, alpha)
    if isinstance(argument, Adjustment):
        return _adjusted(argument.adjust_for, data, asked, alpha, method, outcome_range, seed)
    if isinstance(argument, FrontDoor):
        from butfor.estimation.front_door import front_door

        return front_door(data, argument.mediators, target=asked, alpha=alpha)
    if isinstance(argument, Instrument):
        from butfor.estimation.instrument import instrumented

        return instrumented(data, argument, target=asked, alpha=alpha)
    assert isinstance(argument, GeneralId)
    from butfor.estimation.general import plug_in

    if graph is None:
        raise InputError("general identification needs the graph to write its formula", fix="pass graph=")
    return plug_in(data, proof, graph, target=asked, alpha=alpha, seed=seed)


def _check(
    query: Query,
    proof: Proof | Randomised,
    data: Columns | Cells,
    alpha: float,
    within: Mapping[str, float | str],
    method: str | None,
) -> None:
    if not 0.0 < alpha < 0.5:
        raise InputError(f"alpha {alpha!r} is not a level", fix="choose one in (0, 0.5)")
    if method is not None and method not in get_args(Method):
        raise InputError(f"there is no method {method!r}", fix=f"choose one of {', '.join(get_args(Method))}")
    if isinstance(proof, Proof) and proof.query != query:
        raise InputError("the proof answers another query", fix="pass the query that it was made for")
    if query.treatments != (data.treatment,) or query.outcomes != (data.outcome,):
        raise InputError(
            f"the evidence is about {data.treatment!r} and {data.outcome!r}, the query about "
            f"{', '.join(query.treatments)} and {', '.join(query.outcomes)}",
            fix="name the query's treatment and outcome in the evidence",
        )
    if set(within) != set(query.given):
        raise InputError(f"the stratum is {sorted(within)}, the query's {sorted(query.given)}", fix="give each a value")


def _not_within(query: Query, proof: Proof) -> Insufficient:
    # Their formulas use units outside the stratum too: on the stratum's units alone they answer another question.
    return Insufficient(
        reason_code="unsupported",
        sentence=(
            f"an effect within {', '.join(query.given)} is estimated by adjustment, and this one is identified by "
            f"{proof.kind}"
        ),
    )


def _stratum(query: Query, data: Columns | Cells, within: Mapping[str, float | str]) -> Columns | Cells:
    for name in query.given:
        if isinstance(data, Cells):
            data = data.within(name, float(within[name]))
        else:
            data = data.where(data.table[name] == data.value(name, within[name]))
    return data


def _refuse_target(columns: Columns, target: Target) -> Insufficient | None:
    if columns.n == 0:
        return Insufficient(reason_code="insufficient_evidence", sentence="the stratum has no units")
    if isinstance(target, Level):
        columns.value(columns.treatment, target.at)
    else:
        columns.value(columns.treatment, target.to)
        columns.value(columns.treatment, target.against)
    return None


def _randomised(
    proof: Randomised,
    columns: Columns,
    target: Target,
    alpha: float,
    outcome_range: tuple[float, float] | None,
    seed: int,
) -> Effect:
    from butfor.estimation.randomised import adjusted_difference, bounded_difference, difference_in_means

    uneven = columns.probability is not None and not _one_rate(columns)
    if outcome_range is not None and not uneven and columns.clusters is None and not proof.adjust_for:
        return bounded_difference(columns, target=target, outcome_range=outcome_range, alpha=alpha)
    if proof.adjust_for or uneven or columns.clusters is not None:
        return adjusted_difference(columns, proof.adjust_for, target=target, alpha=alpha, seed=seed)
    return difference_in_means(columns, target=target, alpha=alpha)


def _one_rate(columns: Columns) -> bool:
    """Tell whether every unit had one probability of each treatment value."""
    assert columns.probability is not None
    rates = np.unique(np.column_stack([columns.t, columns.probability]), axis=0)
    return bool(rates.shape[0] == np.unique(columns.t).size)


def _adjusted(
    names: tuple[str, ...],
    columns: Columns,
    target: Target,
    alpha: float,
    method: Method | None,
    outcome_range: tuple[float, float] | None,
    seed: int,
) -> Effect:
    columns.require(names)
    chosen = method or default_method(names, columns)
    if chosen == "saturated":
        from butfor.estimation.saturated import saturated

        return saturated(columns, names, target=target, alpha=alpha, outcome_range=outcome_range)
    if chosen in ("ols", "ols_as_published"):
        from butfor.estimation.least_squares import ols_as_published, ols_robust

        least_squares = ols_robust if chosen == "ols" else ols_as_published
        return least_squares(columns, names, target=target, alpha=alpha)
    if chosen == "boosted":
        from butfor.estimation.boosted import aipw_boosted

        return aipw_boosted(columns, names, target=target, alpha=alpha, seed=seed)
    if columns.treatment not in columns.discrete:
        from butfor.estimation.continuous import partially_linear

        return partially_linear(columns, names, target=target, alpha=alpha, seed=seed)
    from butfor.estimation.aipw import aipw_linear, aipw_series

    augmented = aipw_linear if chosen == "linear" else aipw_series
    return augmented(columns, names, target=target, alpha=alpha, seed=seed)


def default_method(names: tuple[str, ...], columns: Columns) -> Method:
    """Return how to adjust where nobody says: by treatment and covariates alone, never by the outcome."""
    if columns.treatment not in columns.discrete or not columns.discrete.issuperset(names):
        return "series"
    strata = 1
    for name in names:
        strata *= int(columns.table[name].max() - columns.table[name].min()) + 1
    if strata * UNITS_A_CELL > columns.n:
        strata = len(np.unique(columns.matrix(names), axis=0))
    arms = int(columns.t.max() - columns.t.min()) + 1
    return "saturated" if strata * arms * UNITS_A_CELL <= columns.n else "series"


def _no_effect(columns: Columns, target: Target, alpha: float) -> Effect:
    """A contrast is 0 by the graph; a level is the mean of all units."""
    if isinstance(target, Contrast):
        return EffectEstimate(
            point=0.0,
            lower=0.0,
            upper=0.0,
            alpha=alpha,
            n_per_arm={"all": columns.n},
            target="contrast",
            estimator="none: no directed path",
            assumptions=(),
            diagnostics={},
            guarantee="finite_sample",
        )
    from butfor.estimation.randomised import difference_in_means

    everyone = dataclasses.replace(columns, table={**columns.table, columns.treatment: np.zeros(columns.n)}, levels={})
    return difference_in_means(everyone, target=Level(at=0.0), alpha=alpha)


def _from_cells(proof: Proof | Randomised, cells: Cells, target: Target, alpha: float) -> Effect:
    from butfor.estimation.standardise import standardise

    argument = proof if isinstance(proof, Randomised) else proof.argument
    if isinstance(argument, Randomised):
        return standardise(cells.over(argument.adjust_for), target=target, alpha=alpha)
    if isinstance(argument, Adjustment):
        return standardise(cells.over(argument.adjust_for), target=target, alpha=alpha)
    return Insufficient(
        reason_code="unsupported",
        sentence=f"cells do not hold what a proof by {argument.kind} needs: pass the rows",
    )
