"""The published utility of a verdict (CIVeX, and the follow-up's digest of it)."""

from __future__ import annotations

import numpy as np

MISSED = 0.3
EXPERIMENT = 0.05


def utility(
    effect: np.ndarray[tuple[int], np.dtype[np.float64]],
    executed: np.ndarray[tuple[int], np.dtype[np.bool_]],
    experimented: np.ndarray[tuple[int], np.dtype[np.bool_]],
) -> np.ndarray[tuple[int], np.dtype[np.float64]]:
    """Score actions: executed +τ; not executed −0.3·τ of a missed benefit or +|τ| of an avoided harm; −0.05 a trial.

    Args:
        effect: τ of each action, shape (n,).
        executed: Whether it was carried out in the end, shape (n,).
        experimented: Whether a trial was run for it, shape (n,).
    """
    kept = np.where(effect > 0, -MISSED * effect, -effect)
    scored: np.ndarray[tuple[int], np.dtype[np.float64]] = np.where(executed, effect, kept) - EXPERIMENT * experimented
    return scored
