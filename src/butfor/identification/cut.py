"""The separating set of the smallest total cost, as a minimum cut.

In the augmented graph a district and its parents form a clique. Each clique becomes one hub of unlimited capacity, and
each node that may be in the set an edge whose capacity is its cost, so the network is linear in the graph.
"""

from __future__ import annotations

import math
from collections import deque
from itertools import pairwise
from typing import TYPE_CHECKING

from butfor.errors import InputError
from butfor.graphs.parts import bits
from butfor.graphs.relations import ancestors, districts, parents_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from butfor.graphs.parts import Edges


def cheapest_separator(
    edges: Edges, one: int, other: int, required: int, allowed: int, within: int, costs: Sequence[float]
) -> int | None:
    """Find a separating set with `required` inside `allowed` whose cost is smallest.

    Args:
        edges: The graph.
        one: Bitset of one side.
        other: Bitset of the other side.
        required: Nodes that are in the set whatever they cost.
        allowed: Nodes that may be in the set.
        within: Nodes that count.
        costs: Cost by node number.

    Returns:
        The bitset, or None where no separating set exists.

    Raises:
        InputError: A cost is negative, infinite or not a number.
    """
    for cost in costs:
        if not 0 <= cost < math.inf:
            raise InputError(f"a cost of {cost} cannot be weighed", fix="use finite costs that are not negative")
    if one & other:
        return None
    field = ancestors(edges, one | other | required, within)
    network = _Network(one, other)
    for v in bits(field & ~required):
        chosen = allowed >> v & 1 and not (one | other) >> v & 1
        # A free node still blocks, so ties go to fewer nodes: a cost of 0 counts as next to nothing.
        network.join(("in", v), ("out", v), max(costs[v], 1e-9) if chosen else math.inf)
    for hub, members in enumerate(districts(edges, field)):
        for v in bits((members | parents_of(edges, members)) & field & ~required):
            network.join(("out", v), ("hub", hub), math.inf)
            network.join(("hub", hub), ("in", v), math.inf)
    side = network.cut_side()
    if side is None:
        return None
    return required | sum(1 << v for v in bits(field & ~required) if ("in", v) in side and ("out", v) not in side)


_Place = tuple[str, int]


class _Network:
    """A flow network whose sources are one side's nodes and whose sinks are the other's."""

    def __init__(self, one: int, other: int) -> None:
        self.sources = [("out", v) for v in bits(one)]
        self.sinks = {("in", v) for v in bits(other)}
        self.left: dict[_Place, dict[_Place, float]] = {place: {} for place in self.sources}

    def join(self, tail: _Place, head: _Place, capacity: float) -> None:
        self.left.setdefault(tail, {})[head] = capacity
        self.left.setdefault(head, {}).setdefault(tail, 0.0)

    def cut_side(self) -> set[_Place] | None:
        """Push flow along shortest paths until none is left; return the sources' side, or None if flow is unlimited."""
        while True:
            came_from, end = self._search()
            if end is None:
                return set(came_from)
            path = [end]
            while came_from[path[-1]] != path[-1]:
                path.append(came_from[path[-1]])
            path.reverse()
            pairs = list(pairwise(path))
            flow = min(self.left[a][b] for a, b in pairs)
            if math.isinf(flow):
                return None
            for a, b in pairs:
                self.left[a][b] -= flow
                self.left[b][a] += flow

    def _search(self) -> tuple[dict[_Place, _Place], _Place | None]:
        came_from = {place: place for place in self.sources}
        waiting = deque(self.sources)
        while waiting:
            place = waiting.popleft()
            for near, capacity in self.left[place].items():
                if capacity > 0 and near not in came_from:
                    came_from[near] = place
                    if near in self.sinks:
                        return came_from, near
                    waiting.append(near)
        return came_from, None
