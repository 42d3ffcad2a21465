"""General identification: sound and complete, with a derivation or a hedge.

P(y | do(x)) is a sum of products of Q[D_i], D_i the districts of the ancestors of y without x. Each Q[D_i] is reached
from the observed joint by two rules in turn, or the search is stuck in a district that is all ancestors: a hedge.

Reference:
    Tian and Pearl, AAAI 2002; Shpitser and Pearl, AAAI 2006; Huang and Valtorta, AAAI 2006 (completeness).
"""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING

from butfor.graphs.parts import bits
from butfor.graphs.relations import ancestors, district, districts
from butfor.identification.proof import GeneralId, Hedge, Proof, Rule, Step

if TYPE_CHECKING:
    from butfor.graphs import Edges
    from butfor.identification.problem import Problem


def prove_in_general(problem: Problem, moved: tuple[int, ...] = ()) -> Proof | Hedge:
    """Derive every factor of P(y, given without moved | do(x, moved)), or show the hedge.

    Args:
        problem: The posed query.
        moved: Node numbers of stratum variables that count as treatments, in order.
    """
    doing = problem.treatments | sum(1 << i for i in moved)
    looking = problem.outcomes | problem.given & ~doing
    edges = problem.edges
    relevant = ancestors(edges, looking, problem.measured & ~doing)
    derivation = _Derivation(problem)
    field, start = derivation.restrict(problem.measured, -1, ancestors(edges, looking, problem.measured))
    factors = []
    for target in districts(edges, relevant):
        outer, at = derivation.reduce(target, field, start)
        if outer != target:
            return _hedge(problem, moved, doing, outer, target)
        factors.append(at)
    names = problem.graph.names
    argument = GeneralId(moved=tuple(names[i] for i in moved), steps=tuple(derivation.steps), factors=tuple(factors))
    return Proof(graph=problem.graph.digest, query=problem.query, argument=argument)


class _Derivation:
    """The steps so far; a step that was taken before is shared, not repeated."""

    def __init__(self, problem: Problem) -> None:
        self.problem = problem
        self.steps: list[Step] = []
        self._taken: dict[tuple[int, int], int] = {}

    def restrict(self, field: int, at: int, keep: int) -> tuple[int, int]:
        """Sum out all but an ancestral set; nothing to do where it is everything."""
        return (field, at) if keep == field else (keep, self._step(at, "ancestral", keep))

    def reduce(self, target: int, field: int, at: int) -> tuple[int, int]:
        """Alternate both rules towards a district; return where that ends, which is the target or a stuck district."""
        edges = self.problem.edges
        while True:
            inside = district(edges, target & -target, field)
            if inside != field:
                field, at = inside, self._step(at, "district", inside)
            if field == target:
                return field, at
            above = ancestors(edges, target, field)
            if above == field:
                return field, at
            field, at = self.restrict(field, at, above)

    def _step(self, at: int, rule: Rule, keep: int) -> int:
        known = self._taken.get((at, keep))
        if known is None:
            known = self._taken[at, keep] = len(self.steps)
            self.steps.append(Step(of=at, rule=rule, keep=self.problem.graph.names_of(keep)))
        return known


def _hedge(problem: Problem, moved: tuple[int, ...], doing: int, outer: int, inner: int) -> Hedge:
    graph, edges = problem.graph, problem.edges
    roots = sum(1 << i for i in bits(inner) if not edges.children[i] & inner)
    path = _shortest_latent_path(edges, outer & doing, inner, outer)
    return Hedge(
        graph=graph.digest,
        query=problem.query,
        moved=tuple(graph.names[i] for i in moved),
        outer=graph.names_of(outer),
        inner=graph.names_of(inner),
        roots=graph.names_of(roots),
        blocking=tuple((graph.names[i], graph.names[j]) for i, j in pairwise(path)),
    )


def _shortest_latent_path(edges: Edges, start: int, goal: int, within: int) -> list[int]:
    """Return the node numbers of a shortest bidirected path from one set to another."""
    layers = [start]
    seen = start
    while not layers[-1] & goal:
        spread = 0
        for i in bits(layers[-1]):
            spread |= edges.spouses[i]
        layers.append(spread & within & ~seen)
        seen |= spread
    near = layers[-1] & goal
    path = [(near & -near).bit_length() - 1]
    for layer in reversed(layers[:-1]):
        back = edges.spouses[path[-1]] & layer
        path.append((back & -back).bit_length() - 1)
    return path[::-1]
