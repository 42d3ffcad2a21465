"""Kinship in a graph and in its induced subgraphs, and graphs with edges cut.

Every function takes the nodes that count as a bitset, so a subgraph costs nothing to make. A set is swept from its
highest bit for ancestors and from its lowest for descendants: in topological order each node is visited once.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from butfor.graphs.parts import Edges, bits

if TYPE_CHECKING:
    from collections.abc import Iterator


def ancestors(edges: Edges, seeds: int, within: int) -> int:
    """Return the ancestors of seeds, seeds included, in the subgraph on `within`."""
    parents = edges.parents
    found = todo = seeds & within
    # Nodes not yet found that still could be: once none is left the rest of the sweep has nothing to add.
    left = within & ~found & ((1 << found.bit_length()) - 1)
    while todo and left:
        i = todo.bit_length() - 1
        new = parents[i] & left
        left ^= new
        found |= new
        todo ^= (1 << i) | new
    return found


def descendants(edges: Edges, seeds: int, within: int) -> int:
    """Return the descendants of seeds, seeds included, in the subgraph on `within`."""
    children = edges.children
    found = todo = seeds & within
    left = within & ~found & -(found & -found)
    while todo and left:
        low = todo & -todo
        new = children[low.bit_length() - 1] & left
        left ^= new
        found |= new
        todo ^= low | new
    return found


def district(edges: Edges, seed: int, within: int) -> int:
    """Return the nodes joined to seed (a bitset) by bidirected paths in the subgraph on `within`."""
    spouses = edges.spouses
    found = todo = seed & within
    left = within & ~found
    while todo and left:
        low = todo & -todo
        new = spouses[low.bit_length() - 1] & left
        left ^= new
        found |= new
        todo ^= low | new
    return found


def districts(edges: Edges, within: int) -> Iterator[int]:
    """Yield the districts (c-components) of the subgraph on `within`, the one with the lowest node first."""
    while within:
        found = district(edges, within & -within, within)
        yield found
        within &= ~found


def parents_of(edges: Edges, nodes: int) -> int:
    """Return every parent of a node in the set."""
    found = 0
    for i in bits(nodes):
        found |= edges.parents[i]
    return found


def without_arrows(edges: Edges, tails: int, heads: int) -> Edges:
    """Cut every arrow from a node of tails to a node of heads."""
    parents, children = list(edges.parents), list(edges.children)
    for i in bits(tails):
        for j in bits(children[i] & heads):
            parents[j] &= ~(1 << i)
        children[i] &= ~heads
    return Edges(parents, children, edges.spouses)


def without_arrowheads_into(edges: Edges, nodes: int) -> Edges:
    """Cut every edge, directed or not, with an arrowhead at one of the nodes: what do() does to a graph."""
    parents, children, spouses = list(edges.parents), list(edges.children), list(edges.spouses)
    for i in bits(nodes):
        for j in bits(parents[i]):
            children[j] &= ~(1 << i)
        for j in bits(spouses[i]):
            spouses[j] &= ~(1 << i)
        parents[i] = spouses[i] = 0
    return Edges(parents, children, spouses)
