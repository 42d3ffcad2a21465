"""m-separation and separating sets.

Two nodes are m-connected given Z exactly when they are joined, avoiding Z, in the augmented graph of the ancestors of
all three sets, where a district and its parents form a clique (Richardson 2003). The clique is never written out: a
district is one hub that is visited once, which makes a search linear in the edges.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from butfor.graphs.relations import ancestors, district, parents_of

if TYPE_CHECKING:
    from butfor.graphs.admg import Graph
    from butfor.graphs.parts import Edges


def m_separated(graph: Graph, one: tuple[str, ...], other: tuple[str, ...], given: tuple[str, ...] = ()) -> bool:
    """Say whether every path between two sets of nodes is blocked by a third.

    Raises:
        butfor.errors.InputError: A node is not in the graph.
    """
    a, b, z = graph.mask(one), graph.mask(other), graph.mask(given)
    return not connected(graph.edges, a & ~z, b & ~z, z, graph.all)


def connected(edges: Edges, one: int, other: int, given: int, within: int) -> bool:
    """Say whether some path between the (disjoint) bitsets is open given the third."""
    if one & other:
        return True
    field = ancestors(edges, one | other | given, within)
    return bool(reach(edges, one, field, given, other) & other)


def reach(edges: Edges, start: int, field: int, blocked: int, stop: int = 0) -> int:
    """Return what start is joined to in the augmented graph on the ancestral set `field`.

    Blocked nodes are reached but never passed. The search ends early once it meets `stop`.
    """
    children = edges.children
    seen = start
    todo = start
    visited = 0
    while todo:
        low = todo & -todo
        todo ^= low
        hubs = (low | children[low.bit_length() - 1]) & field & ~visited
        while hubs:
            hub = district(edges, hubs & -hubs, field)
            visited |= hub
            hubs &= ~hub
            new = (hub | parents_of(edges, hub)) & field & ~seen
            seen |= new
            todo |= new & ~blocked
        if seen & stop:
            break
    return seen


def open_from(edges: Edges, start: int, given: int, within: int) -> int:
    """Return every node, start included, that some path from start reaches open given the third bitset.

    Reference:
        Shachter, *Bayes-ball*, UAI 1998: one pass, each node at most once by arrowhead and once by tail.
    """
    parents, children, spouses = edges
    above_given = ancestors(edges, given, within)
    by_head = by_tail = heads = 0
    tails = start & ~given
    while heads | tails:
        if tails:
            low = tails & -tails
            i = low.bit_length() - 1
            by_tail |= low
            into, out = children[i] | spouses[i], parents[i]
        else:
            low = heads & -heads
            i = low.bit_length() - 1
            by_head |= low
            into, out = (0 if given & low else children[i]), 0
            if above_given & low:
                into, out = into | spouses[i], parents[i]
        heads = (heads | into & within) & ~by_head
        tails = (tails | out & within & ~given) & ~by_tail
    return (by_head | by_tail) & ~given


def minimal_separator(edges: Edges, one: int, other: int, required: int, allowed: int, within: int) -> int | None:
    """Find a separating set that contains `required`, lies in `allowed` and has no smaller one of that kind inside it.

    Among minimal ones it is the set nearest to `other`.

    Returns:
        The bitset (with `required`), or None where no separating set exists.

    Reference:
        van der Zander and Liśkiewicz, *Finding minimal d-separators in linear time and applications*, UAI 2019.
    """
    field = ancestors(edges, one | other | required, within)
    candidates = (field & allowed & ~one & ~other) | required
    near_other = reach(edges, other, field, candidates, one)
    if near_other & one:
        return None
    kept = (candidates & near_other) | required
    return (kept & reach(edges, one, field, kept)) | required
