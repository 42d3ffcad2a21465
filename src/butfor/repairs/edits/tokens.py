"""Text as tokens: how many were inserted, deleted or replaced."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import numpy as np

from butfor.confidence import Undefined

if TYPE_CHECKING:
    from collections.abc import Sequence

_TOKEN = re.compile(r"\d+(?:\.\d+)?|\w+|\s+|[^\w\s]", re.UNICODE)


def tokens(text: str) -> list[str]:
    """Split a text into numbers, words, single signs and stretches of space; joined they are the text."""
    return _TOKEN.findall(text)


def token_distance(a: str, b: str) -> int:
    """Count the least insertions, deletions and replacements of tokens, space not counted (Levenshtein 1966)."""
    return distance(
        [each for each in tokens(a) if not each.isspace()], [each for each in tokens(b) if not each.isspace()]
    )


def distance(a: Sequence[str], b: Sequence[str]) -> int:
    """Return the edit distance of two sequences."""
    while a and b and a[0] == b[0]:
        a, b = a[1:], b[1:]
    while a and b and a[-1] == b[-1]:
        a, b = a[:-1], b[:-1]
    if not a or not b:
        return len(a) + len(b)
    numbers = {each: i for i, each in enumerate(dict.fromkeys((*a, *b)))}
    right = np.array([numbers[each] for each in b])
    places = np.arange(len(b) + 1)
    row = places.copy()
    for each in a:
        changed = np.minimum(row[1:] + 1, row[:-1] + (right != numbers[each]))
        # Insertions run along the row: a running minimum of (value − place) carries them.
        row = np.minimum.accumulate(np.concatenate(([row[0] + 1], changed)) - places) + places
    return int(row[-1])


def positional_score(original: str, minimal: str) -> float | Undefined:
    """Return CausalFlow's minimality M, for comparison only.

    o, m = lower-cased words between spaces, L = max(|o|, |m|); M = (1/L)·Σ_j 1[o_j = m_j] · (1 − 0.5·||o| − |m||/L).
    It compares words place by place, so one word put in front scores 0 however small the edit. Where there is no text
    on either side there is nothing to compare, and no score (arXiv 2605.25338).
    """
    o, m = original.lower().split(), minimal.lower().split()
    longest = max(len(o), len(m))
    if longest == 0:
        return Undefined(reason="there is no text on either side")
    same = sum(x == y for x, y in zip(o, m, strict=False))
    return same / longest * (1 - 0.5 * abs(len(o) - len(m)) / longest)
