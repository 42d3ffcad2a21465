"""Evidence against a linear statement about the means of several arms, one batch at a time.

The statement is Σ_a c_a·w_a ≤ t for arms a with unknown means w_a in [0, 1]. Each draw x of arm a multiplies a capital
by 1 + b_a·(x − u_a); the capital is a fair or losing game whenever the statement is true, so the probability that it
ever reaches 1/α is at most α. Bets are sized from earlier batches only.

Why it is fair: let v be guessed means with Σ c·v > t, u the point of the statement that is nearest to v (Kullback–
Leibler, arms weighted by their n_a draws in the batch) and b_a = (v_a − u_a) / (u_a (1 − u_a)). At the nearest point
n_a·b_a = θ·c_a for one θ ≥ 0. The expected factor of a batch is f(w) = Π_a (1 + b_a (w_a − u_a))^{n_a}; log f is
concave with log f(u) = 0 and slope n_a·b_a there, so log f(w) ≤ θ·Σ c_a (w_a − u_a) ≤ 0 for every w in the statement.
Draws need not be 0 or 1, since f is multilinear in them. (For 0/1 draws: Turner, Ly and Grünwald, arXiv 2106.02693.)
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

# Guessed means stay this far inside (0, 1), so that no bet can lose everything at once.
INSIDE = 1e-6
# Newton steps with a bracket. Stopping early costs evidence, never validity.
STEPS = 20
CLOSE = 1e-4


def bets_against(
    guesses: NDArray[np.float64],
    coefficients: NDArray[np.float64],
    draws: NDArray[np.float64],
    limit: NDArray[np.float64],
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Size the bets of one batch against many statements Σ_a c_a·w_a ≤ t.

    Args:
        guesses: v, means guessed from earlier batches, shape (statements, arms).
        coefficients: c, same shape; 0 where a statement does not involve the arm.
        draws: n_a ≥ 1, draws of each arm in the coming batch, same shape.
        limit: t, shape (statements,).

    Returns:
        (b, u), each of shape (statements, arms): a draw x of arm a multiplies the capital by 1 + b_a·(x − u_a). Where
        the guess does not contradict the statement all b are 0.
    """
    v = np.clip(guesses, INSIDE, 1.0 - INSIDE)
    if v.shape[1] == 1:
        return _bets_on_one_arm(v, coefficients, limit)
    theta, ratio = np.zeros(limit.shape), coefficients / draws
    contradicted = np.flatnonzero((coefficients * v).sum(axis=1) > limit)
    theta[contradicted] = _short_of_the_root(
        v[contradicted], coefficients[contradicted], draws[contradicted], limit[contradicted]
    )
    return theta[:, None] * ratio, _nearest(v, theta[:, None] * ratio)


def _short_of_the_root(
    v: NDArray[np.float64], coefficients: NDArray[np.float64], draws: NDArray[np.float64], limit: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Find θ with Σ c·u(θ) just above t, shape (statements,).

    The argument above needs Σ c·u ≥ t; the root itself would be rounded to either side.
    """
    found, rows = np.zeros(limit.shape), np.arange(limit.size)
    theta, low, high = np.zeros(limit.shape), np.zeros(limit.shape), np.full(limit.shape, np.inf)
    ratio = coefficients / draws
    for _ in range(STEPS):
        u = _nearest(v, theta[:, None] * ratio)
        excess = (coefficients * u).sum(axis=1) - limit
        low, high = np.where(excess >= 0, theta, low), np.where(excess < 0, theta, high)
        going = np.flatnonzero((excess < 0) | (excess >= CLOSE))
        found[rows] = low
        if not going.size:
            break
        if going.size < rows.size:
            # Statements settle at different steps: most of the time is saved by leaving them alone.
            rows, limit, theta, low, high = rows[going], limit[going], theta[going], low[going], high[going]
            v, coefficients, draws, ratio, u = v[going], coefficients[going], draws[going], ratio[going], u[going]
            excess = excess[going]
        slope = -(coefficients**2 * u * (1 - u) / (draws + theta[:, None] * coefficients * (1 - 2 * u))).sum(axis=1)
        # Aimed a little short of the root.
        newton = theta - (excess - CLOSE / 2) / np.minimum(slope, -1e-12)
        middle = np.where(np.isinf(high), 2.0 * low + 1.0, 0.5 * (low + high))
        theta = np.where((newton > low) & (newton < high), newton, middle)
    return found


def _bets_on_one_arm(
    v: NDArray[np.float64], coefficients: NDArray[np.float64], limit: NDArray[np.float64]
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Bet against c·w ≤ t: the nearest point is t/c itself."""
    threshold = limit[:, None] / np.where(coefficients == 0, 1.0, coefficients)
    centre = np.clip(threshold, INSIDE, 1.0 - INSIDE)
    # A statement that no mean contradicts (t/c outside (0, 1)) is not bet against.
    possible = (threshold == centre) & (coefficients * v > limit[:, None]) & (coefficients != 0)
    return np.where(possible, (v - centre) / (centre * (1.0 - centre)), 0.0), centre


def _nearest(v: NDArray[np.float64], kappa: NDArray[np.float64]) -> NDArray[np.float64]:
    """Solve v − u = κ·u·(1 − u) for u in (0, 1)."""
    nearest: NDArray[np.float64] = 2.0 * v / ((kappa + 1.0) + np.sqrt((kappa + 1.0) ** 2 - 4.0 * kappa * v))
    return nearest


def log_gain(
    bets: NDArray[np.float64],
    centres: NDArray[np.float64],
    low: NDArray[np.float64],
    high: NDArray[np.float64],
) -> NDArray[np.float64]:
    """Return the log factor by which a batch multiplies each capital, shape (statements,).

    Args:
        bets: b, shape (statements, arms).
        centres: u, same shape.
        low: The batch's draws with missing ones as 0, shape (statements, arms, draws).
        high: The same with missing ones as 1. Each bet gets the one that is worse for it.
    """
    worst = np.where(bets[:, :, None] > 0, low, high)
    gain: NDArray[np.float64] = np.log1p(bets[:, :, None] * (worst - centres[:, :, None])).sum(axis=(1, 2))
    return gain


def log_gain_of_counts(
    bets: NDArray[np.float64],
    centres: NDArray[np.float64],
    ones: NDArray[np.float64],
    draws: NDArray[np.float64],
) -> NDArray[np.float64]:
    """Return the same for draws that are 0 or 1, from their counts, shape (statements,).

    Args:
        bets: b, shape (statements, arms).
        centres: u, same shape.
        ones: Draws that are 1, missing ones on the side that is worse for the bet, same shape.
        draws: All draws, same shape.
    """
    won, lost = np.log1p(bets * (1.0 - centres)), np.log1p(-bets * centres)
    gain: NDArray[np.float64] = (ones * won + (draws - ones) * lost).sum(axis=1)
    return gain
