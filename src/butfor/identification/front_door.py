"""Front-door sets: a complete search in polynomial time.

Reference:
    Pearl 1995 for the criterion; Jeong, Tian and Bareinboim, NeurIPS 2022, and Wienöbst, van der Zander and Liśkiewicz,
    2024, for the search: the nodes that fail a condition fail it in every smaller set, so dropping them until nothing
    fails leaves the largest candidate.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from butfor.graphs.parts import bits
from butfor.graphs.relations import ancestors, descendants, without_arrows
from butfor.graphs.separation import connected, open_from
from butfor.identification.problem import Problem, acting_treatments, pose
from butfor.identification.proof import FrontDoor, Proof

if TYPE_CHECKING:
    from butfor.graphs import Graph
    from butfor.identification.query import Query


def minimal_front_door(graph: Graph, query: Query) -> Proof | None:
    """Prove the query by a front-door set from which no single mediator can be left out.

    Returns:
        The proof, or None where no front-door set exists or the query has a stratum.

    Raises:
        butfor.errors.InputError: An unknown or unmeasured variable.
    """
    problem = pose(graph, query)
    return prove_by_front_door(problem, acting_treatments(problem))


def prove_by_front_door(problem: Problem, acting: int) -> Proof | None:
    """Prove a posed query by a front-door set, or return None."""
    if problem.given or not acting:
        return None
    mediators = _largest(problem, acting)
    if not mediators:
        return None
    # Only nodes that the treatment moves and that move the outcome can be needed; try those before one at a time.
    inside = descendants(problem.edges, acting, problem.measured)
    inside &= ancestors(problem.edges, problem.outcomes, problem.measured)
    if _is_front_door(problem, acting, mediators & inside):
        mediators &= inside
    for i in bits(mediators):
        if _is_front_door(problem, acting, mediators & ~(1 << i)):
            mediators &= ~(1 << i)
    names = problem.graph.names_of
    argument = FrontDoor(acting=names(acting), mediators=names(mediators))
    return Proof(graph=problem.graph.digest, query=problem.query, argument=argument)


def _largest(problem: Problem, acting: int) -> int:
    """Return the largest set without back doors to it and from it, if it meets every causal path; else 0."""
    edges, within = problem.edges, problem.measured
    cut = without_arrows(edges, acting, within)
    # Without colliders a back-door path climbs from the treatment, perhaps crosses one latent edge, and descends.
    above = ancestors(cut, acting, within)
    across = above
    for i in bits(above):
        across |= cut.spouses[i]
    found = within & ~descendants(cut, across, within) & ~problem.outcomes & ~problem.treatments
    while found and _intercepts(problem, acting, found):
        cut = without_arrows(edges, found, within)
        bad = found & open_from(cut, problem.outcomes, acting, within)
        if not bad:
            return found
        found &= ~bad
    return 0


def _intercepts(problem: Problem, acting: int, mediators: int) -> bool:
    return not descendants(problem.edges, acting, problem.measured & ~mediators) & problem.outcomes


def _is_front_door(problem: Problem, acting: int, mediators: int) -> bool:
    """Check the conditions that a smaller set can break: every causal path meets it, no back door to the outcome."""
    if not _intercepts(problem, acting, mediators):
        return False
    cut = without_arrows(problem.edges, mediators, problem.measured)
    return not connected(cut, mediators, problem.outcomes, acting, problem.measured)
