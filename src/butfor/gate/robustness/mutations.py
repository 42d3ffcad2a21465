"""Every single-edge change of the graph, and the verdict with it."""

from __future__ import annotations

import dataclasses
from itertools import combinations
from typing import TYPE_CHECKING

from butfor.errors import InputError
from butfor.gate.decide import decide
from butfor.gate.inputs import answer_for
from butfor.gate.robustness.report import Mutant
from butfor.gate.rules import Demands
from butfor.graphs import Graph
from butfor.identification import Adjustment, Hedge, Proof

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from butfor.gate.decide import Decision
    from butfor.gate.inputs import Inputs
    from butfor.gate.rules import Mutation

# A change that leaves the argument as it is costs 50 µs, another one an estimate: 400 of them are a second or two.
MOST_CHANGES = 400


@dataclasses.dataclass(frozen=True, kw_only=True)
class Change:
    """A change of the graph.

    Attributes:
        kind: What is changed.
        edge: The change in words.
        graph: The changed graph.
        hides_a_cause: Whether the new edge is treatment ↔ outcome, which no data can refute or survive.
    """

    kind: Mutation
    edge: str
    graph: Graph
    hides_a_cause: bool = False


def mutants(inputs: Inputs) -> tuple[Mutant, ...] | None:
    """Decide again under every single-edge change, on the same evidence.

    A missing latent edge between treatment and outcome always destroys identification; it is judged by strength.

    Returns:
        One mutant a change that leaves an acyclic graph; None where there are more than `MOST_CHANGES`.
    """
    found = list(changes(inputs))
    if len(found) > MOST_CHANGES:
        return None
    plain = dataclasses.replace(inputs.rules, demands=Demands(), trial=None)
    base = dataclasses.replace(inputs, rules=plain, robustness=None)
    known: dict[object, Decision] = {}
    return tuple(_judged(base, change, known) for change in found)


def changes(inputs: Inputs) -> Iterator[Change]:
    """Yield the changes: latent edges, reversed arrows, confounders that are in truth effects of both."""
    graph, query = inputs.graph, inputs.query
    latent = set(graph.bidirected)
    asked = {query.treatments[0], query.outcomes[0]}
    for one, other in combinations(sorted(graph.names_of(graph.measured)), 2):
        if (one, other) not in latent:
            changed = _graph(graph, graph.directed, [*latent, (one, other)])
            edge = f"{one} <-> {other}"
            yield Change(kind="latent_edge", edge=edge, graph=changed, hides_a_cause={one, other} == asked)
    for tail, head in graph.directed:
        if {tail, head} == asked:
            continue  # a tool call comes before its outcome
        arrows = [(head, tail) if pair == (tail, head) else pair for pair in graph.directed]
        yield from _acyclic("reversed_arrow", f"{head} -> {tail}", graph, arrows)
    yield from _bad_controls(inputs)


def _bad_controls(inputs: Inputs) -> Iterator[Change]:
    """Take each adjusted covariate for a common effect of treatment and outcome."""
    argument = inputs.answer.argument if isinstance(inputs.answer, Proof) else None
    if not isinstance(argument, Adjustment):
        return
    t, y = inputs.query.treatments[0], inputs.query.outcomes[0]
    for name in argument.adjust_for:
        kept = [pair for pair in inputs.graph.directed if name not in pair]
        later = [pair for pair in inputs.graph.directed if pair[0] == name and pair[1] not in (t, y)]
        arrows = [*kept, *later, (t, name), (y, name)]
        yield from _acyclic("bad_control", f"{t} -> {name} <- {y}", inputs.graph, arrows)


def _acyclic(kind: Mutation, edge: str, graph: Graph, arrows: Iterable[tuple[str, str]]) -> Iterator[Change]:
    try:
        changed = _graph(graph, sorted(set(arrows)), graph.bidirected)
    except InputError:
        return  # it closes a cycle, so the world cannot be so
    yield Change(kind=kind, edge=edge, graph=changed)


def _graph(graph: Graph, directed: Iterable[tuple[str, str]], bidirected: Iterable[tuple[str, str]]) -> Graph:
    nodes = dict(zip(graph.names, graph.roles, strict=True))
    return Graph.of(nodes=nodes, directed=directed, bidirected=bidirected)


def _judged(base: Inputs, change: Change, known: dict[object, Decision]) -> Mutant:
    answer = answer_for(change.graph, base.query, instrument=base.rules.instrument)
    # Proofs with the same argument are estimated the same way, whatever else the graph says.
    key = answer.argument if isinstance(answer, Proof) else "hedge"
    if key not in known or not isinstance(answer, Proof):
        known[key] = decide(dataclasses.replace(base, graph=change.graph, answer=answer))
    decision = known[key]
    return Mutant(
        kind=change.kind,
        edge=change.edge,
        verdict=decision.verdict,
        words=_words(base, answer, decision),
        judged_by_strength=change.hides_a_cause and isinstance(answer, Hedge),
    )


def _words(base: Inputs, answer: object, decision: Decision) -> str:
    if isinstance(answer, Hedge):
        return "the effect is no longer identified"
    assert isinstance(answer, Proof)
    same = isinstance(base.answer, Proof) and answer.argument == base.answer.argument
    proof = "the same proof" if same else f"a proof by {answer.kind}"
    if isinstance(answer.argument, Adjustment) and not same:
        proof += f" for {', '.join(answer.argument.adjust_for) or 'nothing'}"
    bound = "no bound" if decision.lower is None else f"lower bound {decision.lower:.4g}"
    return f"{proof}, {bound}"
