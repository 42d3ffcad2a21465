"""Worlds in which the treatment is assigned at random."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.random import Generator
    from numpy.typing import NDArray

# E[Beta(3, 2)] − E[Beta(2, 2)].
GRADED_TRUTH = 3 / 5 - 1 / 2


def normal(rng: Generator, n: int) -> dict[str, NDArray[np.float64]]:
    """Half and half, normal outcome, the treated three times as variable."""
    t = _assigned(rng, n, 0.5)
    return {"t": t, "y": t + (1.0 + 2.0 * t) * rng.normal(size=n)}


def skewed(rng: Generator, n: int) -> dict[str, NDArray[np.float64]]:
    """One in five treated, exponential outcome."""
    t = _assigned(rng, n, 0.2)
    return {"t": t, "y": t + 2.0 * rng.exponential(size=n)}


def rare(rng: Generator, n: int) -> dict[str, NDArray[np.float64]]:
    """Two events in a hundred untreated, three treated."""
    t = _assigned(rng, n, 0.5)
    return {"t": t, "y": (rng.random(n) < 0.02 + 0.01 * t).astype(float)}


def graded(rng: Generator, n: int) -> dict[str, NDArray[np.float64]]:
    """A graded outcome in [0, 1]."""
    t = _assigned(rng, n, 0.5)
    return {"t": t, "y": np.where(t == 1, rng.beta(3, 2, size=n), rng.beta(2, 2, size=n))}


def explained(rng: Generator, n: int) -> dict[str, NDArray[np.float64]]:
    """An outcome that a covariate explains, not quite linearly."""
    t, a = _assigned(rng, n, 0.5), rng.normal(size=n)
    return {"t": t, "y": t + 2 * a + 0.5 * a**2 + rng.normal(size=n), "a": a}


def _assigned(rng: Generator, n: int, share: float) -> NDArray[np.float64]:
    return (rng.random(n) < share).astype(float)
