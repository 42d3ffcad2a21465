"""What the graph says that data can contradict.

Independences: for each node and each district that it can have among itself and its predecessors, the node is
independent of the rest of the largest ancestral set with that district, given the district and its parents. These imply
every other m-separation in the graph. Verma constraints: a sum that the observed joint gives and that must not depend
on a variable, although no independence says so.

Reference:
    Richardson, *Markov properties for acyclic directed mixed graphs*, SJS 2003; Jeong, Ejaz, Tian and Bareinboim,
    *Testing causal models with hidden variables in polynomial delay*, AAAI 2025; Tian and Pearl, *On the testable
    implications of causal models with hidden variables*, UAI 2002.
"""

from __future__ import annotations

import dataclasses
from itertools import islice
from typing import TYPE_CHECKING

from butfor.graphs.parts import bits
from butfor.graphs.projection import project
from butfor.graphs.relations import ancestors, descendants, district, parents_of
from butfor.graphs.separation import connected

if TYPE_CHECKING:
    from collections.abc import Iterator

    from butfor.graphs import Edges, Graph


@dataclasses.dataclass(frozen=True, kw_only=True)
class Independence:
    """variable ⊥ others | given, for the others together."""

    variable: str
    others: tuple[str, ...]
    given: tuple[str, ...]

    def __str__(self) -> str:
        """Write it as one statement."""
        given = f" | {', '.join(self.given)}" if self.given else ""
        return f"{self.variable} ⊥ {', '.join(self.others)}{given}"


@dataclasses.dataclass(frozen=True, kw_only=True)
class Implications:
    """The independences that a graph implies.

    Attributes:
        independences: A basis: every independence in the graph follows from these.
        complete: False where the limit stopped the list.
    """

    independences: tuple[Independence, ...]
    complete: bool


@dataclasses.dataclass(frozen=True, kw_only=True)
class Verma:
    """Σ over `summed` of Q[district] must not depend on `independent_of`.

    Attributes:
        variable: The last node of the district.
        district: The nodes whose kernel Q is meant, a district among `variable` and its predecessors.
        summed: What is summed out.
        independent_of: What the sum must not depend on, although `variable` is not independent of it.
    """

    variable: str
    district: tuple[str, ...]
    summed: tuple[str, ...]
    independent_of: tuple[str, ...]


def implied_independences(graph: Graph, *, limit: int = 1000) -> Implications:
    """List a basis of the conditional independences among measured variables.

    Args:
        graph: The graph; latent nodes are projected out.
        limit: Look at no more than so many districts (a large district can have exponentially many smaller ones).

    Returns:
        The basis, in the graph's order of variables, without statements that another one and the earlier variables'
        statements imply.
    """
    measured = graph.measured
    edges = project(graph.edges, graph.all & ~measured)
    found: list[Independence] = []
    left = limit
    for i in bits(measured):
        before = measured & ((2 << i) - 1)
        looked_at = list(islice(_statements(edges, i, before), left + 1))
        left -= len(looked_at)
        statements = [each for each in looked_at if each[0]]
        for one in list(statements):
            if any(_implies(edges, before, other, one) for other in statements if other != one):
                statements.remove(one)
        named = graph.names_of
        found += [
            Independence(variable=graph.names[i], others=named(others), given=named(given))
            for others, given in statements
        ]
        if left < 0:
            break
    return Implications(independences=tuple(found), complete=left >= 0)


def _statements(edges: Edges, i: int, before: int) -> Iterator[tuple[int, int]]:
    """Yield (others, given) for each district that node i has in an ancestral set of itself and predecessors.

    No others: that district says nothing.
    """
    above = ancestors(edges, 1 << i, before)
    waiting, seen = [before], set()
    while waiting:
        field = waiting.pop()
        near = district(edges, 1 << i, field)
        if near in seen:
            continue
        seen.add(near)
        # The largest ancestral set that gives this district: all but what the spouses outside it lead to.
        around = 0
        for j in bits(near):
            around |= edges.spouses[j]
        field = before & ~descendants(edges, around & ~near, before)
        given = (near | parents_of(edges, near)) & field & ~(1 << i)
        yield field & ~given & ~(1 << i), given
        waiting += [field & ~descendants(edges, 1 << j, field) for j in bits(near & ~above)]


def _implies(edges: Edges, before: int, one: tuple[int, int], other: tuple[int, int]) -> bool:
    """Say whether v ⊥ R1 | Z1 gives v ⊥ R2 | Z2 together with what holds among v's predecessors.

    By weak union v ⊥ R2 | Z1, Z2; where the rest of Z1 is itself independent of R2 given Z2, contraction drops it. The
    predecessors' own independences all follow from the statements about them.
    """
    if other[0] & ~one[0] or other[1] & ~(one[0] | one[1]):
        return False
    rest = one[1] & ~other[1]
    return not rest or not connected(edges, rest, other[0], other[1], before)


def verma_constraints(graph: Graph) -> tuple[Verma, ...]:
    """List Verma constraints of one step: for each node's district among its predecessors, each node to sum out first.

    Not every Verma constraint is found, and one may follow from others; each one listed holds in every model of the
    graph.
    """
    measured = graph.measured
    edges = project(graph.edges, graph.all & ~measured)
    found = []
    for i in bits(measured):
        before = measured & ((2 << i) - 1)
        area = district(edges, 1 << i, before)
        for j in bits(area & ~ancestors(edges, 1 << i, area)):
            summed = descendants(edges, 1 << j, area)
            left = area & ~summed
            inside = left | parents_of(edges, left)
            free = (area | parents_of(edges, area)) & ~summed & ~inside
            given = inside & ~(1 << i)
            surprising = sum(1 << k for k in bits(free) if connected(edges, 1 << i, 1 << k, given, measured))
            if surprising:
                names = graph.names_of
                found.append(
                    Verma(
                        variable=graph.names[i],
                        district=names(area),
                        summed=names(summed),
                        independent_of=names(surprising),
                    )
                )
    return tuple(found)
