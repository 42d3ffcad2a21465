"""Planted worlds with a known effect of t on y: what is drawn, what is true, and what proof belongs to it."""

from __future__ import annotations

import dataclasses
import functools
from typing import TYPE_CHECKING, TypeAlias

import numpy as np

from butfor.benchmarks.coverage import treatment_worlds, trial_worlds
from butfor.estimation import Contrast, Level, Randomised
from butfor.graphs import Graph
from butfor.identification import Hedge, Proof, Query, find_instruments, identify

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from numpy.random import Generator
    from numpy.typing import NDArray

    from butfor.estimation import Method, Target

Table: TypeAlias = "Mapping[str, NDArray[np.float64]]"
Draw: TypeAlias = "Callable[[Generator, int], Table]"

QUERY = Query.effect("t", "y")
SIZES = (100, 500, 2000)
# The largest share of refusals that may be: with good overlap, by n. Nothing is promised at n = 100.
ANSWERS = {500: 0.1, 2000: 0.1}
ANSWERS_CURVED = {500: 0.5, 2000: 0.1}
ANSWERS_LARGE = {2000: 0.1}


@dataclasses.dataclass(frozen=True, kw_only=True)
class World:
    """One planted world.

    Attributes:
        name: For the table.
        draw: Draws n units: t, y and what the graph names.
        truth: The answer to the question.
        target: The question.
        graph: The world's graph; None where the treatment is assigned.
        methods: How ours adjusts; None is the default.
        refusals: Largest share of refusals, by n.
        resampled: Whether ours is a bootstrap, boosted or picks functions, so that fewer repetitions are run.
        outcome_range: The declared range, where there is one.
        clusters: The column that tells which units belong together.
        trial: What stands for a proof where there is no graph.
    """

    name: str
    draw: Draw
    truth: float
    target: Target = dataclasses.field(default_factory=Contrast)
    graph: Graph | None = None
    methods: tuple[Method | None, ...] = (None,)
    refusals: Mapping[int, float] = dataclasses.field(default_factory=dict)
    resampled: bool = False
    outcome_range: tuple[float, float] | None = None
    clusters: str | None = None
    trial: Randomised = dataclasses.field(default_factory=Randomised)

    @functools.cached_property
    def proof(self) -> Proof | Randomised:
        """Why the effect is identified."""
        if self.graph is None:
            return self.trial
        if "i" in self.graph.names:
            return find_instruments(self.graph, QUERY, assumption="linear_effect")[0]
        proof = identify(self.graph, QUERY)
        assert not isinstance(proof, Hedge)
        return proof


_TEN = tuple("abcdefghjk")
_TWENTY = tuple("abcdefghjklmnopqrsuv")


def _expit(logit: NDArray[np.floating]) -> NDArray[np.float64]:
    return np.asarray(1.0 / (1.0 + np.exp(-logit)), dtype=np.float64)


def _coin(rng: Generator, chance: NDArray[np.float64] | float, n: int) -> NDArray[np.float64]:
    return (rng.random(n) < chance).astype(float)


def _confounded(*names: str) -> Graph:
    arrows = [(name, end) for name in names for end in ("t", "y")]
    return Graph.of(directed=[*arrows, ("t", "y")])


def _rows(x: NDArray[np.float64], t: NDArray[np.float64], y: NDArray[np.float64]) -> Table:
    return {"t": t, "y": y, "a": x[:, 0], "b": x[:, 1], "c": x[:, 2]}


def _linear(rng: Generator, n: int, noise: str = "normal") -> Table:
    x = rng.normal(size=(n, 3))
    t = _coin(rng, _expit(0.5 * x[:, 0] - 0.4 * x[:, 1]), n)
    errors = {
        "normal": lambda: rng.normal(size=n),
        "t3": lambda: rng.standard_t(3, size=n),
        "skewed": lambda: rng.exponential(size=n) * 2.0,
    }[noise]()
    return _rows(x, t, t + x @ np.array([1.0, 1.0, 0.5]) + errors)


def _curved(rng: Generator, n: int) -> Table:
    x = rng.uniform(-2, 2, size=(n, 3))
    t = _coin(rng, _expit(0.8 * np.sin(2 * x[:, 0]) + 0.8 * (np.abs(x[:, 1]) - 1)), n)
    return _rows(x, t, t + 2 * np.sin(2 * x[:, 0]) + 2 * np.abs(x[:, 1]) + 0.5 * x[:, 2] + rng.normal(size=n))


def _crossed(rng: Generator, n: int) -> Table:
    x = rng.uniform(-2, 2, size=(n, 3))
    t = _coin(rng, _expit(0.5 * x[:, 0] * x[:, 1] + 0.6 * (np.abs(x[:, 1]) - 1)), n)
    return _rows(x, t, t + x[:, 0] * x[:, 1] + 2 * np.abs(x[:, 1]) + 0.5 * x[:, 2] + rng.normal(size=n))


def _little_overlap(rng: Generator, n: int) -> Table:
    x = rng.uniform(-2, 2, size=(n, 3))
    t = _coin(rng, _expit(3 * np.sin(2 * x[:, 0]) + 2 * (np.abs(x[:, 1]) - 1)), n)
    return _rows(x, t, t + 2 * np.sin(2 * x[:, 0]) + 2 * np.abs(x[:, 1]) + 0.5 * x[:, 2] + rng.normal(size=n))


def _one_sided_overlap(rng: Generator, n: int) -> Table:
    x = rng.normal(size=(n, 3))
    t = _coin(rng, _expit(2.5 * x[:, 0] - 1.0), n)
    return _rows(x, t, t + x[:, 0] ** 2 + x[:, 1] + rng.normal(size=n))


def _imbalanced(rng: Generator, n: int) -> Table:
    x = rng.normal(size=(n, 3))
    t = _coin(rng, _expit(-1.8 + 0.4 * x[:, 0]), n)
    return _rows(x, t, t + x[:, 0] + np.abs(x[:, 1]) + rng.normal(size=n))


def _rare_rows(rng: Generator, n: int) -> Table:
    x = rng.normal(size=(n, 3))
    t = _coin(rng, _expit(0.4 * x[:, 0]), n)
    return _rows(x, t, _coin(rng, np.clip(0.06 + 0.02 * x[:, 0] + 0.02 * t, 0.01, 0.3), n))


def _many(rng: Generator, n: int) -> Table:
    """Curves in two of ten covariates, every third of which is a yes or no."""
    x = rng.uniform(-2, 2, size=(n, len(_TEN)))
    x[:, 2::3] = x[:, 2::3] > 0
    t = _coin(rng, _expit(0.8 * np.sin(2 * x[:, 0]) + 0.8 * (np.abs(x[:, 1]) - 1)), n)
    y = t + 2 * np.sin(2 * x[:, 0]) + 2 * np.abs(x[:, 1]) + x[:, 2] + 0.5 * x[:, 3] + rng.normal(size=n)
    return {"t": t, "y": y, **dict(zip(_TEN, x.T, strict=True))}


def _many_crossed(rng: Generator, n: int) -> Table:
    """A product of two of twenty covariates confounds, neither of which matters much by itself."""
    x = rng.uniform(-2, 2, size=(n, len(_TWENTY)))
    t = _coin(rng, _expit(0.5 * x[:, 0] * x[:, 1] + 0.6 * (np.abs(x[:, 1]) - 1)), n)
    y = t + x[:, 0] * x[:, 1] + 2 * np.abs(x[:, 1]) + 0.5 * x[:, 2] + rng.normal(size=n)
    return {"t": t, "y": y, **dict(zip(_TWENTY, x.T, strict=True))}


def _many_weak(rng: Generator, n: int) -> Table:
    """Each of twenty covariates confounds a little."""
    x = rng.normal(size=(n, len(_TWENTY)))
    common = x.sum(axis=1) / np.sqrt(len(_TWENTY))
    t = _coin(rng, _expit(0.7 * common), n)
    return {"t": t, "y": t + 2 * common + rng.normal(size=n), **dict(zip(_TWENTY, x.T, strict=True))}


def _cells(rng: Generator, n: int) -> Table:
    a, b, c = (rng.integers(0, k, n).astype(np.float64) for k in (3, 2, 2))
    t = _coin(rng, 0.3 + 0.15 * a + 0.1 * c, n)
    return {"t": t, "y": t + a * b - 0.5 * c + rng.normal(size=n), "a": a, "b": b, "c": c}


def _skewed_cells(rng: Generator, n: int) -> Table:
    a, b = (rng.integers(0, 2, n).astype(np.float64) for _ in range(2))
    t = _coin(rng, 0.2 + 0.2 * a, n)
    return {"t": t, "y": t + a + rng.exponential(size=n) * (1.0 + b), "a": a, "b": b}


def _rare_cells(rng: Generator, n: int) -> Table:
    a, b = (rng.integers(0, 2, n).astype(np.float64) for _ in range(2))
    t = _coin(rng, 0.35 + 0.2 * a, n)
    return {"t": t, "y": _coin(rng, 0.01 + 0.01 * t + 0.02 * a, n), "a": a, "b": b}


def _instrument(rng: Generator, n: int, strength: float) -> Table:
    u, i = rng.normal(size=n), rng.integers(0, 2, n).astype(float)
    t = strength * i + u + 0.5 * rng.normal(size=n)
    return {"t": t, "y": t + 1.5 * u + rng.normal(size=n), "i": i}


def _front_door(rng: Generator, n: int) -> Table:
    u = rng.normal(size=n)
    t = _coin(rng, _expit(u), n)
    m = _coin(rng, 0.25 + 0.5 * t, n)
    return {"t": t, "y": m + u + 0.5 * rng.normal(size=n), "m": m}


def _front_door_linear(rng: Generator, n: int) -> Table:
    u = rng.normal(size=n)
    t = _coin(rng, _expit(u), n)
    m = t + rng.normal(size=n)
    return {"t": t, "y": 0.5 * m + u + 0.5 * rng.normal(size=n), "m": m}


def _napkin(rng: Generator, n: int) -> Table:
    one, two = rng.random(n) < 0.5, rng.random(n) < 0.5
    w = _coin(rng, 0.3 + 0.2 * one + 0.2 * two, n)
    z = _coin(rng, 0.35 + 0.3 * w, n)
    t = _coin(rng, 0.2 + 0.3 * z + 0.3 * one, n)
    return {"t": t, "y": _coin(rng, 0.2 + 0.3 * t + 0.3 * two, n), "w": w, "z": z}


_NAPKIN = Graph.of(
    directed=[("w", "z"), ("z", "t"), ("t", "y")],
    bidirected=[("w", "t"), ("w", "y")],
)
_INSTRUMENT = Graph.of(directed=[("i", "t"), ("t", "y")], bidirected=[("t", "y")])
_FRONT_DOOR = Graph.of(directed=[("t", "m"), ("m", "y")], bidirected=[("t", "y")])
_ABC = _confounded("a", "b", "c")
_AB = _confounded("a", "b")

WORLDS: tuple[World, ...] = (
    World(name="trial, normal", draw=trial_worlds.normal, truth=1.0, refusals=ANSWERS),
    World(name="trial, skewed, 20/80", draw=trial_worlds.skewed, truth=1.0, refusals=ANSWERS_LARGE),
    World(name="trial, rare 2%", draw=trial_worlds.rare, truth=0.01, refusals=ANSWERS),
    World(
        name="trial, graded in [0, 1]",
        draw=trial_worlds.graded,
        truth=trial_worlds.GRADED_TRUTH,
        refusals=ANSWERS,
        outcome_range=(0.0, 1.0),
    ),
    World(
        name="trial, adjusted",
        draw=trial_worlds.explained,
        truth=1.0,
        refusals=ANSWERS,
        trial=Randomised(adjust_for=("a",)),
    ),
    World(name="discrete cells", draw=_cells, truth=1.0, graph=_ABC, refusals=ANSWERS),
    World(name="discrete cells, skewed", draw=_skewed_cells, truth=1.0, graph=_AB, refusals=ANSWERS),
    World(name="discrete cells, rare 3%", draw=_rare_cells, truth=0.01, graph=_AB, refusals=ANSWERS),
    World(name="linear", draw=_linear, truth=1.0, graph=_ABC, methods=(None, "linear", "ols"), refusals=ANSWERS),
    World(name="curved", draw=_curved, truth=1.0, graph=_ABC, refusals=ANSWERS_CURVED),
    World(name="crossed", draw=_crossed, truth=1.0, graph=_ABC, refusals=ANSWERS_CURVED),
    World(
        name="curved, boosted",
        draw=_curved,
        truth=1.0,
        graph=_ABC,
        methods=("boosted",),
        refusals=ANSWERS_CURVED,
        resampled=True,
    ),
    World(
        name="many covariates, curved",
        draw=_many,
        truth=1.0,
        graph=_confounded(*_TEN),
        refusals=ANSWERS_CURVED,
        resampled=True,
    ),
    World(
        name="many covariates, crossed",
        draw=_many_crossed,
        truth=1.0,
        graph=_confounded(*_TWENTY),
        refusals=ANSWERS_LARGE,
        resampled=True,
    ),
    World(
        name="many covariates, weak",
        draw=_many_weak,
        truth=1.0,
        graph=_confounded(*_TWENTY),
        refusals=ANSWERS_LARGE,
        resampled=True,
    ),
    World(
        name="level, linear",
        draw=_linear,
        truth=1.0,
        target=Level(at=1.0),
        graph=_ABC,
        methods=(None, "linear"),
        refusals=ANSWERS,
    ),
    World(name="level, curved", draw=_curved, truth=3.0, target=Level(at=1.0), graph=_ABC, refusals=ANSWERS_CURVED),
    World(
        name="level, discrete cells",
        draw=_cells,
        truth=1.25,
        target=Level(at=1.0),
        graph=_ABC,
        refusals=ANSWERS,
    ),
    World(
        name="three arms, curved",
        draw=treatment_worlds.three_arms,
        truth=1.0,
        graph=_ABC,
        refusals=ANSWERS_LARGE,
    ),
    World(
        name="continuous treatment, linear",
        draw=treatment_worlds.continuous_linear,
        truth=1.0,
        graph=_ABC,
        refusals=ANSWERS,
    ),
    World(
        name="continuous treatment, curved",
        draw=treatment_worlds.continuous_curved,
        truth=1.0,
        graph=_ABC,
        refusals=ANSWERS_CURVED,
    ),
    # No promise of answers: 2,000 units are 400 runs.
    World(
        name="clusters of five",
        draw=treatment_worlds.clusters,
        truth=1.0,
        graph=_confounded("a"),
        clusters="run",
        methods=(None, "linear"),
    ),
    World(name="little overlap", draw=_little_overlap, truth=1.0, graph=_ABC),
    World(name="one-sided overlap", draw=_one_sided_overlap, truth=1.0, graph=_ABC, methods=(None, "linear")),
    World(
        name="heavy tails (t, 3 df)",
        draw=functools.partial(_linear, noise="t3"),
        truth=1.0,
        graph=_ABC,
        methods=(None, "linear"),
        refusals=ANSWERS_LARGE,
    ),
    World(
        name="skewed outcome",
        draw=functools.partial(_linear, noise="skewed"),
        truth=1.0,
        graph=_ABC,
        methods=(None, "linear"),
        refusals=ANSWERS_LARGE,
    ),
    World(
        name="imbalanced arms (14%)",
        draw=_imbalanced,
        truth=1.0,
        graph=_ABC,
        refusals=ANSWERS_LARGE,
    ),
    World(name="rare outcome 7%", draw=_rare_rows, truth=0.02, graph=_ABC, methods=(None,), refusals=ANSWERS_LARGE),
    World(
        name="instrument",
        draw=functools.partial(_instrument, strength=1.0),
        truth=1.0,
        graph=_INSTRUMENT,
        refusals=ANSWERS,
    ),
    World(name="weak instrument", draw=functools.partial(_instrument, strength=0.15), truth=1.0, graph=_INSTRUMENT),
    World(name="front-door, discrete", draw=_front_door, truth=0.5, graph=_FRONT_DOOR, refusals=ANSWERS),
    World(name="front-door, linear", draw=_front_door_linear, truth=0.5, graph=_FRONT_DOOR, refusals=ANSWERS),
    World(name="general ID (napkin)", draw=_napkin, truth=0.3, graph=_NAPKIN, refusals=ANSWERS, resampled=True),
)
