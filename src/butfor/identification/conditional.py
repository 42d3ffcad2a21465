"""Which stratum variables can be set instead of observed, so that the rest is an unconditional query.

Reference:
    Shpitser and Pearl, *Identification of conditional interventional distributions*, UAI 2006 (IDC).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from butfor.graphs.parts import bits
from butfor.graphs.relations import without_arrowheads_into, without_arrows
from butfor.graphs.separation import connected

if TYPE_CHECKING:
    from butfor.identification.problem import Problem


def move_to_treatment(problem: Problem) -> tuple[int, ...]:
    """Return the node numbers of stratum variables for which observing equals doing (rule 2), until none is left.

    The largest such set is unique, so the order does not matter for the answer.
    """
    doing, left = problem.treatments, problem.given
    moved: list[int] = []
    while True:
        base = without_arrowheads_into(problem.edges, doing)
        for i in bits(left):
            rest = left & ~(1 << i)
            cut = without_arrows(base, 1 << i, problem.measured)
            if not connected(cut, 1 << i, problem.outcomes, doing | rest, problem.measured):
                break
        else:
            return tuple(moved)
        moved.append(i)
        doing |= 1 << i
        left = rest
