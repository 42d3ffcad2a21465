"""Which arms the next batch of a search draws, and how often: the two modes of `search`.

A plan only proposes; what leaves the set is decided by `Elimination` alone. Every choice depends on nothing but
results already entered.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Protocol

from butfor.attribution.elimination import leader_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    import numpy as np
    from numpy.typing import NDArray

# Draws of each arm in a batch at first; later a quarter of what the arm has, so that looks become rarer.
# (Policy calls saved against `profile` at n = 20 on one pivotal step: 2.8 times with 4, 2.9 with 2; limited help 10.2
# and 11.1.)
ROUND = 2
# The first look at v(0), and how far it goes on alone while every rollout fails as the factual run did.
START, START_MORE, START_MOST = 4, 16, 96
# The leader's arms take part in every comparison: more draws of them cost few rollouts and add little noise. (Policy
# calls saved as above with 1, 2 and 3 times: 2.5, 2.8, 2.7; limited help 9.5, 11.1, 9.8.)
LEADER_TIMES = 2
# Draws at a point that only shows where to look next.
GLANCE = 5
# A stretch of steps is looked into while its rise may hide more than this share of the leader's blame.
WORTH_A_LOOK = 0.5


@dataclass(frozen=True, kw_only=True)
class Standing:
    """What a plan may look at.

    Attributes:
        guesses: v̂ smoothed for betting, shape (steps + 1,), the last one the factual outcome.
        means: v̂ as observed, ½ where nothing was, same shape.
        tried: Own draws of each arm, missing ones included, same shape.
        candidates: Steps that may still be decisive.
        usable: Arms that can be drawn, ascending.
    """

    guesses: NDArray[np.float64]
    means: NDArray[np.float64]
    tried: NDArray[np.int64]
    candidates: Sequence[int]
    usable: Sequence[int]

    @property
    def steps(self) -> int:
        """Number of steps n."""
        return self.guesses.size - 1

    @property
    def seen(self) -> list[int]:
        """Arms that were drawn at all."""
        return [arm for arm in self.usable if self.tried[arm] > 0]


@dataclass(frozen=True, kw_only=True)
class Allocation:
    """The next batch.

    Attributes:
        counts: Arm to its number of draws; empty when there is nothing left to draw.
        leader: The step that the others are compared with; None while looking around.
    """

    counts: dict[int, int]
    leader: int | None


class Plan(Protocol):
    """A mode of the search."""

    def allocate(self, standing: Standing) -> Allocation:
        """Choose the next batch."""
        ...


def look_at_the_start(standing: Standing) -> Allocation | None:
    """Draw v(0) alone until a rollout fares better than the factual run: if none does, no step matters."""
    if 0 not in standing.usable:
        return None
    tried = int(standing.tried[0])
    if tried == 0:
        return Allocation(counts={0: START}, leader=None)
    if standing.means[0] >= standing.means[-1] and tried < START_MOST:
        return Allocation(counts={0: START_MORE}, leader=None)
    return None


def round_size(standing: Standing, arms: Iterable[int]) -> int:
    """Return the draws of each arm in the next batch: a quarter of what the least drawn one has, at least ROUND."""
    return max(ROUND, int(min((standing.tried[arm] for arm in arms), default=0)) // 4)


class EveryStep:
    """Assumption-free: every candidate's own two arms are drawn, until it has left."""

    def allocate(self, standing: Standing) -> Allocation:
        """Draw the arms of all candidates, the leader's more often."""
        start = look_at_the_start(standing)
        if start is not None:
            return start
        unseen = [arm for arm in standing.usable if standing.tried[arm] == 0]
        if unseen:
            return Allocation(counts=dict.fromkeys(unseen, ROUND), leader=None)
        leader = leader_of(standing.guesses, standing.usable, standing.candidates)
        wanted = {arm for k in standing.candidates for arm in (k, k + 1)} & set(standing.usable)
        pair = set() if leader is None else {leader, leader + 1} & wanted
        size = round_size(standing, wanted - pair)
        counts = {arm: (LEADER_TIMES if arm in pair else 1) * size for arm in sorted(wanted)}
        return Allocation(counts=counts, leader=leader)


class Halving:
    """Limited help: look at midpoints for the steepest rise, then confirm it against what lies left and right of it.

    A midpoint only proposes where to look. Steps in between leave the set by the bound
    blame(k) ≤ v(j) − v(i) + (j − i − 1)·η, of which `Elimination` takes care.

    Args:
        max_help: η.
    """

    def __init__(self, max_help: float) -> None:
        self._max_help = max_help

    def allocate(self, standing: Standing) -> Allocation:
        """Look into the most promising stretch, or confirm the leader."""
        start = look_at_the_start(standing)
        if start is not None:
            return start
        leader = leader_of(standing.guesses, standing.seen, standing.candidates)
        stretches = self._stretches(standing, leader)
        middle = self._where_to_look(standing, leader, stretches)
        if middle is not None:
            return Allocation(counts={middle: GLANCE}, leader=None)
        ends = {arm for i, j in stretches for arm in (i, j)} & set(standing.usable)
        pair = set() if leader is None else {leader, leader + 1} & set(standing.usable)
        size = round_size(standing, ends | pair)
        counts = {arm: (LEADER_TIMES if arm in pair else 1) * size for arm in sorted(ends | pair)}
        return Allocation(counts=counts, leader=leader)

    def _stretches(self, standing: Standing, leader: int | None) -> list[tuple[int, int]]:
        """Cut the run at drawn arms into stretches, no finer than is needed to compare them with the leader.

        Returns:
            (i, j): arms with i < j; the steps i … j − 1 lie between, at least one of them a candidate. i = −1 stands
            for the lowest possible v where no arm is drawn so early.
        """
        known = [*standing.seen, standing.steps]
        if not known or known[0] > 0:
            known = [-1, *known]
        ends = [known[0], *([] if leader is None else [leader, leader + 1]), standing.steps]
        limit = self._limit(standing, leader)
        pending, stretches = [(i, j) for i, j in pairwise(ends) if i < j], []
        while pending:
            i, j = pending.pop()
            if i == leader or not any(max(i, 0) <= k < j for k in standing.candidates):
                continue
            inside = [arm for arm in known if i < arm < j]
            if inside and self._rise(standing, i, j) > limit:
                cut = _nearest_to(inside, (i + j) / 2)
                pending += [(i, cut), (cut, j)]
            else:
                stretches.append((i, j))
        return sorted(stretches)

    def _where_to_look(self, standing: Standing, leader: int | None, stretches: list[tuple[int, int]]) -> int | None:
        """Return the middle of the stretch that may hide the largest blame, if that is worth a look."""
        best, most = None, self._limit(standing, leader)
        for i, j in stretches:
            inside = [arm for arm in standing.usable if i < arm < j]
            if inside and self._rise(standing, i, j) > most:
                best, most = inside[len(inside) // 2], self._rise(standing, i, j)
        return best

    def _limit(self, standing: Standing, leader: int | None) -> float:
        """Return the rise up to which a stretch is compared as a whole."""
        return float("-inf") if leader is None else WORTH_A_LOOK * self._rise(standing, leader, leader + 1)

    def _rise(self, standing: Standing, i: int, j: int) -> float:
        """Guess the largest blame of the steps i … j − 1."""
        start = 0.0 if i < 0 else float(standing.means[i])
        return float(standing.means[j]) - start + (j - max(i, 0) - 1) * self._max_help


def _nearest_to(arms: Sequence[int], place: float) -> int:
    return min(arms, key=lambda arm: abs(arm - place))
