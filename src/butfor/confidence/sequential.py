"""Sequential tests of a mean against a threshold with a margin."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Literal, TypeAlias

from butfor.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Iterable

Decision: TypeAlias = Literal["above", "below"]


class MarginTest:
    """Decide whether a mean is above a threshold or below threshold + margin, looking after every draw.

    Estimand: μ, the common conditional mean of draws in [0, 1].
    Assumptions: each draw has mean μ given the earlier ones; a missing draw (None) may have been anything in [0, 1].
    Guarantee: finite-sample at every stopping time. P(ever "above" | μ ≤ threshold) ≤ alpha and
    P(ever "below" | μ ≥ threshold + margin) ≤ alpha. For μ in between either answer is right.
    Reference: Ville 1939; bets by plug-in, Waudby-Smith and Ramdas 2024 (arXiv 2010.09686).

    Args:
        threshold: In (0, 1).
        margin: ≥ 0; with 0 the test never ends at μ = threshold.
        alpha: Allowed error of each kind.

    Raises:
        InputError: threshold or threshold + margin is not inside (0, 1).
    """

    def __init__(self, *, threshold: float, margin: float, alpha: float = 0.05) -> None:
        if not 0.0 < threshold <= threshold + margin < 1.0:
            raise InputError(
                f"threshold {threshold!r} with margin {margin!r} leaves (0, 1)", fix="choose both inside (0, 1)"
            )
        self._low, self._high, self._limit = threshold, threshold + margin, math.log(1.0 / alpha)
        self._above = self._below = 0.0
        self._total, self._n = 0.0, 0
        self.decision: Decision | None = None

    def enter(self, values: Iterable[float | None]) -> Decision | None:
        """Take draws in allocation order; the first decision stands."""
        for value in values:
            self._enter_one(value)
        return self.decision

    def _enter_one(self, value: float | None) -> None:
        guess = (self._total + 0.5) / (self._n + 1.0)
        self._above += _gain(guess, self._low, 0.0 if value is None else value) if guess > self._low else 0.0
        self._below += _gain(guess, self._high, 1.0 if value is None else value) if guess < self._high else 0.0
        if value is not None:
            self._total, self._n = self._total + value, self._n + 1
        if self.decision is None and max(self._above, self._below) >= self._limit:
            self.decision = "above" if self._above >= self._below else "below"


def _gain(guess: float, centre: float, value: float) -> float:
    """Log factor of a bet that the mean is `guess`; the factor has expectation 1 where the mean is `centre`."""
    return math.log1p((guess - centre) / (centre * (1.0 - centre)) * (value - centre))
