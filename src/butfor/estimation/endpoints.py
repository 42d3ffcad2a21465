"""One-sided bounds for the mean of a bounded score, from its sums alone.

Sums, not rows: they are what an aggregate query gives, they do not depend on the order of rows, and a certificate can
carry them.
"""

from __future__ import annotations

import dataclasses
import math
from typing import TYPE_CHECKING

import numpy as np
from scipy.special import stdtrit

from butfor.confidence import clopper_pearson_bounds
from butfor.errors import InputError

if TYPE_CHECKING:
    from numpy.typing import NDArray


@dataclasses.dataclass(frozen=True, kw_only=True)
class Range:
    """What values an outcome or score can take, as its owner declares; never read off the data.

    Attributes:
        low: The least value.
        high: The greatest value.
        two_valued: Whether only `low` and `high` themselves can occur; bounds are then exact binomial ones.

    Raises:
        InputError: The ends are not finite, or not in order.
    """

    low: float
    high: float
    two_valued: bool = False

    def __post_init__(self) -> None:
        if not (math.isfinite(self.low) and math.isfinite(self.high) and self.low < self.high):
            raise InputError(
                f"[{self.low:g}, {self.high:g}] is not an outcome range", fix="declare two finite ends, low < high"
            )

    @property
    def width(self) -> float:
        """Distance between the ends, in units of the outcome."""
        return self.high - self.low

    def holds(self, values: NDArray[np.float64]) -> bool:
        """Say whether every value is allowed."""
        if self.two_valued:
            return bool(np.all((values == self.low) | (values == self.high)))
        return bool(np.all((values >= self.low) & (values <= self.high)))


@dataclasses.dataclass(frozen=True, kw_only=True)
class Moments:
    """The sums of a score.

    Attributes:
        n: Rows.
        total: Σ x.
        squares: Σ x².
    """

    n: int
    total: float
    squares: float

    @property
    def mean(self) -> float:
        """The average."""
        return self.total / self.n

    @property
    def variance(self) -> float:
        """The sample variance (divided by n − 1)."""
        return max(0.0, (self.squares - self.n * self.mean**2) / (self.n - 1)) if self.n > 1 else math.inf

    def scaled(self, shift: float, factor: float) -> Moments:
        """Return the sums of factor · (x + shift)."""
        squares = self.squares + 2.0 * shift * self.total + self.n * shift**2
        return Moments(n=self.n, total=factor * (self.total + self.n * shift), squares=factor**2 * squares)


def moments_of(values: NDArray[np.float64]) -> Moments:
    """Sum a score, shape (n,)."""
    return Moments(n=values.size, total=float(values.sum()), squares=float(np.dot(values, values)))


def mean_lower(score: Moments, limits: Range, *, alpha: float) -> float:
    """Bound the mean of a bounded score from below.

    Estimand: E[x].
    Assumptions: independent rows with one mean, each within `limits`.
    Guarantee: finite-sample, P(bound ≤ E[x]) ≥ 1 − alpha: exact binomial where two values are declared, else an
    empirical Bernstein bound.
    Reference: Clopper and Pearson 1934; Maurer and Pontil 2009 (arXiv 0907.3740), Theorem 4.
    """
    if score.n == 0:
        return limits.low
    unit = score.scaled(-limits.low, 1.0 / limits.width)
    if limits.two_valued:
        lower, _ = clopper_pearson_bounds(round(unit.total), unit.n, alpha=2.0 * alpha)
        return limits.low + limits.width * float(lower)
    if score.n == 1:
        return limits.low
    log = math.log(2.0 / alpha)
    bound = unit.mean - math.sqrt(2.0 * unit.variance * log / unit.n) - 7.0 * log / (3.0 * (unit.n - 1))
    return limits.low + limits.width * min(1.0, max(0.0, bound))


def mean_upper(score: Moments, limits: Range, *, alpha: float) -> float:
    """Bound the mean of a bounded score from above; see `mean_lower`."""
    mirrored = Range(low=-limits.high, high=-limits.low, two_valued=limits.two_valued)
    return -mean_lower(score.scaled(0.0, -1.0), mirrored, alpha=alpha)


# With fewer clusters that differ from the others the spread between clusters says nothing of the tail.
FEWEST_DIFFERING = 10


def clustered_lower(values: NDArray[np.float64], clusters: NDArray[np.int64], limits: Range, *, alpha: float) -> float:
    """Bound the mean of a bounded score whose rows come in clusters.

    Estimand: E[Σ x of a cluster] / E[rows of a cluster].
    Assumptions: independent clusters, any dependence within.
    Guarantee: asymptotic in the number of clusters (Student's t with clusters − 1 degrees of freedom). Where nearly all
    clusters agree it is at most the exact binomial bound that counts each cluster as one draw: twelve clusters without
    a failure are no proof that there is none.
    Reference: Liang and Zeger 1986; Clopper and Pearson 1934.

    Args:
        values: Shape (n,).
        clusters: Cluster of each row, numbered from 0, shape (n,).
        limits: The score's range.
        alpha: Allowed miss probability.
    """
    mean, sizes = float(values.mean()), np.bincount(clusters)
    count = sizes.size
    if count < 2:
        return limits.low
    sums = np.bincount(clusters, weights=values - mean)
    error = math.sqrt(count / (count - 1) * float(np.dot(sums, sums))) / values.size
    bound = mean - float(stdtrit(count - 1, 1.0 - alpha)) * error
    means = np.round(np.bincount(clusters, weights=values) / sizes, 12)
    if count - np.unique(means, return_counts=True)[1].max() < FEWEST_DIFFERING:
        share = (mean - limits.low) / limits.width
        exact, _ = clopper_pearson_bounds(math.floor(count * share + 1e-9), count, alpha=2.0 * alpha)
        bound = min(bound, limits.low + limits.width * float(exact))
    return max(limits.low, bound)
