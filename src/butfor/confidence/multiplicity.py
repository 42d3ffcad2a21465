"""Many statements at one error level."""

from __future__ import annotations

from typing import TYPE_CHECKING

from butfor.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Sequence


def bonferroni(alpha: float, statements: int) -> float:
    """Return the level at which each of several bounds must be computed so that all hold together at 1 − alpha."""
    if statements < 1:
        raise InputError(f"{statements} statements cannot share a level", fix="pass the number of bounds, at least 1")
    return alpha / statements


def holm(p_values: Sequence[float]) -> list[float]:
    """Adjust p-values so that rejecting those ≤ alpha errs on any true null with probability ≤ alpha.

    Estimand: which of several null hypotheses are false.
    Assumptions: each p-value is valid on its own; any dependence.
    Guarantee: finite-sample, familywise.
    Reference: Holm 1979.
    """
    order = sorted(range(len(p_values)), key=lambda i: p_values[i])
    adjusted = [0.0] * len(p_values)
    largest = 0.0
    for rank, i in enumerate(order):
        largest = max(largest, min(1.0, (len(p_values) - rank) * p_values[i]))
        adjusted[i] = largest
    return adjusted


def closed_e_values(e_values: Sequence[float]) -> list[float]:
    """Adjust e-values so that rejecting those ≥ 1/alpha errs on any true null with probability ≤ alpha.

    Estimand: which of several null hypotheses are false.
    Assumptions: each e-value has expectation ≤ 1 under its null; any dependence; e-processes at any stopping time.
    Guarantee: finite-sample, familywise, by closed testing with the average over each intersection.
    Reference: Vovk and Wang 2021 (arXiv 1912.06116), Algorithm 1.
    """
    rising = sorted(e_values)
    adjusted = []
    for e in e_values:
        # The hardest intersection holds e and the smallest others; those larger than e only help.
        total, lowest = e, e
        for size, other in enumerate((x for x in rising if x < e), start=2):
            total += other
            lowest = min(lowest, total / size)
        adjusted.append(lowest)
    return adjusted
