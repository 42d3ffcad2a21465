"""Shares with their intervals, as cells of a table."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from butfor.confidence import Estimate, clopper_pearson

if TYPE_CHECKING:
    from collections.abc import Sequence

NOT_RUN = "not run"


@dataclass(frozen=True, kw_only=True)
class Share:
    """A share of cases with its exact 95% interval.

    Attributes:
        hits: Cases that have it.
        n: Cases.
    """

    hits: int
    n: int

    @property
    def value(self) -> float:
        """The share; 0 of 0 cases is 0."""
        return self.hits / self.n if self.n else 0.0

    @property
    def bounds(self) -> tuple[float, float]:
        """Clopper–Pearson at 95%."""
        interval = clopper_pearson(self.hits, self.n)
        return (interval.lower, interval.upper) if isinstance(interval, Estimate) else (0.0, 1.0)

    def __str__(self) -> str:
        if not self.n:
            return NOT_RUN
        low, high = self.bounds
        return f"{100 * self.value:.1f}% [{100 * low:.1f}, {100 * high:.1f}]"


def share(flags: Sequence[bool]) -> Share:
    """Count the cases that have it."""
    return Share(hits=sum(flags), n=len(flags))


def mean(values: Sequence[float]) -> str:
    """Write a mean, or that there is none."""
    return f"{sum(values) / len(values):.3f}" if values else "undefined (no cases)"
