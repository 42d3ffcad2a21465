"""The graphs of `speed --room identification`: textbook ones with known answers, and seeded random ones."""

from __future__ import annotations

import dataclasses
import random

from butfor.graphs import Graph, descendants
from butfor.identification import Query

# (name, arrows, latent edges, identified?); the effect asked for is that of T on Y.
_TEXTBOOK = (
    ("back-door", "Z1>T Z2>T Z1>Y Z3>Y Z2>Z3 T>Y", "", True),
    ("front-door", "T>M M>Y", "T-Y", True),
    ("front-door, confounded", "W>T W>Y T>M M>Y", "T-Y", True),
    ("two front doors", "T>M M>Y T>R R>E E>Y", "T-Y", True),
    ("bow", "T>Y", "T-Y", False),
    ("bow before a mediator", "T>M M>Y", "T-M", False),
    ("instrument", "Z>T T>Y", "T-Y", False),
    ("conditional instrument", "W>Z W>Y Z>T T>Y", "T-Y", False),
    ("napkin", "W1>W2 W2>T T>Y", "W1-T W1-Y", True),
    ("Tian 2002", "T>Z1 Z1>Y Z2>T Z2>Z1 Z2>Z3 Z3>Y", "T-Y T-Z2 T-Z3 Y-Z2", True),
    ("M-bias", "T>Y", "T-M M-Y", True),
    ("butterfly", "A>T A>M B>M B>Y M>T M>Y T>Y", "", True),
    ("Verma", "T>B B>C C>Y", "B-Y", True),
    ("mediator and confounder", "Z>T Z>M T>M M>Y", "", True),
    ("descendant of both", "T>M M>Y Z>T Z>Y T>C Y>C", "", True),
    ("no path", "Z>T Z>Y", "T-Y", True),
    ("reverse", "Y>T", "", True),
)

DENSITIES = {"sparse": (1.5, 0.25), "medium": (4.0, 0.5), "dense": (10.0, 1.0)}
"""Arrows and latent edges per node (fewer where a graph has no room for so many)."""


@dataclasses.dataclass(frozen=True, kw_only=True)
class Case:
    """One question on one graph.

    Attributes:
        group: ``textbook``, or the number of nodes and the density.
        name: The graph's name, or its number in the group.
        graph: The graph.
        query: The effect asked for.
    """

    group: str
    name: str
    graph: Graph
    query: Query


def textbook() -> list[Case]:
    """Return the textbook graphs."""
    cases = []
    for name, arrows, latent, _ in _TEXTBOOK:
        directed = [tuple(edge.split(">")) for edge in arrows.split()]
        bidirected = [tuple(edge.split("-")) for edge in latent.split()]
        graph = Graph.of(directed=[(a, b) for a, b in directed], bidirected=[(a, b) for a, b in bidirected])
        cases.append(Case(group="textbook", name=name, graph=graph, query=Query.effect("T", "Y")))
    return cases


def known_answers() -> dict[str, bool]:
    """Return, by textbook graph, whether the effect is identified."""
    return {name: identified for name, _, _, identified in _TEXTBOOK}


def random_cases(nodes: int, density: str, count: int, seed: int) -> list[Case]:
    """Draw graphs; the effect asked for is that of a random node on a random descendant."""
    draw = random.Random(f"{seed}/{nodes}/{density}")
    cases = []
    for k in range(count):
        graph = _draw_graph(draw, nodes, *DENSITIES[density])
        cases.append(Case(group=f"{nodes} {density}", name=str(k), graph=graph, query=_draw_query(draw, graph)))
    return cases


def _draw_graph(draw: random.Random, nodes: int, arrows: float, latent: float) -> Graph:
    names = [f"V{i}" for i in range(nodes)]
    room = nodes * (nodes - 1) // 2
    directed: set[tuple[str, str]] = set()
    bidirected: set[tuple[str, str]] = set()
    while len(directed) < min(int(arrows * nodes), room):
        i, j = sorted(draw.sample(range(nodes), 2))
        directed.add((names[i], names[j]))
    while len(bidirected) < min(int(latent * nodes), room):
        i, j = sorted(draw.sample(range(nodes), 2))
        bidirected.add((names[i], names[j]))
    return Graph.of(nodes=names, directed=sorted(directed), bidirected=sorted(bidirected))


def _draw_query(draw: random.Random, graph: Graph) -> Query:
    while True:
        i = draw.randrange(len(graph.names))
        below = descendants(graph.edges, 1 << i, graph.all) & ~(1 << i)
        if below:
            return Query.effect(graph.names[i], draw.choice(graph.names_of(below)))
