"""A formula as text, in which no letter stands for two things.

In `Σ_t' P(y | t', m) P(t')` the summed treatment is not the one that is set: what a sum runs over gets a prime where
its name means something already, outside the sum. A part that is used more than once is written once, as q1, q2 …; with
another value in the place of one of its variables it is q1(T=T').
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from butfor.identification.nodes import P, Sum, mentioned

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from butfor.identification.nodes import Node


def written(nodes: Sequence[Node], meant: Iterable[str]) -> list[str]:
    """Write the last node, then the definitions of the parts that it names.

    Args:
        nodes: Operands before the nodes that use them.
        meant: Names that mean something on the other side of the equation.
    """
    text = _Text(nodes, frozenset(meant))
    return [text.define(len(nodes) - 1), *(f"{name} = {text.define(part)}" for part, name in text.names.items())]


class _Text:
    """Writes parts of one formula.

    Attributes:
        names: Number of a part that is used more than once to its name.
    """

    def __init__(self, nodes: Sequence[Node], meant: frozenset[str]) -> None:
        self._nodes = nodes
        self._meant = meant
        self._free: list[frozenset[str]] = []
        uses = [0] * len(nodes)
        for node in nodes:
            self._free.append(mentioned(node, self._free))
            for operand in node.operands:
                uses[operand] += 1
        again = [i for i, node in enumerate(nodes) if uses[i] > 1 and not isinstance(node, P)]
        self.names = {part: f"q{number}" for number, part in enumerate(again, start=1)}
        variables = frozenset[str]().union(*(each.of + each.given for each in nodes if isinstance(each, P)))
        self._variables = variables | meant

    def define(self, part: int) -> str:
        """Write a part out, also where it has a name."""
        return self._out(part, {}, self._meant | self._free[part])

    def _use(self, part: int, called: Mapping[str, str], taken: frozenset[str]) -> str:
        name = self.names.get(part)
        if name is None:
            return self._out(part, called, taken)
        changed = [f"{each}={called[each]}" for each in sorted(self._free[part]) if called.get(each, each) != each]
        return f"{name}({', '.join(changed)})" if changed else name

    def _out(self, part: int, called: Mapping[str, str], taken: frozenset[str]) -> str:
        node = self._nodes[part]
        if isinstance(node, Sum):
            called = {**called, **{each: self._fresh(each, taken) for each in node.over}}
            taken |= {called[each] for each in node.over}
        return node.write([self._use(each, called, taken) for each in node.operands], called)

    def _fresh(self, name: str, taken: frozenset[str]) -> str:
        if name not in taken:
            return name
        while name in taken or name in self._variables:
            name += "'"
        return name
