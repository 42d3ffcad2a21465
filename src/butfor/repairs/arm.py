"""The draws of one arm, and the bound on its P(success) that holds whenever one looks."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import lru_cache

from butfor.confidence import Estimate, Interval, betting_interval, bounded_sequence

# Of the level of an arm, the share kept for an outcome that first shows only 0 and 1 and then turns out to be graded.
LATE_GRADED = 0.1


@dataclass(kw_only=True)
class Arm:
    """The draws of one arm, as successes 1 − y, in allocation order; None where an outcome is missing."""

    successes: list[float | None] = field(default_factory=list)
    _ones: int = 0
    _missing: int = 0
    _is_graded: bool = False

    def enter(self, success: float | None) -> None:
        """Add a draw."""
        self.successes.append(success)
        self._missing += success is None
        self._ones += success == 1.0
        self._is_graded |= success not in (None, 0.0, 1.0)

    def bound(self, *, alpha: float, graded: bool) -> Interval:
        """Bound P(success), or the mean success of a graded outcome, whenever and however often one looks.

        Estimand: μ = E[1 − y] of the arm.
        Assumptions: each draw has mean μ given the earlier ones; missing draws may have been anything.
        Guarantee: finite-sample at every number of draws at once, P(ever missed) ≤ alpha. For an outcome not known to
        be graded, the binary bound spends 1 − LATE_GRADED of the level and the graded one the rest.
        Reference: Robbins 1970; Waudby-Smith and Ramdas 2024 (arXiv 2010.09686).
        """
        if graded:
            return betting_interval(self.successes, alpha=alpha)
        if not self._is_graded:
            return _binary(self._ones, len(self.successes), self._missing, alpha)
        interval = betting_interval(self.successes, alpha=LATE_GRADED * alpha)
        return replace(interval, alpha=alpha) if isinstance(interval, Estimate) else interval


@lru_cache(maxsize=65536)
def _binary(ones: int, n: int, missing: int, alpha: float) -> Interval:
    draws = [1.0] * ones + [0.0] * (n - ones - missing) + [None] * missing
    interval = bounded_sequence(draws, alpha=(1.0 - LATE_GRADED) * alpha)
    return replace(interval, alpha=alpha) if isinstance(interval, Estimate) else interval
