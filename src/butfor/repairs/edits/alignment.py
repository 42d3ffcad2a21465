"""Which tokens of one text stand for which of another."""

from __future__ import annotations

from difflib import SequenceMatcher
from itertools import groupby
from typing import TYPE_CHECKING, TypeAlias

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

Piece: TypeAlias = tuple[bool, int, int, int, int]
"""(whether both sides are equal, left from, left to, right from, right to)."""

# Token by token, "3 - 4" against "4 + 3" is three changes, of which a repair may need one; longest common blocks see a
# piece inserted and a piece deleted, of which it needs both. Beyond these sizes blocks are used.
MOST_TOKENS = 600
MOST_PIECES = 24


def align(left: Sequence[str], right: Sequence[str]) -> list[Piece]:
    """Align two token sequences; every unequal piece can be applied by itself.

    Short texts that differ in few places are aligned token by token, at the least number of insertions, deletions and
    replacements; others by their longest common blocks.
    """
    if max(len(left), len(right)) <= MOST_TOKENS:
        pieces = _token_by_token(left, right)
        if sum(not same for same, *_ in pieces) <= MOST_PIECES:
            return pieces
    blocks = SequenceMatcher(None, left, right, autojunk=False).get_opcodes()
    return [(tag == "equal", i, j, x, y) for tag, i, j, x, y in blocks]


def _token_by_token(left: Sequence[str], right: Sequence[str]) -> list[Piece]:
    steps = _backtrace(left, right, _costs(left, right))
    pieces: list[Piece] = []
    for kind, group in groupby(steps, key=lambda step: step[0]):
        run = list(group)
        if kind == "replace":  # one token each
            pieces += [(False, i, i + 1, x, x + 1) for _, i, x in run]
            continue
        first, last = run[0], run[-1]
        on_left, on_right = kind != "insert", kind != "delete"
        pieces.append((kind == "equal", first[1], last[1] + on_left, first[2], last[2] + on_right))
    return pieces


def _costs(left: Sequence[str], right: Sequence[str]) -> NDArray[np.int64]:
    """Fill the table of edit distances between all prefixes, shape (|left| + 1, |right| + 1)."""
    places = np.arange(len(right) + 1)
    table = np.empty((len(left) + 1, len(right) + 1), dtype=np.int64)
    table[0] = places
    names = {each: i for i, each in enumerate(dict.fromkeys((*left, *right)))}
    numbers = np.array([names[each] for each in right], dtype=np.int64)
    spaces = np.array([each.isspace() for each in right], dtype=bool)
    for i, each in enumerate(left, 1):
        # A word never stands for a space.
        swapped = np.where(numbers == names[each], 0, np.where(spaces == each.isspace(), 1, 2))
        best = np.minimum(table[i - 1, 1:] + 1, table[i - 1, :-1] + swapped)
        table[i] = np.minimum.accumulate(np.concatenate(([i], best)) - places) + places
    return table


def _backtrace(left: Sequence[str], right: Sequence[str], table: NDArray[np.int64]) -> list[tuple[str, int, int]]:
    steps: list[tuple[str, int, int]] = []
    i, x = len(left), len(right)
    while i or x:
        here = table[i, x]
        both = i and x
        if both and left[i - 1] == right[x - 1] and here == table[i - 1, x - 1]:
            i, x = i - 1, x - 1
            steps.append(("equal", i, x))
        elif both and left[i - 1].isspace() == right[x - 1].isspace() and here == table[i - 1, x - 1] + 1:
            i, x = i - 1, x - 1
            steps.append(("replace", i, x))
        elif i and here == table[i - 1, x] + 1:
            i -= 1
            steps.append(("delete", i, x))
        else:
            x -= 1
            steps.append(("insert", i, x))
    return steps[::-1]
