"""Which arms the next batch of a search draws, and how often: the two modes of `search`.

A plan only proposes; what leaves the set is decided by `Elimination` alone. Every choice depends on nothing but
results already entered.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import TYPE_CHECKING, Protocol

import numpy as np

from butfor.attribution.elimination import leader_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

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
        candidates: Whether a step may still be decisive, shape (steps,).
        usable: Whether an arm can be drawn, shape (steps,).
    """

    guesses: NDArray[np.float64]
    means: NDArray[np.float64]
    tried: NDArray[np.int64]
    candidates: NDArray[np.bool_]
    usable: NDArray[np.bool_]

    @property
    def steps(self) -> int:
        """Number of steps n."""
        return self.guesses.size - 1

    @cached_property
    def seen(self) -> NDArray[np.bool_]:
        """Arms that were drawn at all, shape (steps,)."""
        return self.usable & (self.tried[:-1] > 0)


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


def looks_at_the_start(tried: NDArray[np.int64], means: NDArray[np.float64]) -> NDArray[np.bool_]:
    """Tell whether v(0) is to be drawn alone: until a rollout fares better than the factual run; else no step matters.

    Args:
        tried: Own draws of each arm, shape (..., steps + 1).
        means: v̂ as observed and y, same shape.

    Returns:
        Shape (...).
    """
    no_better = (means[..., 0] >= means[..., -1]) & (tried[..., 0] < START_MOST)
    looks: NDArray[np.bool_] = (tried[..., 0] == 0) | no_better
    return looks


def look_at_the_start(standing: Standing) -> Allocation | None:
    """Draw v(0) alone as long as `looks_at_the_start` says so."""
    if not (standing.usable[0] and looks_at_the_start(standing.tried, standing.means)):
        return None
    return Allocation(counts={0: START_MORE if standing.tried[0] else START}, leader=None)


def round_size(standing: Standing, arms: Iterable[int]) -> int:
    """Return the draws of each arm in the next batch: a quarter of what the least drawn one has, at least ROUND."""
    return max(ROUND, min((int(standing.tried[arm]) for arm in arms), default=0) // 4)


def _evenly(arms: Iterable[int], size: int, leader: int | None) -> Allocation:
    """Draw arms evenly, the leader's two more often."""
    pair = () if leader is None else (leader, leader + 1)
    counts = {arm: (LEADER_TIMES if arm in pair else 1) * size for arm in sorted(arms)}
    return Allocation(counts=counts, leader=leader)


class EveryStep:
    """Assumption-free: every candidate's own two arms are drawn, until it has left."""

    def allocate(self, standing: Standing) -> Allocation:
        """Draw the arms of all candidates, the leader's more often."""
        start = look_at_the_start(standing)
        if start is not None:
            return start
        unseen = np.flatnonzero(standing.usable & (standing.tried[:-1] == 0))
        if unseen.size:
            return Allocation(counts=dict.fromkeys(unseen.tolist(), ROUND), leader=None)
        leader = leader_of(standing.guesses, standing.usable, standing.candidates)
        wanted = standing.candidates.copy()
        wanted[1:] |= standing.candidates[:-1]
        arms = np.flatnonzero(wanted & standing.usable).tolist()
        others = (arm for arm in arms if leader is None or arm not in (leader, leader + 1))
        return _evenly(arms, round_size(standing, others), leader)


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
        rises = _Rises(standing, self._max_help)
        limit = float("-inf") if leader is None else WORTH_A_LOOK * rises.between(leader, leader + 1)
        stretches = self._stretches(standing, rises, leader, limit)
        middle = self._where_to_look(standing, rises, stretches, limit)
        if middle is not None:
            return Allocation(counts={middle: GLANCE}, leader=None)
        ends = {arm for i, j in stretches for arm in (i, j)} | (set() if leader is None else {leader, leader + 1})
        usable = {arm for arm in ends if 0 <= arm < standing.steps and standing.usable[arm]}
        return _evenly(usable, round_size(standing, usable), leader)

    @staticmethod
    def _stretches(standing: Standing, rises: _Rises, leader: int | None, limit: float) -> list[tuple[int, int]]:
        """Cut the run at drawn arms into stretches, no finer than is needed to compare them with the leader.

        Returns:
            (i, j): arms with i < j; the steps i … j − 1 lie between, at least one of them a candidate. i = −1 stands
            for the lowest possible v where no arm is drawn so early.
        """
        known = [*np.flatnonzero(standing.seen).tolist(), standing.steps]
        if known[0] > 0:
            known = [-1, *known]
        before = [0, *np.cumsum(standing.candidates).tolist()]  # candidates before step k
        ends = [known[0], *([] if leader is None else [leader, leader + 1]), standing.steps]
        pending, stretches = [(i, j) for i, j in pairwise(ends) if i < j], []
        while pending:
            i, j = pending.pop()
            if i == leader or before[j] == before[max(i, 0)]:
                continue
            inside = known[bisect_right(known, i) : bisect_left(known, j)]
            if inside and rises.between(i, j) > limit:
                cut = _nearest_to(inside, (i + j) / 2)
                pending += [(i, cut), (cut, j)]
            else:
                stretches.append((i, j))
        return sorted(stretches)

    @staticmethod
    def _where_to_look(standing: Standing, rises: _Rises, stretches: list[tuple[int, int]], limit: float) -> int | None:
        """Return the middle of the stretch that may hide the largest blame, if that is worth a look."""
        usable: list[int] = np.flatnonzero(standing.usable).tolist()
        best, most = None, limit
        for i, j in stretches:
            inside = usable[bisect_right(usable, i) : bisect_left(usable, j)]
            if inside and rises.between(i, j) > most:
                best, most = inside[len(inside) // 2], rises.between(i, j)
        return best


class _Rises:
    """Guesses of the largest blame between two arms."""

    def __init__(self, standing: Standing, max_help: float) -> None:
        self._means: list[float] = standing.means.tolist()
        self._max_help = max_help

    def between(self, i: int, j: int) -> float:
        """Guess the largest blame of the steps i … j − 1."""
        start = 0.0 if i < 0 else self._means[i]
        return self._means[j] - start + (j - max(i, 0) - 1) * self._max_help


def _nearest_to(arms: Sequence[int], place: float) -> int:
    return min(arms, key=lambda arm: abs(arm - place))
