"""A query on a graph as bitsets, over the measured variables only."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from butfor.errors import InputError
from butfor.graphs.projection import project
from butfor.graphs.relations import ancestors, descendants, without_arrows

if TYPE_CHECKING:
    from butfor.graphs import Edges, Graph
    from butfor.identification.query import Query


class Problem(NamedTuple):
    """A query after latent projection.

    Attributes:
        graph: The graph as given; bits are its node numbers.
        query: The query as given.
        edges: Its projection on the measured nodes.
        measured: The measured nodes.
        treatments: X.
        outcomes: Y.
        given: The stratum.
    """

    graph: Graph
    query: Query
    edges: Edges
    measured: int
    treatments: int
    outcomes: int
    given: int


def pose(graph: Graph, query: Query) -> Problem:
    """Turn a query into bitsets.

    Raises:
        InputError: The query names a node that is not in the graph or not measured.
    """
    measured = graph.measured
    if query.measured is not None:
        measured &= graph.mask(name for name in query.measured if name in graph)
    x, y, s = graph.mask(query.treatments), graph.mask(query.outcomes), graph.mask(query.given)
    if (x | y | s) & ~measured:
        name = graph.names_of((x | y | s) & ~measured)[0]
        raise InputError(f"the query names {name!r}, which is not measured", fix="ask about measured variables only")
    return Problem(graph, query, project(graph.edges, graph.all & ~measured), measured, x, y, s)


def acting_treatments(problem: Problem) -> int:
    """Return the treatments with a directed path to an outcome or the stratum that passes no other treatment.

    Setting the others changes nothing (rule 3 of do-calculus).
    """
    edges, x = problem.edges, problem.treatments
    above = ancestors(edges, problem.outcomes | problem.given, problem.measured & ~x)
    found, todo = 0, x
    while todo:
        low = todo & -todo
        todo ^= low
        if edges.children[low.bit_length() - 1] & above:
            found |= low
    return found


def causal_nodes(problem: Problem, acting: int) -> int:
    """Return the nodes after a treatment on proper causal paths to an outcome."""
    edges, rest = problem.edges, problem.measured & ~acting
    first, todo = 0, acting
    while todo:
        low = todo & -todo
        todo ^= low
        first |= edges.children[low.bit_length() - 1]
    above = ancestors(edges, problem.outcomes, rest)
    return descendants(edges, first & above, above)


def forbidden_nodes(problem: Problem, causal: int) -> int:
    """Return everything that a causal path moves: never adjusted for, never part of an instrument."""
    return descendants(problem.edges, causal, problem.measured)


def back_door_graph(problem: Problem, acting: int, causal: int) -> Edges:
    """Cut the first arrow of every proper causal path; what still connects treatment and outcome is confounding."""
    return without_arrows(problem.edges, acting, causal)
