"""What would turn a hedge into a proof: what to measure, what to randomise, what to assume."""

from __future__ import annotations

import dataclasses
import heapq
import math
from typing import TYPE_CHECKING, Literal

from butfor.errors import InputError
from butfor.graphs import Graph
from butfor.graphs.relations import ancestors, descendants
from butfor.identification.answer import identify
from butfor.identification.instrument import find_instruments
from butfor.identification.problem import pose
from butfor.identification.proof import ASSUMPTIONS, Hedge, Instrument, Proof
from butfor.identification.words import hidden_causes, listed

if TYPE_CHECKING:
    from collections.abc import Mapping

    from butfor.identification.query import Query

# The search is over hitting sets of hedges. A question costs about 10 µs a node, so this is at most 0.4 s.
_QUESTIONS_TIMES_NODES = 40_000


@dataclasses.dataclass(frozen=True, kw_only=True)
class Remedy:
    """One way to an answer.

    Attributes:
        kind: ``measure``, ``randomise`` or ``assume``.
        variables: What to measure (a name, or ``A <-> B`` for the unnamed common cause of two), what to randomise, or
            the instrument.
        cost: Total cost of measuring, in the units that the caller gave; None for the other kinds.
        cheapest: Whether no cheaper measurement would do (the search ran to its end).
        text: The advice in words.
    """

    kind: Literal["measure", "randomise", "assume"]
    variables: tuple[str, ...]
    cost: float | None
    cheapest: bool
    text: str


def remedies(graph: Graph, hedge: Hedge, *, costs: Mapping[str, float] | None = None) -> tuple[Remedy, ...]:
    """Find what would make the effect identified.

    Args:
        graph: The graph of the hedge.
        hedge: Why the query is not identified.
        costs: Cost of measuring, by variable name or by ``A <-> B`` (names sorted) for a common cause that the graph
            does not name; 1 where not given, ``inf`` for what cannot be measured.

    Returns:
        The cheapest measurements first, then what to randomise, then instruments with their assumption. Each
        measurement and randomisation was verified to give a proof.

    Raises:
        InputError: The hedge is about another graph, or a cost is negative or not a number.
    """
    if hedge.graph != graph.digest:
        raise InputError("the hedge is about another graph", fix="pass the graph that it was made for")
    costs = costs or {}
    if any(not cost >= 0 for cost in costs.values()):
        raise InputError("a cost is negative or not a number", fix="use costs from 0 to inf")
    measured = _cheapest_measurement(graph, hedge.query, costs)
    return (*([measured] if measured else []), *_randomisations(graph, hedge), *_instruments(graph, hedge.query))


def _cheapest_measurement(graph: Graph, query: Query, costs: Mapping[str, float]) -> Remedy | None:
    """Search sets by rising cost. One that works breaks every hedge, so each step adds what can break the one found."""
    waiting: list[tuple[float, tuple[str, ...]]] = [(0.0, ())]
    seen: set[tuple[str, ...]] = {()}
    for _ in range(_QUESTIONS_TIMES_NODES // (len(graph.names) + 1)):
        if not waiting:
            return None
        cost, chosen = heapq.heappop(waiting)
        answer = _with_measured(graph, query, chosen)
        if isinstance(answer, Proof):
            return _measure(chosen, cost, cheapest=True)
        for each in _breakers(graph, query, answer, chosen):
            more = tuple(sorted((*chosen, each)))
            price = cost + costs.get(each, 1.0)
            if more not in seen and not math.isinf(price):
                seen.add(more)
                heapq.heappush(waiting, (price, more))
    return _some_measurement(graph, query, costs)


def _some_measurement(graph: Graph, query: Query, costs: Mapping[str, float]) -> Remedy | None:
    """Break one hedge after the other on its own latent path, then leave out what is not needed, dearest first."""
    chosen: tuple[str, ...] = ()
    while isinstance(answer := _with_measured(graph, query, chosen), Hedge):
        can = [each for each in _breakers(graph, query, answer, chosen) if not math.isinf(costs.get(each, 1.0))]
        if not can:
            return None
        path = {f"{one} <-> {other}" for pair in answer.blocking for one, other in (pair, pair[::-1])}
        path |= {name for pair in answer.blocking for name in hidden_causes(graph, answer, *pair)}
        chosen = (*chosen, min(can, key=lambda each: (each not in path, costs.get(each, 1.0), each)))
    for each in sorted(chosen, key=lambda name: costs.get(name, 1.0), reverse=True):
        fewer = tuple(other for other in chosen if other != each)
        if isinstance(_with_measured(graph, query, fewer), Proof):
            chosen = fewer
    return _measure(tuple(sorted(chosen)), sum(costs.get(each, 1.0) for each in chosen), cheapest=False)


def _measure(chosen: tuple[str, ...], cost: float, *, cheapest: bool) -> Remedy:
    words = [f"the common cause of {listed(each.split(' <-> '))}" if " <-> " in each else each for each in chosen]
    text = f"Measure {listed(words)}: with it the effect is identified."
    return Remedy(kind="measure", variables=chosen, cost=cost, cheapest=cheapest, text=text)


def _unmeasured(graph: Graph, query: Query) -> list[str]:
    known = set(graph.names_of(graph.measured)) if query.measured is None else set(query.measured)
    return [n for n, role in zip(graph.names, graph.roles, strict=True) if role == "latent" or n not in known]


def _unnamed(graph: Graph) -> list[str]:
    return [f"{one} <-> {other}" for one, other in graph.bidirected]


def _breakers(graph: Graph, query: Query, hedge: Hedge, chosen: tuple[str, ...]) -> list[str]:
    """Name the measurements that could break a hedge: unmeasured ancestors, and common causes inside its outer set."""
    named = graph.mask((*query.treatments, *query.outcomes, *query.given))
    above = set(graph.names_of(ancestors(graph.edges, named, graph.all)))
    hidden = set(_unmeasured(graph, query))
    inside = set(hedge.outer)
    found = [name for name in hidden if name in above]
    for one, other in graph.bidirected:
        if all(end in inside or end in hidden for end in (one, other)):
            found.append(f"{one} <-> {other}")
    return sorted(set(found) - set(chosen))


def _with_measured(graph: Graph, query: Query, chosen: tuple[str, ...]) -> Proof | Hedge:
    """Ask the query again with these measured; an unnamed common cause becomes a node."""
    picked = set(chosen)
    latent = {name for name in graph.with_role("latent") if name not in picked}
    nodes = list(graph.names)
    directed, bidirected = graph.directed, []
    for one, other in graph.bidirected:
        cause = f"{one} <-> {other}"
        if cause in picked:
            nodes.append(cause)
            directed += [(cause, one), (cause, other)]
        else:
            bidirected.append((one, other))
    roles = {name: "latent" if name in latent else "state" for name in nodes}
    known = None if query.measured is None else tuple(sorted({*query.measured, *picked}))
    wider = dataclasses.replace(query, measured=known)
    return identify(Graph.of(nodes=roles, directed=directed, bidirected=bidirected), wider)


def _randomisations(graph: Graph, hedge: Hedge) -> list[Remedy]:
    """Find single variables whose randomisation identifies the effect: the treatment, or one that acts only through it.

    Reference:
        Bareinboim and Pearl, *Causal inference by surrogate experiments: z-identifiability*, UAI 2012.
    """
    query, problem = hedge.query, pose(graph, hedge.query)
    found = []
    for name in sorted(hedge.outer, key=lambda each: each not in query.treatments):
        i = graph.number(name)
        around = descendants(problem.edges, 1 << i, problem.measured & ~problem.treatments)
        indirect = name not in query.treatments
        if indirect and (query.given or name in query.outcomes or around & problem.outcomes):
            continue
        if isinstance(identify(_randomised(graph, i), query), Proof):
            rest = f", and adjust as the graph then says; {name} must really be assigned at random" if indirect else ""
            text = f"Randomise {name}{rest}."
            found.append(Remedy(kind="randomise", variables=(name,), cost=None, cheapest=False, text=text))
    if not found:
        text = f"Randomise {listed(query.treatments)}."
        found.append(Remedy(kind="randomise", variables=query.treatments, cost=None, cheapest=False, text=text))
    return found


def _randomised(graph: Graph, i: int) -> Graph:
    name = graph.names[i]
    return Graph.of(
        nodes=dict(zip(graph.names, graph.roles, strict=True)),
        directed=[(tail, head) for tail, head in graph.directed if head != name],
        bidirected=[pair for pair in graph.bidirected if name not in pair],
    )


def _instruments(graph: Graph, query: Query) -> list[Remedy]:
    if len(query.treatments) > 1 or len(query.outcomes) > 1 or query.given:
        return []
    found = []
    for assumption, words in ASSUMPTIONS.items():
        for proof in find_instruments(graph, query, assumption=assumption):
            argument = proof.argument
            assert isinstance(argument, Instrument)
            given = f" given {listed(argument.adjust_for)}" if argument.adjust_for else ""
            text = f"Use {argument.instrument} as an instrument{given}, if you are willing to assume that {words}."
            kept = (argument.instrument,)
            found.append(Remedy(kind="assume", variables=kept, cost=None, cheapest=False, text=text))
    return found
