"""The independent checker: is this proof, or this hedge, right for this graph and this query?

Read it beside the definitions. It uses the graph's adjacency and nothing of the search: kinship, districts, latent
projection and m-separation are written here again, from their definitions, as plainly as they allow. It accepts only
what it can show; whatever it cannot follow is refused with a reason.
"""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING, TypeAlias

from butfor.errors import InputError
from butfor.identification.proof import (
    ASSUMPTIONS,
    Adjustment,
    FrontDoor,
    GeneralId,
    Hedge,
    Instrument,
    NoEffect,
    Proof,
)

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from butfor.graphs import Edges, Graph
    from butfor.identification.proof import Step
    from butfor.identification.query import Query


@dataclasses.dataclass(frozen=True, kw_only=True)
class Checked:
    """What the checker found.

    Attributes:
        ok: Whether everything that is claimed could be shown.
        reason: What could not, in words; empty where ok.
    """

    ok: bool
    reason: str = ""


class _Refused(Exception):
    """A claim that could not be shown."""


def check(graph: Graph, query: Query, claim: Proof | Hedge) -> Checked:
    """Verify that a proof or a hedge answers the query in the graph.

    Args:
        graph: The graph that the caller trusts.
        query: The question that the caller asked.
        claim: The answer to verify.

    Returns:
        Whether it holds, and if not, which condition failed. Nothing is raised for a wrong claim.
    """
    try:
        _require(claim.graph == graph.digest, "it is about another graph")
        _require(claim.query == query, "it is about another query")
        _Case(graph, query).verify(claim)
    except (_Refused, InputError) as refusal:
        return Checked(ok=False, reason=str(refusal))
    return Checked(ok=True)


def _require(holds: bool | int, otherwise: str) -> None:
    if not holds:
        raise _Refused(otherwise)


class _Case:
    """A graph and a query; every set is a bitset of node numbers."""

    def __init__(self, graph: Graph, query: Query) -> None:
        self.graph, self.edges = graph, graph.edges
        self.measured = graph.measured
        if query.measured is not None:
            self.measured &= graph.mask(name for name in query.measured if name in graph)
        self.x, self.y = graph.mask(query.treatments), graph.mask(query.outcomes)
        self.s = graph.mask(query.given)
        _require(self.x and self.y, "the query has no treatment or no outcome")
        _require(not (self.x & self.y | self.x & self.s | self.y & self.s), "the query's parts overlap")
        _require(not (self.x | self.y | self.s) & ~self.measured, "the query names an unmeasured variable")

    def verify(self, claim: Proof | Hedge) -> None:
        if isinstance(claim, Hedge):
            self.hedge(claim)
        elif isinstance(claim.argument, Adjustment):
            self.adjustment(claim.argument)
        elif isinstance(claim.argument, FrontDoor):
            self.front_door(claim.argument)
        elif isinstance(claim.argument, Instrument):
            self.instrument(claim.argument)
        elif isinstance(claim.argument, GeneralId):
            self.general(claim.argument)
        else:
            _require(isinstance(claim.argument, NoEffect), "it is of an unknown kind")
            self.reduced_to(())

    # ---- the claims ----

    def reduced_to(self, acting: tuple[str, ...]) -> int:
        """Setting the treatments that do not act changes nothing: none has a directed path that avoids the others."""
        a = self.mask(acting)
        _require(not a & ~self.x, "an acting treatment is not a treatment of the query")
        above = _up(self.edges, self.y | self.s, ~self.x)
        idle = not _after(self.edges, self.x & ~a) & above
        _require(idle, "a treatment that is left out can move the outcome or the stratum")
        return a

    def adjustment(self, claim: Adjustment) -> None:
        """The generalised adjustment criterion, and a stratum that the treatment cannot move."""
        a, z = self.reduced_to(claim.acting), self.mask(claim.adjust_for)
        _require(not z & (a | self.y | self.s), "the adjustment set overlaps the query")
        _require(not self.s or not self.s & _down(self.edges, a), "the treatment can move the stratum")
        causal = self.causal(a)
        _require(not (z | self.s) & _down(self.edges, causal), "the set has a variable that a causal path moves")
        rest = _Cut(self.edges, tails=a, heads=causal)
        _require(not _open(rest, a, self.y, z | self.s), "a path that is not causal stays open")

    def front_door(self, claim: FrontDoor) -> None:
        """Pearl's three conditions."""
        a, m = self.reduced_to(claim.acting), self.mask(claim.mediators)
        _require(not self.s, "a front-door set is for a query without a stratum")
        _require(not m & (self.x | self.y), "a mediator is part of the query")
        _require(not _down(self.edges, a, ~m) & self.y, "a causal path avoids the mediators")
        _require(not _open(_Cut(self.edges, tails=a), a, m, 0), "a back-door path leads from treatment to mediators")
        _require(not _open(_Cut(self.edges, tails=m), m, self.y, a), "a back-door path leads from mediators to outcome")

    def instrument(self, claim: Instrument) -> None:
        """Associated with the treatment; with the outcome only through it. The assumption itself is not checkable."""
        z, w = self.mask((claim.instrument,)), self.mask(claim.adjust_for)
        one_each = self.x.bit_count() == 1 and self.y.bit_count() == 1 and not self.s
        _require(one_each, "an instrument is for one treatment, one outcome and no stratum")
        _require(not (z & w | (z | w) & (self.x | self.y)), "instrument, conditioning set and query overlap")
        causal = self.causal(self.x)
        _require(causal, "the treatment has no causal path to the outcome")
        _require(not (z | w) & _down(self.edges, causal), "a causal path moves the instrument or its conditioning set")
        _require(_open(self.edges, z, self.x, w), "the instrument is not associated with the treatment")
        rest = _Cut(self.edges, tails=self.x, heads=causal)
        _require(not _open(rest, z, self.y, w), "the instrument reaches the outcome by another path")
        _require(claim.assumption in ASSUMPTIONS, "the assumption is not on the list")
        if claim.assumption == "monotonicity":
            _require(not w & _down(self.edges, z), "the conditioning set comes after the instrument")
            own = _Cut(self.edges, tails=z)
            _require(not _open(own, z, self.x, w), "the instrument is not as good as randomised")

    def general(self, claim: GeneralId) -> None:
        """Each step is one of two rules, and the results are the factors of the truncated product."""
        x = self.x | self.move(claim.moved)
        y = self.y | self.s & ~x
        projected = _Projection(self.graph, self.measured)
        results: list[int] = []
        for step in claim.steps:
            results.append(self.step(projected, step, results))
        left = relevant = _up(projected, y, self.measured & ~x)
        for factor in claim.factors:
            _require(0 <= factor < len(results), "a factor refers to no step")
            _require(not results[factor] & ~relevant, "a factor is not part of what the outcome depends on")
            _require(_is_district(projected, results[factor], relevant), "a factor is not a whole district")
            left &= ~results[factor]
        _require(not left, "a factor is missing")
        _require(len(set(claim.factors)) == len(claim.factors), "a factor is there twice")

    def step(self, projected: _Projection, step: Step, results: Sequence[int]) -> int:
        """Summing out all but an ancestral set, or taking one district's factor."""
        _require(-1 <= step.of < len(results), "a step refers to a later one")
        field, keep = self.measured if step.of == -1 else results[step.of], self.mask(step.keep)
        _require(keep and not keep & ~field, "a step keeps what was not there")
        if step.rule == "ancestral":
            _require(_up(projected, keep, field) == keep, "a step sums out an ancestor of what it keeps")
        else:
            _require(_is_district(projected, keep, field), "a step keeps something that is not a district")
        return keep

    def hedge(self, claim: Hedge) -> None:
        """Two nested districts, rooted alike, of which the outer one has a treatment; nothing is left to move."""
        x = self.x | self.move(claim.moved)
        left = self.s & ~x
        y = self.y | left
        projected = _Projection(self.graph, self.measured)
        outer, inner, roots = self.mask(claim.outer), self.mask(claim.inner), self.mask(claim.roots)
        _require(roots and not roots & ~inner and not inner & ~outer, "the sets are not nested")
        _require(outer & x and not inner & x, "the treatment is not between the two sets")
        for area in (outer, inner):
            _require(_is_district(projected, area, area), "a set is not held together by latent edges")
            _require(_up(projected, roots, area) == area, "a set has a node that is no ancestor of the roots")
        _require(not roots & ~_up(projected, y, self.measured & ~x), "a root does not reach the outcome")
        at = outer & x
        for one, other in claim.blocking:
            tail, head = self.mask((one,)), self.mask((other,))
            _require(tail & at and head & outer & projected.spouses[_number(tail)], "the latent edges are no path")
            at = head
        _require(at & inner, "the latent edges do not join the treatment to the inner set")
        for i in _numbers(left):
            _require(not self.is_movable(1 << i, x, left), "a stratum variable could still be set instead of observed")

    def move(self, moved: tuple[str, ...]) -> int:
        """Rule 2 of do-calculus, one variable after the other."""
        done = 0
        for name in moved:
            z = self.mask((name,))
            _require(z & self.s & ~done, "only a stratum variable can be set instead of observed")
            movable = self.is_movable(z, self.x | done, self.s & ~done)
            _require(movable, "a stratum variable cannot be set instead of observed")
            done |= z
        return done

    def is_movable(self, z: int, x: int, s: int) -> bool:
        return not _open(_Cut(self.edges, no_heads_at=x, tails=z), z, self.y, x | s & ~z)

    def causal(self, a: int) -> int:
        """The nodes after a treatment on the directed paths from it to the outcome that meet no other treatment."""
        return _up(self.edges, self.y, _down(self.edges, _after(self.edges, a), ~a))

    def mask(self, names: tuple[str, ...]) -> int:
        found = self.graph.mask(names)
        _require(not found & ~self.measured, "it uses an unmeasured variable")
        _require(found.bit_count() == len(names), "it names a variable twice")
        return found


class _Cut:
    """The graph without the edges into some nodes, or without the arrows from `tails` (only those into `heads`)."""

    def __init__(self, edges: Edges, *, no_heads_at: int = 0, tails: int = 0, heads: int = -1) -> None:
        self.parents, self.children, self.spouses = list(edges.parents), list(edges.children), list(edges.spouses)
        for i in _numbers(tails):
            for j in _numbers(self.children[i] & heads):
                self.parents[j] &= ~(1 << i)
            self.children[i] &= ~heads
        for i in _numbers(no_heads_at):
            for j in _numbers(self.parents[i]):
                self.children[j] &= ~(1 << i)
            for j in _numbers(self.spouses[i]):
                self.spouses[j] &= ~(1 << i)
            self.parents[i] = self.spouses[i] = 0


class _Projection:
    """The graph over the measured nodes: a → b where a directed path has only latent nodes inside; a ↔ b where a latent
    source or a latent edge reaches both in that way.
    """  # noqa: D205  one definition, two lines

    def __init__(self, graph: Graph, measured: int) -> None:
        edges, size = graph.edges, len(graph.names)
        latent = ((1 << size) - 1) & ~measured
        self.parents, self.children, self.spouses = [0] * size, [0] * size, [0] * size
        if not latent:
            self.parents, self.children, self.spouses = list(edges.parents), list(edges.children), list(edges.spouses)
            return
        below = list(edges.children)
        for i in reversed(range(size)):
            for j in _numbers(edges.children[i] & latent):
                below[i] |= below[j]
        for i in range(size):
            if measured >> i & 1:
                self.children[i] = below[i] & measured
                for j in _numbers(self.children[i]):
                    self.parents[j] |= 1 << i
            else:
                self.join(below[i] & measured, below[i] & measured)
            for j in _numbers(edges.spouses[i]):
                ends = [1 << k if measured >> k & 1 else below[k] & measured for k in (i, j)]
                self.join(ends[0], ends[1])

    def join(self, one: int, other: int) -> None:
        for i in _numbers(one):
            self.spouses[i] |= other & ~(1 << i)
        for i in _numbers(other):
            self.spouses[i] |= one & ~(1 << i)


_Links: TypeAlias = "Edges | _Cut | _Projection"


def _numbers(mask: int) -> Iterator[int]:
    while mask:
        yield _number(mask)
        mask &= mask - 1


def _number(mask: int) -> int:
    return (mask & -mask).bit_length() - 1


def _closure(neighbours: Sequence[int], seeds: int, within: int) -> int:
    found = todo = seeds & within
    while todo:
        low = todo & -todo
        new = neighbours[low.bit_length() - 1] & within & ~found
        found |= new
        todo ^= low | new
    return found


def _up(graph: _Links, seeds: int, within: int = -1) -> int:
    return _closure(graph.parents, seeds, within)


def _down(graph: _Links, seeds: int, within: int = -1) -> int:
    return _closure(graph.children, seeds, within)


def _after(graph: _Links, nodes: int) -> int:
    found = 0
    for i in _numbers(nodes):
        found |= graph.children[i]
    return found


def _is_district(graph: _Projection, nodes: int, field: int) -> bool:
    """One bidirected component of the subgraph on `field`, no more and no less."""
    return bool(nodes) and _closure(graph.spouses, nodes & -nodes, field) == nodes


def _open(graph: _Links, start: int, goal: int, given: int) -> bool:
    """Say whether some path from start to goal is open: m-separation by its definition.

    A walk is at a node by an arrowhead or by a tail. Through a node outside `given` it goes on unless both ends there
    are arrowheads; through one that has a descendant in `given` it goes on if both are. An open path has only ancestors
    of its ends and of `given`, so no other node is visited.
    """
    parents, children, spouses = graph.parents, graph.children, graph.spouses
    above_given = _up(graph, given)
    field = above_given | _up(graph, start | goal, ~above_given)
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
            into, out = 0 if given & low else children[i], 0
            if above_given & low:
                into, out = into | spouses[i], parents[i]
        heads = (heads | into & field) & ~by_head
        tails = (tails | out & field & ~given) & ~by_tail
    return bool((by_head | by_tail) & goal & ~given)
