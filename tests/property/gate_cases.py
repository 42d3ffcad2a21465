"""Random decisions: graphs, queries, every degenerate kind of evidence, thresholds that are no number, wrong proofs."""

from __future__ import annotations

import dataclasses
import math
from typing import TYPE_CHECKING, Any

import numpy as np

from butfor.errors import ButforError, InputError
from butfor.estimation import Cells, Columns
from butfor.estimation.questions import Randomised
from butfor.gate import DEFAULT, PAPER, Demands, Inputs, Rules, Sample, Trial, answer_for
from butfor.gate.robustness import examine
from butfor.graphs import Graph
from butfor.identification import Adjustment, Hedge, Proof, Query

if TYPE_CHECKING:
    from random import Random

    from butfor.gate.inputs import Answer

ODD = (math.nan, math.inf, -math.inf, 1e308, -1e308, 5e-324, 0.0, -0.0, 1e-300)
NAMES = ("a", "b", "c", "d")
KINDS: tuple[Any, ...] = ("observational", "randomised", "mixed", "policy-confounded")


def case(rng: Random) -> Inputs | None:
    """Draw one decision; None where the evidence or the question was refused before there was any."""
    graph, given = _graph(rng)
    try:
        data, levels = _data(rng, graph)
        query = Query.effect("t", "y", within=given)
        sample = _sample(rng, data, levels)
        rules = _rules(rng, data)
        within = {name: _value(rng, data, name) for name in given}
        answer = _answer(rng, graph, query, sample, rules)
        made = Inputs(
            graph=graph, query=query, answer=answer, sample=sample, rules=rules, within=within, alpha=_alpha(rng)
        )
        return dataclasses.replace(made, robustness=examine(made)) if rng.random() < 0.1 else made
    except ButforError:
        return None


def _graph(rng: Random) -> tuple[Graph, tuple[str, ...]]:
    names = ["t", "y", *NAMES[: rng.randrange(0, 4)]]
    order = names[:]
    rng.shuffle(order)
    directed = [(one, other) for i, one in enumerate(order) for other in order[i + 1 :] if rng.random() < 0.45]
    bidirected = [(one, other) for i, one in enumerate(names) for other in names[i + 1 :] if rng.random() < 0.12]
    roles: dict[str, Any] = {"t": "treatment", "y": "outcome", **dict.fromkeys(names[2:], "state")}
    for name in names[2:]:
        if rng.random() < 0.1:
            roles[name] = "latent"
    graph = Graph.of(nodes=roles, directed=directed, bidirected=bidirected)
    measured = [name for name in names[2:] if roles[name] != "latent"]
    given = tuple(name for name in measured if rng.random() < 0.2)[:1]
    return graph, given


def _data(rng: Random, graph: Graph) -> tuple[Columns, dict[str, tuple[str, ...]]]:
    """Draw evidence; most of it is ordinary, and each way to be degenerate comes up."""
    numpy = np.random.default_rng(rng.getrandbits(63))
    n = rng.choice((1, 2, 3, 7, 25, 60, 120, 250, 600))
    table: dict[str, Any] = {}
    for name in graph.names:
        if name not in ("t", "y") and rng.random() < 0.97:
            table[name] = _column(rng, numpy, n)
    base = sum(
        (np.asarray(each, dtype=float) for each in table.values() if np.asarray(each).dtype.kind in "bif"), np.zeros(n)
    )
    lean = np.clip(0.5 + 0.1 * (base - base.mean()), 0.02, 0.98)
    table["t"] = (numpy.random(n) < lean).astype(float)
    effect = rng.choice((-1.0, -0.3, 0.0, 0.0, 0.3, 1.0))
    if rng.random() < 0.5:
        table["y"] = (
            numpy.random(n) < np.clip(0.4 + effect * table["t"] * 0.5 + 0.05 * (base - base.mean()), 0, 1)
        ).astype(float)
    else:
        table["y"] = effect * table["t"] + numpy.normal(size=n) * rng.choice((0.0, 1e-12, 0.5, 1.0)) + 0.3 * base
    _spoil(rng, numpy, table, n)
    clusters = "k" if rng.random() < 0.1 else None
    time = "s" if rng.random() < 0.1 else None
    if clusters:
        table["k"] = numpy.integers(0, rng.choice((1, 5, 40)), n)
    if time:
        table["s"] = np.sort(numpy.random(n)) if rng.random() < 0.7 else np.zeros(n)
    names = [name for name in table if name not in ("t", "y", "k", "s")]
    columns = Columns.of(table, treatment="t", outcome="y", covariates=names, clusters=clusters, time=time)
    return columns, dict(columns.levels)


def _column(rng: Random, numpy: np.random.Generator, n: int) -> Any:
    kind = rng.randrange(6)
    if kind == 0:
        return numpy.normal(size=n)
    if kind == 1:
        return [("low", "high")[i] for i in numpy.integers(0, 2, n)]
    if kind == 2:
        return np.zeros(n)
    return numpy.integers(0, rng.choice((2, 3, 60)), n).astype(float)


def _spoil(rng: Random, numpy: np.random.Generator, table: dict[str, Any], n: int) -> None:
    """Make the evidence degenerate in one of many ways, or not at all."""
    way = rng.randrange(30)
    if way == 0:
        table["y"] = np.full(n, 0.1)
    elif way == 1:
        table["t"] = np.ones(n)
    elif way == 2:
        table["y"] = table["t"].copy() + rng.choice((0.0, 1e-13)) * numpy.normal(size=n)
    elif way == 3:
        table["y"][rng.randrange(n)] = rng.choice(ODD)
    elif way == 4:
        table["t"] = np.zeros(n)
        table["t"][rng.randrange(n)] = 1.0
    elif way == 5:
        table["y"] = table["y"] * rng.choice((1e150, 1e300, 1e-200))
    elif way == 6 and len(table) > 2:
        name = next(name for name in table if name not in ("t", "y"))
        table[name] = table["t"].copy()
    elif way == 7:
        table["t"] = numpy.normal(size=n)
    elif way == 8:
        table["t"] = numpy.integers(0, 4, n).astype(float)
    elif way == 9:
        table["y"] = table["y"].astype(int) * 10**15


def _value(rng: Random, columns: Columns, name: str) -> float | str:
    if rng.random() < 0.05:
        return rng.choice((99.0, "never", math.nan))
    if name in columns.levels:
        return rng.choice(columns.levels[name])
    values = columns.table[name] if name in columns.table else np.zeros(1)
    return float(values[rng.randrange(values.size)])


def _sample(rng: Random, columns: Columns, levels: dict[str, tuple[str, ...]]) -> Sample:
    kind: Any = rng.choice(KINDS) if rng.random() < 0.3 else "observational"
    age = rng.choice((None, 0.0, 10.0, math.nan, -1.0))
    if rng.random() < 0.25:
        cells = Cells.of(columns, [name for name in columns.covariates if name in columns.discrete])
        return Sample(data=cells, kind=kind, digest=f"{rng.random()}", age=age, levels=levels)
    return Sample(data=columns, kind=kind, digest=f"{rng.random()}", age=age)


def _rules(rng: Random, columns: Columns) -> Rules:
    low, high = float(columns.y.min()), float(columns.y.max())
    ranges = (None, (0.0, 1.0), (low, high) if low < high else None, (low - 1.0, high + 1.0), (0.0, 0.5))
    declared = rng.choice(ranges)
    trial = Trial(arms=(0.0, 1.0), most_units=100, effect=0.1) if rng.random() < 0.4 else None
    return Rules(
        to=rng.choice((1.0, 1.0, 1.0, 0.0, 2.0, "x")),
        against=rng.choice((0.0, 0.0, 0.0, 3.0)),
        bound_on=rng.choice(("contrast", "contrast", "level")),
        tau_u=_number(rng, (-1.0, -0.2, 0.0, 0.0, 0.1, 0.5)),
        tau_c=_number(rng, (0.5, 0.5, 0.0)),
        tau_r=rng.choice((None, 0.2, 0.6, 1.0, math.nan, 1e9)),
        alpha=_number(rng, (0.05, 0.05, 0.3)),
        harm_line=rng.choice((None, 0.5, 0.0, math.nan)),
        outcome_range=declared,
        two_valued=rng.random() < 0.3 and declared is not None,
        cost=_number(rng, (0.0, 0.1, 0.4, 0.9)),
        reversible=rng.random() < 0.5,
        trial=trial,
        max_age=rng.choice((None, None, None, 5.0, math.nan)),
        instrument=rng.choice((None, None, ("a", "monotonicity"), ("b", "linear_effect"))),
        demands=_demands(rng),
        preset=rng.choice((DEFAULT, DEFAULT, PAPER)),
    )


def _demands(rng: Random) -> Demands:
    if rng.random() < 0.85:
        return Demands()
    return Demands(
        falsification=rng.random() < 0.5,
        mutations=rng.choice(((), ("latent_edge",), ("reversed_arrow", "bad_control"))),
        robustness=rng.choice((None, 0.0, 0.05, math.nan)),
        odds_factor=rng.choice((None, 1.0, 1.3)),
    )


def _number(rng: Random, ordinary: tuple[float, ...]) -> float:
    return rng.choice(ODD) if rng.random() < 0.02 else rng.choice(ordinary)


def _alpha(rng: Random) -> float | None:
    if rng.random() < 0.1:
        return rng.choice((0.001, 1e-9, 0.0, 0.5, -1.0, math.nan))
    return None


def _answer(rng: Random, graph: Graph, query: Query, sample: Sample, rules: Rules) -> Answer:
    """Draw the right answer mostly; else one that proves nothing."""
    way = rng.random()
    if way < 0.05:
        return Randomised()
    if way < 0.1:
        chosen = tuple(name for name in graph.names if name not in ("t", "y") and rng.random() < 0.5)
        return Proof(graph=graph.digest, query=query, argument=Adjustment(acting=("t",), adjust_for=chosen))
    if way < 0.12:
        other = Graph.of(nodes=["t", "y"], directed=[("t", "y")])
        return answer_for(other, Query.effect("t", "y"))
    if way < 0.14:
        return Hedge(
            graph=graph.digest,
            query=query,
            moved=(),
            outer=("t", "y"),
            inner=("y",),
            roots=("y",),
            blocking=(("t", "y"),),
        )
    try:
        return answer_for(graph, query, randomised=sample.kind == "randomised", instrument=rules.instrument)
    except InputError:
        return answer_for(graph, query)
