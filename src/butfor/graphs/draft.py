"""A graph being written down: every mistake is named with the place where it stands."""

from __future__ import annotations

import heapq

from butfor.errors import InputError
from butfor.graphs.parts import ROLES, Edges, Role, usable_name

# A cycle of thousands of nodes is named by its ends.
_SHOWN = 12


class Draft:
    """Collects nodes and edges from any source, then lays the graph out.

    Args:
        declare_all: Whether an edge may only name nodes declared before `laid_out`.
    """

    def __init__(self, *, declare_all: bool) -> None:
        self._declare_all = declare_all
        self._roles: dict[str, Role] = {}
        self._arrows: dict[tuple[str, str], str | None] = {}
        self._latent: dict[tuple[str, str], str | None] = {}
        self._seen: dict[str, str | None] = {}

    def node(self, name: object, *, role: str = "state", where: str | None = None) -> None:
        """Declare a node.

        Raises:
            InputError: An unusable name, an unknown role, or a second declaration with another role.
        """
        name = usable_name(name, where)
        known = next((each for each in ROLES if each == role), None)
        if known is None:
            raise InputError(f"node {name!r} has the unknown role {role!r}", where=where, fix=f"use {', '.join(ROLES)}")
        if self._roles.setdefault(name, known) != known:
            raise InputError(
                f"node {name!r} is declared as {self._roles[name]} and as {known}", where=where, fix="keep one role"
            )

    def arrow(self, tail: object, head: object, *, where: str | None = None) -> None:
        """Add tail → head.

        Raises:
            InputError: A self-loop, a duplicate or an unusable name.
        """
        pair = self._pair(tail, head, "->", where)
        self._add(self._arrows, pair, f"{pair[0]} -> {pair[1]}", where)

    def latent_edge(self, one: object, other: object, *, where: str | None = None) -> None:
        """Add one ↔ other.

        Raises:
            InputError: A self-loop, a duplicate or an unusable name.
        """
        first, second = sorted(self._pair(one, other, "<->", where))
        self._add(self._latent, (first, second), f"{first} <-> {second}", where)

    def laid_out(self) -> tuple[tuple[str, ...], tuple[Role, ...], Edges]:
        """Return names in topological order, roles and adjacency.

        Raises:
            InputError: An undeclared node, or a directed cycle.
        """
        roles = dict(self._roles)
        for name, where in self._seen.items():
            if self._declare_all and name not in roles:
                raise InputError(f"an edge names the unknown node {name!r}", where=where, fix="declare it under nodes")
            roles.setdefault(name, "state")
        names = self._topological(roles)
        number = {name: i for i, name in enumerate(names)}
        parents, children, spouses = ([0] * len(names) for _ in range(3))
        for tail, head in self._arrows:
            i, j = number[tail], number[head]
            parents[j] |= 1 << i
            children[i] |= 1 << j
        for one, other in self._latent:
            i, j = number[one], number[other]
            spouses[i] |= 1 << j
            spouses[j] |= 1 << i
        edges = Edges(tuple(parents), tuple(children), tuple(spouses))
        return tuple(names), tuple(roles[name] for name in names), edges

    def _pair(self, one: object, other: object, kind: str, where: str | None) -> tuple[str, str]:
        pair = usable_name(one, where), usable_name(other, where)
        if pair[0] == pair[1]:
            raise InputError(f"the edge {pair[0]} {kind} {pair[1]} is a self-loop", where=where, fix="remove it")
        for name in pair:
            self._seen.setdefault(name, where)
        return pair

    @staticmethod
    def _add(edges: dict[tuple[str, str], str | None], pair: tuple[str, str], text: str, where: str | None) -> None:
        if pair in edges:
            first = f", first on {edges[pair]}" if edges[pair] else ""
            raise InputError(f"the edge {text} is there twice{first}", where=where, fix="keep one")
        edges[pair] = where

    def _topological(self, roles: dict[str, Role]) -> list[str]:
        """Kahn's algorithm with a heap: the order depends on the graph alone, not on how it was written."""
        waiting = dict.fromkeys(roles, 0)
        children: dict[str, list[str]] = {name: [] for name in roles}
        for tail, head in self._arrows:
            waiting[head] += 1
            children[tail].append(head)
        ready = [name for name, count in waiting.items() if not count]
        heapq.heapify(ready)
        order = []
        while ready:
            name = heapq.heappop(ready)
            order.append(name)
            for child in children[name]:
                waiting[child] -= 1
                if not waiting[child]:
                    heapq.heappush(ready, child)
        if len(order) < len(roles):
            self._report_cycle({name for name, count in waiting.items() if count})
        return order

    def _report_cycle(self, stuck: set[str]) -> None:
        """Walk parents among the nodes that never became ready until one repeats."""
        parent = {head: tail for tail, head in self._arrows if tail in stuck and head in stuck}
        name = min(name for name in stuck if name in parent)
        place: dict[str, int] = {}
        while name not in place:
            place[name] = len(place)
            name = parent[name]
        cycle = [name, *[other for other in place if place[other] >= place[name]][:0:-1], name]
        where = self._arrows[cycle[-2], cycle[-1]]
        if len(cycle) > _SHOWN:
            cycle = [*cycle[: _SHOWN - 2], "…", *cycle[-2:]]
        raise InputError(
            f"the arrows form a cycle: {' -> '.join(cycle)}",
            where=where,
            fix="a cause cannot be its own effect; split the variable by time or remove an arrow",
        )
