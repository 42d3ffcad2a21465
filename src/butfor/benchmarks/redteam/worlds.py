"""Worlds in which a graph can be wrong, each with the right graph and the wrong one.

Published (arXiv 2609.40027): which three corruptions, the bad control's 0.8 and 0.8, what `World.published` says. The
first world is the derived surrogate; the equations of the others are ours, since theirs are not published.
"""

from __future__ import annotations

import dataclasses
import functools
import math
from typing import TYPE_CHECKING

import numpy as np

from butfor.benchmarks.toolbench.surrogate import CHOICE, NOISE, PUSH
from butfor.graphs import Graph

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from numpy.typing import NDArray

    from butfor.graphs import Role

    Rows = Mapping[str, NDArray[np.float64]]

ROWS = 500
# How much the direct path works against the whole effect where a mediator is taken for a confounder.
AGAINST = 3.0
# An ordinary mediator: a part of the effect, as large as the smallest one, does not pass it.
BESIDE = 1.8
# Weak enough for both arms to overlap in the mediator: at 1.5 our defaults are saved by refusing for overlap.
MEDIATED = 0.8
# Spread of the bad control's own noise: at 3 it leaves about the share of executions that was published.
CONTROL_NOISE = 3.0


@dataclasses.dataclass(frozen=True, kw_only=True)
class World:
    """One attack.

    Attributes:
        name: The corruption.
        right: The graph of the world.
        wrong: The graph that the gate is given.
        rows: Draws a table, given τ, a generator, and whether the action is assigned by a coin.
        published: What was published of it.
    """

    name: str
    right: Graph
    wrong: Graph
    rows: Callable[[float, np.random.Generator, bool], Rows]
    published: str


def _graph(directed: list[tuple[str, str]], bidirected: list[tuple[str, str]], *others: str) -> Graph:
    nodes: dict[str, Role] = {"T": "treatment", "Y": "outcome", **dict.fromkeys(others, "state")}
    return Graph.of(nodes=nodes, directed=directed, bidirected=bidirected)


def _chosen(noise: np.random.Generator, index: NDArray[np.float64] | float, assigned: bool) -> NDArray[np.float64]:
    drawn: NDArray[np.float64] = (noise.standard_normal(ROWS) + (0.0 if assigned else index) > 0).astype(np.float64)
    return drawn


def hidden_cause(
    tau: float, noise: np.random.Generator, assigned: bool, *, choice: float = CHOICE, push: float = PUSH
) -> Rows:
    """Draw T and Y with a hidden cause that works against τ, as the derived surrogate has it."""
    hidden = noise.standard_normal(ROWS)
    t = _chosen(noise, choice * hidden, assigned)
    return {"T": t, "Y": tau * t - math.copysign(push, tau) * hidden + NOISE * noise.standard_normal(ROWS)}


def mediated(tau: float, noise: np.random.Generator, assigned: bool, *, against: float = AGAINST) -> Rows:
    """Draw T → M → Y whose direct part works against τ; nothing is confounded."""
    t = _chosen(noise, 0.0, assigned)
    m = MEDIATED * t + noise.standard_normal(ROWS)
    direct = -against * math.copysign(1.0, tau)
    return {"T": t, "M": m, "Y": direct * t + (tau - direct) / MEDIATED * m + NOISE * noise.standard_normal(ROWS)}


def bad_control(tau: float, noise: np.random.Generator, assigned: bool) -> Rows:
    """Draw T → Y and C = 0.8·T + 0.8·(Y − Ȳ) + ε, after both; nothing is confounded."""
    t = _chosen(noise, 0.0, assigned)
    y = tau * t + NOISE * noise.standard_normal(ROWS)
    return {"T": t, "Y": y, "C": 0.8 * t + 0.8 * (y - y.mean()) + CONTROL_NOISE * noise.standard_normal(ROWS)}


_MEDIATOR = (
    _graph([("T", "M"), ("M", "Y"), ("T", "Y")], [], "M"),
    _graph([("M", "T"), ("M", "Y"), ("T", "Y")], [], "M"),
)

WORLDS: tuple[World, ...] = (
    World(
        name="bidirected edge omitted",
        right=_graph([("T", "Y")], [("T", "Y")]),
        wrong=_graph([("T", "Y")], []),
        rows=hidden_cause,
        published="false 0 → 15.3% (13.3–17.3), 91% of executions harmful, utility +2.27 → +0.35",
    ),
    World(
        name="arrowhead reversed, direct part against",
        right=_MEDIATOR[0],
        wrong=_MEDIATOR[1],
        rows=mediated,
        published="false 48.9%, no correct executions",
    ),
    World(
        name="arrowhead reversed, direct part with it",
        right=_MEDIATOR[0],
        wrong=_MEDIATOR[1],
        rows=functools.partial(mediated, against=-BESIDE),
        published="",
    ),
    World(
        name="bad control added",
        right=_graph([("T", "Y"), ("T", "C"), ("Y", "C")], [], "C"),
        wrong=_graph([("C", "T"), ("C", "Y"), ("T", "Y")], [], "C"),
        rows=bad_control,
        published="false 0%, correct executions 52.9% → 7.9%",
    ),
)


def strengths(share: float) -> tuple[float, float]:
    """Return (choice, push) of a hidden cause that explains this share of T, and of Y once T is known.

    For T = 1[choice·U + N > 0] the share of T is (2/π)·choice²/(1 + choice²), so it is below 2/π; what is left of U
    once T is known has variance 1 − share.
    """
    rho = share * math.pi / 2.0
    return math.sqrt(rho / (1.0 - rho)), NOISE * math.sqrt(share) / (1.0 - share)
