"""The question and its answer."""

from __future__ import annotations

from typing import TYPE_CHECKING

from butfor.identification.adjustment import prove_by_adjustment
from butfor.identification.conditional import move_to_treatment
from butfor.identification.front_door import prove_by_front_door
from butfor.identification.general import prove_in_general
from butfor.identification.problem import acting_treatments, pose
from butfor.identification.proof import Hedge

if TYPE_CHECKING:
    from butfor.graphs import Graph
    from butfor.identification.proof import Proof
    from butfor.identification.query import Query


def identify(graph: Graph, query: Query) -> Proof | Hedge:
    """Say whether the graph lets evidence on the measured variables answer the query, and prove it either way.

    The simplest estimand that works is chosen: no effect, adjustment for a minimal set, a front-door set, and then the
    general derivation. The procedure is complete: a hedge means that no method whatever can compute the effect from
    the graph and the observed distribution alone. Instruments need an assumption that no graph states, so they are
    never used here; see `find_instruments`.

    Assumptions:
        The graph is right, and the observed distribution is positive.

    Returns:
        A `Proof`, or a `Hedge` where the effect is not identified; `check` verifies both.

    Raises:
        butfor.errors.InputError: The query names a variable that is not in the graph or not measured.

    Reference:
        Shpitser and Pearl 2006 (ID, IDC); Perković et al. 2018 (adjustment).
    """
    problem = pose(graph, query)
    simple = prove_by_adjustment(problem)
    if simple is not None:
        return simple
    moved = move_to_treatment(problem) if problem.given else ()
    answer = prove_in_general(problem, moved)
    if isinstance(answer, Hedge):
        return answer
    return prove_by_front_door(problem, acting_treatments(problem)) or answer
