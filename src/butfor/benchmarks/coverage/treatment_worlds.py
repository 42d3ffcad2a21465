"""Worlds whose treatment is no yes or no, or is given to several units at once."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.random import Generator
    from numpy.typing import NDArray

_IN_A_CLUSTER = 5


def three_arms(rng: Generator, n: int) -> dict[str, NDArray[np.float64]]:
    """Three arms whose odds are curved in two covariates; the second is worth 1, the third 0.5."""
    x = rng.uniform(-2, 2, size=(n, 3))
    odds = np.exp(np.column_stack([np.zeros(n), 0.6 * np.sin(2 * x[:, 0]), 0.6 * (np.abs(x[:, 1]) - 1)]))
    share = np.cumsum(odds / odds.sum(axis=1, keepdims=True), axis=1)
    t = (rng.random(n)[:, None] > share[:, :2]).sum(axis=1).astype(np.float64)
    effect = np.array([0.0, 1.0, 0.5])[t.astype(int)]
    return _rows(x, t, effect + 2 * np.sin(2 * x[:, 0]) + 2 * np.abs(x[:, 1]) + rng.normal(size=n))


def continuous_linear(rng: Generator, n: int) -> dict[str, NDArray[np.float64]]:
    """A treatment and an outcome that rise with the covariates."""
    x = rng.normal(size=(n, 3))
    t = 0.5 + 0.6 * x[:, 0] - 0.4 * x[:, 1] + rng.normal(size=n)
    return _rows(x, t, t + x @ np.array([1.0, 1.0, 0.5]) + rng.normal(size=n))


def continuous_curved(rng: Generator, n: int) -> dict[str, NDArray[np.float64]]:
    """A treatment and an outcome that are curved alike, noise that is wider where there is more treatment."""
    x = rng.uniform(-2, 2, size=(n, 3))
    t = 0.5 + 0.8 * np.sin(2 * x[:, 0]) + 0.6 * (np.abs(x[:, 1]) - 1) + 0.7 * rng.normal(size=n)
    spread = 0.5 + 0.5 * np.abs(t - 0.5)
    return _rows(x, t, t + 2 * np.sin(2 * x[:, 0]) + 2 * np.abs(x[:, 1]) + spread * rng.normal(size=n))


def clusters(rng: Generator, n: int) -> dict[str, NDArray[np.float64]]:
    """Runs of five units that share their treatment and a part of their outcome."""
    run = np.arange(n) // _IN_A_CLUSTER
    count = int(run.max()) + 1
    a, shared = rng.normal(size=count), rng.normal(size=count)
    t = (rng.random(count) < 1.0 / (1.0 + np.exp(-0.5 * a))).astype(np.float64)
    y = t[run] + a[run] + shared[run] + rng.normal(size=n)
    return {"t": t[run], "y": y, "a": a[run], "run": run.astype(np.float64)}


def _rows(x: NDArray[np.float64], t: NDArray[np.float64], y: NDArray[np.float64]) -> dict[str, NDArray[np.float64]]:
    return {"t": t, "y": y, "a": x[:, 0], "b": x[:, 1], "c": x[:, 2]}
