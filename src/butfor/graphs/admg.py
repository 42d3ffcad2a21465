"""An acyclic directed mixed graph on integer bitsets.

Node i is bit ``1 << i``; nodes are numbered in a topological order (ties by name), so the highest bit of a set is never
an ancestor of the others, and equal graphs have equal numbers whatever order they were written in.
"""

from __future__ import annotations

import dataclasses
from itertools import compress
from typing import TYPE_CHECKING

from butfor.canonical import digest
from butfor.errors import InputError
from butfor.graphs.draft import Draft
from butfor.graphs.parts import bits

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from butfor.canonical import Json
    from butfor.graphs.parts import Edges, Role

SCHEMA = "butfor.graph/1"
# "0" and "1" to the bytes 0 and 1: `compress` over the binary text picks names 20 times faster than bit by bit.
_BINARY = bytes.maketrans(b"01", b"\x00\x01")


@dataclasses.dataclass(frozen=True, kw_only=True)
class Graph:
    """An ADMG; a bidirected edge is latent confounding. Make one with `Graph.of`.

    Attributes:
        names: Node names, topologically ordered, ties by name.
        roles: One role a node.
        edges: Parents, children and spouses of each node.
    """

    names: tuple[str, ...]
    roles: tuple[Role, ...]
    edges: Edges

    def __post_init__(self) -> None:
        self.__dict__["numbers"] = {name: i for i, name in enumerate(self.names)}

    @classmethod
    def of(
        cls,
        *,
        nodes: Iterable[str] | Mapping[str, Role] = (),
        directed: Iterable[tuple[str, str]] = (),
        bidirected: Iterable[tuple[str, str]] = (),
    ) -> Graph:
        """Build a graph; nodes that only edges name are added as state variables.

        Raises:
            InputError: A cycle, a self-loop, a duplicate edge, an unknown role or an unusable name.
        """
        draft = Draft(declare_all=False)
        roles: Mapping[str, Role] = nodes if isinstance(nodes, dict) else dict.fromkeys(nodes, "state")
        for name, role in roles.items():
            draft.node(name, role=role)
        for tail, head in directed:
            draft.arrow(tail, head)
        for one, other in bidirected:
            draft.latent_edge(one, other)
        return cls.built(draft)

    @classmethod
    def built(cls, draft: Draft) -> Graph:
        """Build the graph that a draft describes.

        Raises:
            InputError: An undeclared node, or a directed cycle.
        """
        names, roles, edges = draft.laid_out()
        return cls(names=names, roles=roles, edges=edges)

    @property
    def measured(self) -> int:
        """The bitset of every node that is not latent."""
        found = self.__dict__.get("_measured")
        if found is None:
            found = self.mask(n for n, role in zip(self.names, self.roles, strict=True) if role != "latent")
            self.__dict__["_measured"] = found
        return int(found)

    @property
    def adjusted(self) -> int:
        """The bitset of the nodes that must be adjusted for."""
        found = self.__dict__.get("_adjusted")
        if found is None:
            found = self.__dict__["_adjusted"] = self.mask(self.with_role("adjusted"))
        return int(found)

    @property
    def all(self) -> int:
        """The bitset of every node."""
        return (1 << len(self.names)) - 1

    @property
    def digest(self) -> str:
        """The tagged SHA-256 of the canonical form; it differs where any node, role or edge does."""
        found = self.__dict__.get("_digest")
        if found is None:
            found = self.__dict__["_digest"] = digest(self.to_json())
        return str(found)

    def __contains__(self, name: object) -> bool:
        return name in self.__dict__["numbers"]

    def number(self, name: str) -> int:
        """Return a node's number.

        Raises:
            InputError: The graph has no such node.
        """
        try:
            return int(self.__dict__["numbers"][name])
        except (KeyError, TypeError):
            raise InputError(
                f"the graph has no node {name!r}", fix=f"choose among {_some(self.names)}, or add it to the graph"
            ) from None

    def mask(self, names: Iterable[str]) -> int:
        """Return the bitset of these nodes.

        Raises:
            InputError: The graph has no such node.
        """
        found = 0
        numbers = self.__dict__["numbers"]
        for name in names:
            i = numbers.get(name)
            found |= 1 << (self.number(name) if i is None else i)
        return found

    def names_of(self, mask: int) -> tuple[str, ...]:
        """Return the names in a bitset, in the graph's order."""
        return tuple(compress(self.names, f"{mask:b}"[::-1].encode().translate(_BINARY)))

    def with_role(self, role: Role) -> tuple[str, ...]:
        """Return the names of the nodes that have a role."""
        return tuple(n for n, r in zip(self.names, self.roles, strict=True) if r == role)

    @property
    def directed(self) -> list[tuple[str, str]]:
        """Every arrow as (tail, head), sorted."""
        names = self.names
        return sorted(
            (names[i], head) for head, tails in zip(names, self.edges.parents, strict=True) for i in bits(tails)
        )

    @property
    def bidirected(self) -> list[tuple[str, str]]:
        """Every latent edge once as (lower name, higher name), sorted."""
        names = self.names
        pairs = ((one, names[i]) for one, ends in zip(names, self.edges.spouses, strict=True) for i in bits(ends))
        return sorted(pair for pair in pairs if pair[0] < pair[1])

    def to_json(self) -> dict[str, Json]:
        """Return the canonical form: schema, role by node, and both kinds of edge, all sorted."""
        return {
            "schema": SCHEMA,
            "nodes": dict(sorted(zip(self.names, self.roles, strict=True))),
            "directed": [list(pair) for pair in self.directed],
            "bidirected": [list(pair) for pair in self.bidirected],
        }


def _some(names: Sequence[str], limit: int = 12) -> str:
    shown = ", ".join(names[:limit])
    return shown if len(names) <= limit else f"{shown}, … ({len(names)} in all)"
