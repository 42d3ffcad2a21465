"""Adjustment sets by the complete criterion: does one exist, a minimal one, the cheapest, the most precise.

Reference:
    Perković, Textor, Kalisch and Maathuis, *Complete graphical characterization and construction of adjustment sets*,
    JMLR 2018; for strata LaPlante and Perković, *Conditional adjustment*, AISTATS 2024 (strata before treatment).
"""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING

from butfor.graphs.parts import bits
from butfor.graphs.relations import descendants, parents_of
from butfor.graphs.separation import connected, minimal_separator
from butfor.identification.cut import cheapest_separator
from butfor.identification.problem import (
    Problem,
    acting_treatments,
    back_door_graph,
    causal_nodes,
    forbidden_nodes,
    pose,
)
from butfor.identification.proof import Adjustment, NoEffect, Proof

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from butfor.graphs import Edges, Graph
    from butfor.identification.query import Query


def minimal_adjustment(
    graph: Graph, query: Query, *, required: Iterable[str] = (), forbidden: Iterable[str] = ()
) -> Proof | None:
    """Prove the query by a set from which no proper subset with `required` works; nearest to the outcome of such sets.

    Args:
        graph: The graph; nodes with the role ``adjusted`` count as required.
        query: The effect, perhaps within a stratum of variables that the treatment cannot move.
        required: Variables that must be adjusted for.
        forbidden: Variables that must not.

    Returns:
        The proof, or None where no such set exists (the query may be identified by other means).

    Raises:
        butfor.errors.InputError: An unknown or unmeasured variable.
    """
    return prove_by_adjustment(pose(graph, query), graph.mask(required), graph.mask(forbidden))


def prove_by_adjustment(problem: Problem, required: int = 0, forbidden: int = 0) -> Proof | None:
    """Prove a posed query by a minimal adjustment set, or return None."""
    acting = acting_treatments(problem)
    if not acting and not required:
        return proven(problem, NoEffect())
    found = _search_space(problem, acting, required, forbidden)
    if found is None:
        return None
    edges, needed, allowed = found
    z = minimal_separator(edges, acting, problem.outcomes, needed, allowed, problem.measured)
    return None if z is None else _proof(problem, acting, z)


def cheapest_adjustment(
    graph: Graph,
    query: Query,
    *,
    costs: Mapping[str, float],
    required: Iterable[str] = (),
    forbidden: Iterable[str] = (),
) -> Proof | None:
    """Prove the query by a set of the smallest total cost.

    Args:
        graph: The graph; nodes with the role ``adjusted`` count as required.
        query: The effect, perhaps within a stratum of variables that the treatment cannot move.
        costs: Cost by variable, finite and not negative; one that is not named costs 1.
        required: Variables that must be adjusted for.
        forbidden: Variables that must not.

    Returns:
        The proof, or None where no such set exists.

    Raises:
        butfor.errors.InputError: An unknown or unmeasured variable, or a cost that is no cost.

    Reference:
        van der Zander, Liśkiewicz and Textor, *Separators and adjustment sets in causal graphs*, AIJ 2019.
    """
    problem = pose(graph, query)
    acting = acting_treatments(problem)
    found = _search_space(problem, acting, graph.mask(required), graph.mask(forbidden))
    if found is None:
        return None
    edges, needed, allowed = found
    price = [costs.get(name, 1.0) for name in graph.names]
    graph.mask(costs)
    z = cheapest_separator(edges, acting, problem.outcomes, needed, allowed, problem.measured, price)
    return None if z is None else _proof(problem, acting, z)


@dataclasses.dataclass(frozen=True, kw_only=True)
class PreciseSet:
    """An adjustment set chosen for its small variance, and what may be said of it.

    Attributes:
        proof: The proof by this set.
        is_optimal: Whether no valid set has a smaller asymptotic variance. Where this is False the set is minimal:
            nothing can be left out of it, but a larger set may estimate more precisely.
    """

    proof: Proof
    is_optimal: bool

    @property
    def in_words(self) -> str:
        """Say what is claimed."""
        if self.is_optimal:
            return "no valid set has a smaller asymptotic variance"
        return "nothing can be left out of it; it is not claimed that no larger set is more precise"


def precise_adjustment(graph: Graph, query: Query) -> PreciseSet | None:
    """Prove the query by the optimal set where theory names one, else by a minimal set, and say which it is.

    Guarantee: asymptotic, as `optimal_adjustment`, where `is_optimal`; else that the set is valid and minimal, and no
    more. With latent variables the order of the variances can depend on the distribution, so that no set is best for
    all that the graph allows; the minimal set returned is the one nearest to the outcome.

    Returns:
        The set, or None where no adjustment set is valid.

    Raises:
        butfor.errors.InputError: An unknown or unmeasured variable.

    Reference:
        Henckel, Perković and Maathuis, JRSS-B 2022, on latent variables without a best set; Smucler, Sapienza and
        Rotnitzky, Biometrika 2022, on the best of the minimal sets; Runge, NeurIPS 2021, on when a best set exists,
        which is more often than is recognised here.
    """
    best = optimal_adjustment(graph, query)
    if best is not None:
        return PreciseSet(proof=best, is_optimal=True)
    minimal = minimal_adjustment(graph, query)
    return None if minimal is None else PreciseSet(proof=minimal, is_optimal=False)


def optimal_adjustment(graph: Graph, query: Query) -> Proof | None:
    """Prove the query by the set with the smallest asymptotic variance, where theory names one.

    Guarantee: asymptotic, for linear and for nonparametric regular estimators, among all valid sets. It is the set of
    parents of the causal nodes. Where a latent edge ends in a causal node, that set would need the latent variable and
    no uniformly best measured set need exist: the answer is then None; `precise_adjustment` gives a minimal set.

    Returns:
        The proof, or None where no optimal set is known or none is valid.

    Raises:
        butfor.errors.InputError: An unknown or unmeasured variable.

    Reference:
        Henckel, Perković and Maathuis, JRSS-B 2022; Rotnitzky and Smucler, JMLR 2020; Smucler, Sapienza and
        Rotnitzky, Biometrika 2022 for measured subsets.
    """
    problem = pose(graph, query)
    acting = acting_treatments(problem)
    found = _search_space(problem, acting, 0, 0)
    if found is None:
        return None
    causal = causal_nodes(problem, acting)
    if any(problem.edges.spouses[i] for i in bits(causal)):
        return None
    edges, needed, allowed = found
    z = (parents_of(problem.edges, causal) & ~causal & ~acting) | needed
    usable = not z & ~allowed & ~needed and not connected(edges, acting, problem.outcomes, z, problem.measured)
    return _proof(problem, acting, z) if usable else None


def is_adjustment_set(graph: Graph, query: Query, adjust_for: Iterable[str]) -> bool:
    """Say whether adjusting for exactly this set gives the effect.

    Raises:
        butfor.errors.InputError: An unknown variable, or an unmeasured one in the query.
    """
    problem = pose(graph, query)
    acting, z = acting_treatments(problem), graph.mask(adjust_for)
    found = _search_space(problem, acting, 0, 0, keep_role=False)
    if found is None or z & ~found[2] & ~problem.given:
        return False
    return not acting or not connected(found[0], acting, problem.outcomes, z | problem.given, problem.measured)


def proven(problem: Problem, argument: NoEffect | Adjustment) -> Proof:
    """Wrap an argument for the problem's graph and query."""
    return Proof(graph=problem.graph.digest, query=problem.query, argument=argument)


def _search_space(
    problem: Problem, acting: int, required: int, forbidden: int, *, keep_role: bool = True
) -> tuple[Edges, int, int] | None:
    """Return (back-door graph, needed, allowed), or None where a stratum or a required node rules adjustment out."""
    causal = causal_nodes(problem, acting)
    never = forbidden_nodes(problem, causal) | acting | problem.outcomes
    if keep_role:
        required |= problem.graph.adjusted & ~problem.treatments & ~problem.outcomes
    needed = required | problem.given
    if problem.given and problem.given & descendants(problem.edges, acting, problem.measured):
        return None
    allowed = problem.measured & ~never & ~forbidden
    if needed & (never | forbidden | ~problem.measured):
        return None
    return back_door_graph(problem, acting, causal), needed, allowed


def _proof(problem: Problem, acting: int, z: int) -> Proof:
    if not acting | z & ~problem.given:
        return proven(problem, NoEffect())
    names = problem.graph.names_of
    return proven(problem, Adjustment(acting=names(acting), adjust_for=names(z & ~problem.given)))
