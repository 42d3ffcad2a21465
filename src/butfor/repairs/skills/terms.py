"""Steps as weighted terms (TF-IDF), and how far apart they are."""

from __future__ import annotations

import math
import re
from collections import Counter
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from butfor.repairs.skills.causal import CausalStep

_WORD = re.compile(r"[^\W\d_]{2,}")
_CAMEL = re.compile(r"(?<=[a-z])(?=[A-Z])")
_STOP = frozenset(
    re.findall(
        r"\w+",
        "a an and are as at be by for from has have i in is it its me my no not of on or so that the their they this "
        "to was were will with you your true false null none",
    )
)
ACTION_WEIGHT, SEEN_WEIGHT = 2.0, 1.0
"""What was decided counts twice what was seen: two steps that err alike are alike, whatever the order's number."""


def terms_of(step: CausalStep) -> Counter[str]:
    """Count a step's terms: its tools, the mending tools, the words of its action and of what it saw.

    Numbers and ids are left out: they name the case, not the kind of error.
    """
    counts: Counter[str] = Counter()
    counts[f"does:{step.does}"] += 3
    if step.repaired_by is not None:
        counts[f"mended by:{step.repaired_by}"] += 2
    for text, weight in ((step.action, ACTION_WEIGHT), (step.seen, SEEN_WEIGHT)):
        for word, count in Counter(words_of(text)).items():
            counts[word] += weight * (1.0 + math.log(count))  # type: ignore[assignment]
    return counts


def words_of(text: str) -> list[str]:
    """Split a text into lower-case words, without stop words."""
    spaced = _CAMEL.sub(" ", text.replace("_", " "))
    return [word for word in _WORD.findall(spaced.casefold()) if word not in _STOP]


def distances(documents: Sequence[Counter[str]]) -> NDArray[np.float64]:
    """Return the cosine distances between TF-IDF vectors.

    Args:
        documents: Term counts of n steps.

    Returns:
        An n × n matrix in [0, 1]. A step without a term is at distance 1 from every other.
    """
    vocabulary = sorted({term for each in documents for term in each})
    column = {term: i for i, term in enumerate(vocabulary)}
    matrix = np.zeros((len(documents), len(vocabulary)))
    for row, each in enumerate(documents):
        for term, count in each.items():
            matrix[row, column[term]] = count
    # Smoothed, as if every term stood in one more document: a term of all documents keeps a weight.
    matrix *= 1.0 + np.log((1.0 + len(documents)) / (1.0 + (matrix > 0).sum(axis=0)))
    norms = np.sqrt((matrix**2).sum(axis=1, keepdims=True))
    norms[norms == 0.0] = 1.0
    similar: NDArray[np.float64] = (matrix / norms) @ (matrix / norms).T
    apart = np.clip(1.0 - similar, 0.0, 1.0)
    np.fill_diagonal(apart, 0.0)
    result: NDArray[np.float64] = np.round(apart, 12)  # the order of summation must not decide a tie
    return result
