"""The bets behind a bound that holds at every look: one capital a candidate mean, and the largest mean they refute."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

# A bet may lose at most this share of the capital at once; ½ is the choice of the paper.
LARGEST_LOSS = 0.5
# Halvings of the interval of candidates: the bound is that close to the exact one, and on its safe side.
HALVINGS = 40


def lower_betting_bound(
    scores: NDArray[np.float64],
    *,
    alpha: float,
    least: NDArray[np.float64] | float = 0.0,
    among: tuple[float, float] = (0.0, 1.0),
) -> float:
    """Return the largest mean that the bets refuted at some time.

    Estimand: θ, the conditional mean of each score given the earlier ones.
    Assumptions: each score is at least what `least` says, which was known before it; θ lies in `among`.
    Guarantee: finite-sample, P(at some n the bound exceeds θ) ≤ alpha.
    Reference: Waudby-Smith and Ramdas 2024 (arXiv 2010.09686), predictable plug-in bets.

    Args:
        scores: In order, shape (n,).
        alpha: Allowed miss probability of this one side.
        least: Smallest value that each score could have taken, shape (n,), or one for all.
        among: Lowest and highest θ that may be; the lowest is returned where nothing is refuted.
    """
    bets, enough = plug_in_bets(scores, alpha=alpha), math.log(1.0 / alpha)

    def refuted(theta: float) -> bool:
        return bool(betting_gains(scores, bets, theta, least=least).cumsum().max() >= enough)

    # Every gain falls in θ, so what is refuted is a lower part of the candidates, and halving finds its end.
    low, high = among
    if not scores.size or not refuted(low):
        return low
    for _ in range(HALVINGS):
        middle = 0.5 * (low + high)
        low, high = (middle, high) if refuted(middle) else (low, middle)
    return low


def betting_gains(
    scores: NDArray[np.float64],
    bets: NDArray[np.float64],
    theta: float,
    *,
    least: NDArray[np.float64] | float = 0.0,
) -> NDArray[np.float64]:
    """Return the logarithm of what each score multiplies the capital against means of at most theta by."""
    capped = np.minimum(bets, LARGEST_LOSS / np.maximum(theta - least, 1e-300))
    return np.log1p(capped * (scores - theta))


def plug_in_bets(scores: NDArray[np.float64], *, alpha: float) -> NDArray[np.float64]:
    """Size each bet from the scores before it: λ_t = √(2 ln(1/α) / (σ̂²_{t−1} · t · ln(1 + t))), shape (n,)."""
    t = np.arange(1, scores.size + 1)
    mean = (0.5 + np.cumsum(scores)) / (t + 1)
    variance = (0.25 + np.cumsum((scores - mean) ** 2)) / (t + 1)
    before = np.concatenate(([0.25], variance[:-1]))
    bets: NDArray[np.float64] = np.sqrt(2.0 * math.log(1.0 / alpha) / (before * t * np.log1p(t)))
    return bets
