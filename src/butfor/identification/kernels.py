"""From a derivation's steps to the formulas of its factors Q[D_i].

A kernel Q[S] is kept in one of three forms, the plainest that is exact: a marginal of the observed joint; a chain, one
conditional kernel a node; or one whole expression, once a sum could not be carried out on the chain.

Reference:
    Tian and Pearl, *A general identification condition for causal effects*, AAAI 2002, Lemmas 1, 3 and 4.
"""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING, TypeAlias

from butfor.graphs.parts import bits
from butfor.graphs.relations import district, parents_of
from butfor.identification.nodes import P, Ratio, Sum, Writer
from butfor.identification.problem import pose

if TYPE_CHECKING:
    from butfor.graphs import Graph
    from butfor.identification.problem import Problem
    from butfor.identification.proof import GeneralId, Proof


@dataclasses.dataclass(frozen=True)
class _Marginal:
    """P(nodes), an observed marginal."""

    nodes: int


@dataclasses.dataclass(frozen=True)
class _Chain:
    """Π_v q(v | the nodes of S before v, the parents of S): part number by node number, in topological order."""

    parts: dict[int, int]


@dataclasses.dataclass(frozen=True)
class _Whole:
    """Any expression for Q[nodes]."""

    nodes: int
    part: int


_Kernel: TypeAlias = _Marginal | _Chain | _Whole


def factors_of(writer: Writer, graph: Graph, proof: Proof, argument: GeneralId) -> list[int]:
    """Write the formula of each factor and return their part numbers."""
    problem = pose(graph, proof.query)
    kernels: list[_Kernel] = []
    for step in argument.steps:
        kernel = _Marginal(problem.measured) if step.of == -1 else kernels[step.of]
        keep = graph.mask(step.keep)
        if step.rule == "ancestral":
            kernels.append(_sum_out(writer, graph, kernel, keep))
        else:
            kernels.append(_take_district(writer, problem, kernel, keep))
    # A joint that is a single district is its own factor even where no step was needed.
    found = [kernels[i] for i in argument.factors]
    return [part for kernel in found for part in _parts(writer, problem, kernel)]


def _parts(writer: Writer, problem: Problem, kernel: _Kernel) -> list[int]:
    if isinstance(kernel, _Marginal):
        return [writer.add(P(of=problem.graph.names_of(kernel.nodes)))]
    return list(kernel.parts.values()) if isinstance(kernel, _Chain) else [kernel.part]


def _sum_out(writer: Writer, graph: Graph, kernel: _Kernel, keep: int) -> _Kernel:
    if isinstance(kernel, _Marginal):
        return _Marginal(keep)
    if isinstance(kernel, _Whole):
        over = graph.names_of(kernel.nodes & ~keep)
        return _Whole(keep, writer.add(Sum(over=over, of=kernel.part)))
    parts = dict(kernel.parts)
    # A conditional that no other part mentions sums to one over its own node: drop it, last nodes first.
    for i in sorted(parts, reverse=True):
        others = (writer.mentions(part) for j, part in parts.items() if j != i)
        if not keep >> i & 1 and not any(graph.names[i] in mentioned for mentioned in others):
            del parts[i]
    over = tuple(graph.names[i] for i in parts if not keep >> i & 1)
    if not over:
        return _Chain(parts)
    return _Whole(keep, writer.add(Sum(over=over, of=writer.product(list(parts.values())))))


def _take_district(writer: Writer, problem: Problem, kernel: _Kernel, keep: int) -> _Chain:
    if isinstance(kernel, _Chain):
        return _Chain({i: kernel.parts[i] for i in bits(keep)})
    if isinstance(kernel, _Marginal):
        return _Chain({i: _conditional(writer, problem, kernel.nodes, i) for i in bits(keep)})
    names, parts = problem.graph.names_of, {}
    for i in bits(keep):
        later = kernel.nodes & ~((2 << i) - 1)
        top = writer.add(Sum(over=names(later), of=kernel.part)) if later else kernel.part
        parts[i] = writer.add(Ratio(top=top, bottom=writer.add(Sum(over=names(later | 1 << i), of=kernel.part))))
    return _Chain(parts)


def _conditional(writer: Writer, problem: Problem, field: int, i: int) -> int:
    """Write P(v | what precedes v), without the predecessors that v does not depend on given the others.

    Those kept are v's district among v and its predecessors, and the parents of that district.
    """
    edges, before = problem.edges, field & ((2 << i) - 1)
    near = district(edges, 1 << i, before)
    given = (near | parents_of(edges, near)) & before & ~(1 << i)
    return writer.add(P(of=(problem.graph.names[i],), given=problem.graph.names_of(given)))
