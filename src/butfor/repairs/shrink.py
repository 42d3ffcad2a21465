"""The smallest part of a repair that still works: delta debugging over its hunks.

Looking for it proves nothing about it: what was found is validated like any candidate, on draws of its own.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import combinations, pairwise
from typing import TYPE_CHECKING, Protocol

from butfor.errors import InputError
from butfor.repairs.edits import key_of

if TYPE_CHECKING:
    from collections.abc import Iterator

    from butfor.canonical import Json
    from butfor.repairs.edits import Change

CALLS = 64
"""Candidates that a search looks at, unless told otherwise."""

# With so many hunks left every smaller subset is tried; beyond, every one that lacks one hunk, which is what
# 1-minimality says.
TRY_ALL_OF = 6


class Check(Protocol):
    """Says whether a candidate works, as far as a search needs to know; None ends the search (a budget)."""

    def __call__(self, action: Json, /) -> bool | None:
        """Look at one candidate."""
        ...


@dataclass(frozen=True, kw_only=True)
class Shrunk:
    """What a search found.

    Attributes:
        kept: Positions of the hunks that are left.
        action: The factual action with only those changed.
        trail: Working candidates from the whole repair to the smallest, as positions of hunks.
        calls: Candidates looked at; one that came up before is not counted again.
        one_minimal: Whether every smaller candidate (each without one hunk; with few hunks every subset) was tried,
            and none works.
    """

    kept: tuple[int, ...]
    action: Json
    trail: tuple[tuple[int, ...], ...]
    calls: int
    one_minimal: bool


def shrink(change: Change, works: Check, *, calls: int = CALLS) -> Shrunk:
    """Look for the smallest set of hunks that works.

    Estimand: none; a search, heuristic where `works` is.
    Guarantee: where `works` always says the same of the same candidate and `one_minimal` is true, no candidate with
    one hunk less works.
    Reference: Zeller and Hildebrandt 2002 (ddmin).

    Args:
        change: The whole repair, which works.
        works: Looks at one candidate.
        calls: Candidates to look at, at most.

    Raises:
        InputError: The repair changes nothing.
    """
    if not change.hunks:
        raise InputError("a repair that changes nothing cannot be shrunk", fix="drop it")
    search = _Search(change=change, works=works, left=calls)
    smallest = search.ddmin(tuple(range(len(change.hunks))))
    smallest, minimal = search.check_smaller(smallest)
    return Shrunk(
        kept=smallest,
        action=change.apply(smallest),
        trail=tuple(search.trail),
        calls=calls - search.left,
        one_minimal=minimal,
    )


@dataclass(kw_only=True)
class _Search:
    change: Change
    works: Check
    left: int
    trail: list[tuple[int, ...]] = field(default_factory=list)
    _known: dict[str, bool | None] = field(default_factory=dict)

    def ddmin(self, kept: tuple[int, ...]) -> tuple[int, ...]:
        """Halve, then look at ever finer parts and at what is left without them."""
        self.trail.append(kept)
        parts = 2
        while len(kept) >= 2:
            pieces = _split(kept, parts)
            rests = [tuple(i for i in kept if i not in piece) for piece in pieces] if parts > 2 else []
            found = next((each for each in (*pieces, *rests) if self._works(each)), None)
            if found is not None:
                # A piece is looked into afresh; of what is left without a piece, one part fewer remains to be tried.
                parts = 2 if found in pieces else max(parts - 1, 2)
                kept = found
                self.trail.append(kept)
            elif parts < len(kept):
                parts = min(2 * parts, len(kept))
            else:
                break
        return kept

    def check_smaller(self, kept: tuple[int, ...]) -> tuple[tuple[int, ...], bool]:
        """Try every smaller candidate; one that works is taken and checked in its turn."""
        while True:
            verdicts = [(each, self._works(each)) for each in _smaller(kept)]
            found = next((each for each, works in verdicts if works), None)
            if found is None:
                return kept, all(works is False for _, works in verdicts)
            kept = found
            self.trail.append(kept)

    def _works(self, kept: tuple[int, ...]) -> bool | None:
        action = self.change.apply(kept)
        key = key_of(action)
        if key not in self._known:
            if self.left == 0:
                return None
            self.left -= 1
            self._known[key] = self.works(action)
        return self._known[key]


def _split(kept: tuple[int, ...], parts: int) -> list[tuple[int, ...]]:
    edges = [round(i * len(kept) / parts) for i in range(parts + 1)]
    return [kept[a:b] for a, b in pairwise(edges) if a < b]


def _smaller(kept: tuple[int, ...]) -> Iterator[tuple[int, ...]]:
    """Yield smaller candidates, the smallest first; none is the factual action, which failed."""
    sizes = range(1, len(kept)) if len(kept) <= TRY_ALL_OF else [len(kept) - 1]
    for size in sizes:
        if size:
            yield from combinations(kept, size)
