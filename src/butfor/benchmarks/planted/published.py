"""CAR's rules as published, as baselines (arXiv 2606.08275; our implementation)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from scipy.stats import binom

from butfor.attribution.sampling import Draw, DrawResult, ResampleFrom, check_results

if TYPE_CHECKING:
    from collections.abc import Sequence


@dataclass(frozen=True, kw_only=True)
class PublishedLocus:
    """The commit-point rule's answer.

    Attributes:
        locus: The last step whose effect interval excludes zero on the rescuing side; None where there is none.
        largest: The step with the largest effect.
        lower: Lower ends of the intervals on P(bad | resample at k), shape (steps,).
        upper: Upper ends.
    """

    locus: int | None
    largest: int
    lower: np.ndarray[tuple[int], np.dtype[np.float64]]
    upper: np.ndarray[tuple[int], np.dtype[np.float64]]


class PublishedContrastive:
    """K rollouts from every step; percentile-bootstrap interval of each effect; the last one that excludes zero.

    The bootstrap of K 0/1 outcomes has a binomial limit, so its percentiles are computed and not resampled.

    Args:
        steps: n.
        draws: K.
        bad: Whether the factual run was labelled bad.
    """

    def __init__(self, *, steps: int, draws: int, bad: bool = True) -> None:
        self._steps, self._draws, self._observed = steps, draws, float(bad)
        self._plan = tuple(Draw(arm=ResampleFrom(step=k), ordinal=i) for i in range(draws) for k in range(steps))
        self._results: list[DrawResult] = []

    def propose(self) -> tuple[Draw, ...]:
        """Name all rollouts; empty once results were entered."""
        return () if self._results else self._plan

    def enter(self, results: Sequence[DrawResult]) -> None:
        """Take the results; outcomes that are missing count as bad, as an exception would leave the label."""
        check_results(self._plan, results)
        self._results = list(results)

    def answer(self) -> PublishedLocus:
        """Apply the rule to complete rounds."""
        rounds = len(self._results) // self._steps
        outcomes = [1.0 if result.outcome is None else result.outcome for result in self._results]
        means = np.array(outcomes[: rounds * self._steps]).reshape(rounds, self._steps).mean(axis=0)
        lower, upper = binom.ppf(0.025, rounds, means) / rounds, binom.ppf(0.975, rounds, means) / rounds
        rescues = np.flatnonzero(upper - self._observed < 0.0)
        locus = int(rescues[-1]) if rescues.size else None
        return PublishedLocus(locus=locus, largest=int(np.argmin(means)), lower=lower, upper=upper)
