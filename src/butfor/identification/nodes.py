"""The parts of a formula."""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING, TypeAlias

if TYPE_CHECKING:
    from collections.abc import Sequence

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

    def write(self, parts: Sequence[str]) -> str:
        """Write it as text."""
        del parts
        return f"P({', '.join(self.of)}" + (f" | {', '.join(self.given)})" if self.given else ")")

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

    def write(self, parts: Sequence[str]) -> str:
        """Write it as text."""
        return f"Σ_{{{', '.join(self.over)}}} [{parts[0]}]"

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

    def write(self, parts: Sequence[str]) -> str:
        """Write it as text."""
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

    def write(self, parts: Sequence[str]) -> str:
        """Write it as text."""
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

    def write(self, parts: Sequence[str]) -> str:
        """Write it as text."""
        del parts
        return f"Cov({self.one}, {self.other}" + (f" | {', '.join(self.given)})" if self.given else ")")

    def to_json(self) -> dict[str, Json]:
        """Return it as plain JSON values."""
        return {"covariance": [self.one, self.other], "given": list(self.given)}


Node: TypeAlias = P | Sum | Product | Ratio | Covariance


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
        found = frozenset[str]().union(*(self._mentions[i] for i in node.operands))
        if isinstance(node, P):
            found = frozenset((*node.of, *node.given))
        elif isinstance(node, Sum):
            found -= frozenset(node.over)
        elif isinstance(node, Covariance):
            found = frozenset((node.one, node.other, *node.given))
        self.nodes.append(node)
        self._mentions.append(found)
        self._known[node] = len(self.nodes) - 1
        return len(self.nodes) - 1

    def product(self, parts: Sequence[int]) -> int:
        """Return the product of parts; one part is its own product."""
        return parts[0] if len(parts) == 1 else self.add(Product(of=tuple(parts)))

    def mentions(self, part: int) -> frozenset[str]:
        """Return the variables that a part's value depends on."""
        return self._mentions[part]
