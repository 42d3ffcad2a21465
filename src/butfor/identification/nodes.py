"""The parts of a formula."""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING, TypeAlias

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from butfor.canonical import Json


@dataclasses.dataclass(frozen=True, kw_only=True)
class P:
    """An observed conditional probability P(of | given)."""

    of: tuple[str, ...]
    given: tuple[str, ...] = ()

    @property
    def operands(self) -> tuple[int, ...]:
        """It has none."""
        return ()

    def write(self, parts: Sequence[str], called: Mapping[str, str]) -> str:
        """Write it as text, its operands as they are given and its variables as they are called."""
        del parts
        return f"P({_listed(self.of, called)}" + (f" | {_listed(self.given, called)})" if self.given else ")")

    def to_json(self) -> dict[str, Json]:
        """Return it as plain JSON values."""
        return {"p": list(self.of), "given": list(self.given)}


@dataclasses.dataclass(frozen=True, kw_only=True)
class Sum:
    """The sum of a part over every value of some variables."""

    over: tuple[str, ...]
    of: int

    @property
    def operands(self) -> tuple[int, ...]:
        """The part that is summed."""
        return (self.of,)

    def write(self, parts: Sequence[str], called: Mapping[str, str]) -> str:
        """Write it as text, its operands as they are given and its variables as they are called."""
        return f"Σ_{{{_listed(self.over, called)}}} [{parts[0]}]"

    def to_json(self) -> dict[str, Json]:
        """Return it as plain JSON values."""
        return {"sum": list(self.over), "of": self.of}


@dataclasses.dataclass(frozen=True, kw_only=True)
class Product:
    """The product of some parts."""

    of: tuple[int, ...]

    @property
    def operands(self) -> tuple[int, ...]:
        """The parts that are multiplied."""
        return self.of

    def write(self, parts: Sequence[str], called: Mapping[str, str]) -> str:
        """Write it as text, its operands as they are given and its variables as they are called."""
        del called
        return " ".join(parts)

    def to_json(self) -> dict[str, Json]:
        """Return it as plain JSON values."""
        return {"product": list(self.of)}


@dataclasses.dataclass(frozen=True, kw_only=True)
class Ratio:
    """One part divided by another."""

    top: int
    bottom: int

    @property
    def operands(self) -> tuple[int, ...]:
        """Numerator and denominator."""
        return (self.top, self.bottom)

    def write(self, parts: Sequence[str], called: Mapping[str, str]) -> str:
        """Write it as text, its operands as they are given and its variables as they are called."""
        del called
        return f"({parts[0]} / {parts[1]})"

    def to_json(self) -> dict[str, Json]:
        """Return it as plain JSON values."""
        return {"ratio": [self.top, self.bottom]}


@dataclasses.dataclass(frozen=True, kw_only=True)
class Covariance:
    """The covariance of two variables within strata of others."""

    one: str
    other: str
    given: tuple[str, ...]

    @property
    def operands(self) -> tuple[int, ...]:
        """It has none."""
        return ()

    def write(self, parts: Sequence[str], called: Mapping[str, str]) -> str:
        """Write it as text, its operands as they are given and its variables as they are called."""
        del parts, called
        return f"Cov({self.one}, {self.other}" + (f" | {', '.join(self.given)})" if self.given else ")")

    def to_json(self) -> dict[str, Json]:
        """Return it as plain JSON values."""
        return {"covariance": [self.one, self.other], "given": list(self.given)}


Node: TypeAlias = P | Sum | Product | Ratio | Covariance


def mentioned(node: Node, below: Sequence[frozenset[str]]) -> frozenset[str]:
    """Return the variables that a node's value depends on, given those of the nodes before it."""
    if isinstance(node, P):
        return frozenset((*node.of, *node.given))
    if isinstance(node, Covariance):
        return frozenset((node.one, node.other, *node.given))
    found = frozenset[str]().union(*(below[i] for i in node.operands))
    return found - frozenset(node.over) if isinstance(node, Sum) else found


def _listed(names: Sequence[str], called: Mapping[str, str]) -> str:
    return ", ".join([called.get(name, name) for name in names])


class Writer:
    """Collects the nodes of one formula and knows which variables each part depends on."""

    def __init__(self) -> None:
        self.nodes: list[Node] = []
        self._mentions: list[frozenset[str]] = []
        self._known: dict[Node, int] = {}

    def add(self, node: Node) -> int:
        """Add a node, or find the equal one, and return its number."""
        known = self._known.get(node)
        if known is not None:
            return known
        self.nodes.append(node)
        self._mentions.append(mentioned(node, self._mentions))
        self._known[node] = len(self.nodes) - 1
        return len(self.nodes) - 1

    def product(self, parts: Sequence[int]) -> int:
        """Return the product of parts; one part is its own product."""
        return parts[0] if len(parts) == 1 else self.add(Product(of=tuple(parts)))

    def mentions(self, part: int) -> frozenset[str]:
        """Return the variables that a part's value depends on."""
        return self._mentions[part]
