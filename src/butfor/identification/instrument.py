"""Instruments and conditional instruments: what they are, and the assumption that each needs.

An instrument identifies nothing by the graph alone: a proof from here always names an assumption.

Reference:
    Brito and Pearl, UAI 2002; van der Zander, Textor and Liśkiewicz, IJCAI 2015, for the search: a conditioning set
    nearest to the outcome blocks as few paths between instrument and treatment as possible.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from butfor.errors import InputError
from butfor.graphs.parts import bits
from butfor.graphs.relations import ancestors, descendants, without_arrows
from butfor.graphs.separation import connected, minimal_separator, reach
from butfor.identification.problem import (
    Problem,
    acting_treatments,
    back_door_graph,
    causal_nodes,
    forbidden_nodes,
    pose,
)
from butfor.identification.proof import Assumption, Instrument, Proof

if TYPE_CHECKING:
    from butfor.graphs import Edges, Graph
    from butfor.identification.query import Query


def find_instruments(graph: Graph, query: Query, *, assumption: Assumption) -> tuple[Proof, ...]:
    """Find the measured variables that are instruments, each with one conditioning set.

    ``linear_effect`` takes any variable that is associated with the treatment and, once the causal paths are cut, not
    with the outcome. ``monotonicity`` needs more: the variable is as good as randomised given the set, and nothing in
    the set comes after it.

    Args:
        graph: The graph.
        query: One treatment, one outcome, no stratum.
        assumption: The assumption to be stated.

    Returns:
        One proof an instrument, those without a conditioning set first; empty where there is none.

    Raises:
        InputError: More than one treatment or outcome, a stratum, or an unknown or unmeasured variable.
    """
    problem = pose(graph, query)
    if len(query.treatments) > 1 or len(query.outcomes) > 1 or query.given:
        raise InputError("an instrument is for one treatment and one outcome", fix="ask about one effect, no stratum")
    acting = acting_treatments(problem)
    if not acting:
        return ()
    causal = causal_nodes(problem, acting)
    allowed = problem.measured & ~forbidden_nodes(problem, causal) & ~acting & ~problem.outcomes
    cut = back_door_graph(problem, acting, causal)
    found: list[tuple[str, tuple[str, ...]]] = []
    for i in bits(allowed):
        w = _conditioning_set(problem, cut, i, allowed & ~(1 << i), assumption)
        if w is not None:
            found.append((graph.names[i], graph.names_of(w)))
    found.sort(key=lambda pair: len(pair[1]))
    return tuple(
        Proof(
            graph=graph.digest,
            query=query,
            argument=Instrument(instrument=name, adjust_for=given, assumption=assumption),
        )
        for name, given in found
    )


def _conditioning_set(problem: Problem, cut: Edges, i: int, allowed: int, assumption: Assumption) -> int | None:
    """Return a set that makes node i an instrument, trying none, a minimal and the nearest one."""
    z, y, within = 1 << i, problem.outcomes, problem.measured
    if assumption == "monotonicity":
        allowed &= ~descendants(problem.edges, z, within)
    if _is_instrument(problem, cut, i, 0, assumption):
        return 0
    candidates = [
        _nearest_separator(cut, z, y, allowed, within),
        minimal_separator(cut, z, y, 0, allowed, within),
        _as_good_as_randomised(problem, cut, z, allowed) if assumption == "monotonicity" else None,
    ]
    for w in candidates:
        if w is not None and _is_instrument(problem, cut, i, w, assumption):
            return _smaller(problem, cut, i, w, assumption)
    return None


def _nearest_separator(cut: Edges, z: int, y: int, allowed: int, within: int) -> int | None:
    field = ancestors(cut, z | y, within)
    candidates = field & allowed
    near = reach(cut, y, field, candidates)
    return None if near & z else candidates & near


def _as_good_as_randomised(problem: Problem, cut: Edges, z: int, allowed: int) -> int | None:
    """Separate z from treatment and outcome together, once its own arrows are cut."""
    without_own = without_arrows(cut, z, problem.measured)
    return minimal_separator(without_own, z, problem.treatments | problem.outcomes, 0, allowed, problem.measured)


def _is_instrument(problem: Problem, cut: Edges, i: int, w: int, assumption: Assumption) -> bool:
    z, x, within = 1 << i, problem.treatments, problem.measured
    if connected(cut, z, problem.outcomes, w, within) or not connected(problem.edges, z, x, w, within):
        return False
    if assumption == "linear_effect":
        return True
    after = descendants(problem.edges, z, within)
    own = without_arrows(problem.edges, z, within)
    return not w & after and not connected(own, z, x, w, within)


def _smaller(problem: Problem, cut: Edges, i: int, w: int, assumption: Assumption) -> int:
    """Leave out what is not needed, one variable at a time."""
    for j in bits(w):
        if _is_instrument(problem, cut, i, w & ~(1 << j), assumption):
            w &= ~(1 << j)
    return w
