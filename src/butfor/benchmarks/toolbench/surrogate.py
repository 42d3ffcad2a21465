"""The single-family world derived from the paper's aggregates: what it was found to be, and what it must give.

Derived, not published: no table or graph of the paper was seen; these numbers reproduce its aggregates.
"""

from __future__ import annotations

import dataclasses
import math
from statistics import NormalDist
from typing import TYPE_CHECKING

import numpy as np

from butfor.benchmarks.toolbench.utility import utility
from butfor.noise import numpy_generator

if TYPE_CHECKING:
    from numpy.typing import NDArray

ROWS, CHOICE, PUSH, NOISE = 500, 1.5, 2.5, 6.0
EFFECTS = (1.8, 3.7)
HARMFUL, REVERSIBLE, ALPHA = 0.486, 0.706, 0.05
# What the derivation found (its rounding is the last digit), and the published value beside it.
AGGREGATES: dict[str, tuple[float, float | None]] = {
    "Oracle, utility": (2.75, 2.76),
    "AlwaysAbstain, utility": (0.92, 0.99),
    "CIVeX, utility": (2.16, 2.23),
    "CIVeX, accuracy": (0.844, 0.849),
    "CIVeX, false executions": (0.0, 0.0),
    "edge omitted, false executions": (0.162, 0.153),
    "edge omitted, utility": (0.24, 0.35),
}


@dataclasses.dataclass(frozen=True, kw_only=True)
class Worlds:
    """Actions of the surrogate.

    Attributes:
        effect: τ, shape (n,).
        reversible: Whether each can be undone, shape (n,).
        log_bound: Lower 95% bound of the difference in means in its log, shape (n,).
        trial_bound: The same in its trial, shape (n,).
    """

    effect: NDArray[np.float64]
    reversible: NDArray[np.bool_]
    log_bound: NDArray[np.float64]
    trial_bound: NDArray[np.float64]


def worlds(n: int, root: int) -> Worlds:
    """Draw actions, each with 500 logged and 500 randomised rows."""
    noise = numpy_generator("toolbench surrogate", root)
    sign = np.where(noise.random(n) < HARMFUL, -1.0, 1.0)
    effect = sign * noise.uniform(*EFFECTS, n)
    reversible = noise.random(n) < REVERSIBLE
    bounds = [[_bound(tau, noise, randomised=coin) for tau in effect] for coin in (False, True)]
    return Worlds(effect=effect, reversible=reversible, log_bound=np.array(bounds[0]), trial_bound=np.array(bounds[1]))


def table(
    tau: float, noise: np.random.Generator, *, randomised: bool, push: float = PUSH, n: int = ROWS
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Draw T and Y: T = 1[1.5·U + N > 0] or a coin; Y = τT − sign(τ)·push·U + N(0, 6²)."""
    hidden = noise.standard_normal(n)
    t = ((0.0 if randomised else CHOICE * hidden) + noise.standard_normal(n) > 0).astype(np.float64)
    y = tau * t - math.copysign(push, tau) * hidden + NOISE * noise.standard_normal(n)
    return t, y


def _bound(tau: float, noise: np.random.Generator, *, randomised: bool) -> float:
    t, y = table(tau, noise, randomised=randomised)
    one, other = y[t == 1], y[t == 0]
    se = math.sqrt(one.var(ddof=1) / one.size + other.var(ddof=1) / other.size)
    return float(one.mean() - other.mean()) - NormalDist().inv_cdf(1.0 - ALPHA) * se


def aggregates(drawn: Worlds) -> dict[str, tuple[float, float]]:
    """Return each aggregate with its Monte-Carlo standard error.

    CIVeX here is the published rule: the graph has T↔Y, so a reversible action is tried on the randomised rows and
    any other abstained from. With the edge omitted the log decides about every action.
    """
    nothing = np.zeros(drawn.effect.size, dtype=bool)
    tried = drawn.reversible
    passed = tried & (drawn.trial_bound >= 0)
    fooled = drawn.log_bound >= 0
    harmful = drawn.effect < 0
    parts = {
        "Oracle, utility": utility(drawn.effect, ~harmful, nothing),
        "AlwaysAbstain, utility": utility(drawn.effect, nothing, nothing),
        "CIVeX, utility": utility(drawn.effect, passed, tried),
        "CIVeX, accuracy": passed == ~harmful,
        "CIVeX, false executions": passed & harmful,
        "edge omitted, false executions": fooled & harmful,
        "edge omitted, utility": utility(drawn.effect, fooled, nothing),
    }
    return {name: (float(part.mean()), float(part.std()) / math.sqrt(part.size)) for name, part in parts.items()}
