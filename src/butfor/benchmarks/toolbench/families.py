"""Six tool workflows, each a structural model with its graph: what an action does, and what its logs would show.

The families *database indexing* and *service restart* are named by the paper (CIVeX, arXiv 2605.09168); the other four,
and every graph, equation and number here, are ours: the paper's are not published.
"""

from __future__ import annotations

import dataclasses
import math
from typing import TYPE_CHECKING, Literal, TypeAlias

import numpy as np

from butfor.graphs import Graph

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from numpy.typing import NDArray

Route: TypeAlias = Literal["back-door", "front-door", "instrument", "unidentified"]
Rows: TypeAlias = "Mapping[str, NDArray[np.float64]]"

# As the derived surrogate has it: rows of a table, noise of the outcome, and how strongly the confounder moves the
# action that the log records.
ROWS = 500
NOISE = 6.0
CHOICE = 1.5
# Where the confounder is measured its pull is weaker, so that adjusting for it is possible: at 1.5 a sixth of the
# rows has a propensity below 0.02 or above 0.98.
MEASURED_CHOICE = 0.8


@dataclasses.dataclass(frozen=True, kw_only=True)
class Draw:
    """What one table is drawn with.

    Attributes:
        effect: τ = E[Y | do(1)] − E[Y | do(0)].
        push: What one standard deviation of the confounder adds to the outcome, with its sign.
        n: Rows.
        randomised: Whether the action is assigned by a fair coin; otherwise as the log's operators chose it.
        noise: Where randomness comes from.
    """

    effect: float
    push: float
    n: int
    randomised: bool
    noise: np.random.Generator

    def normal(self) -> NDArray[np.float64]:
        """Draw one standard normal a row."""
        return self.noise.standard_normal(self.n)

    def act(self, index: NDArray[np.float64]) -> NDArray[np.float64]:
        """Draw who was acted on: a coin in a trial, else index + N(0, 1) > 0."""
        chosen = self.normal() + (0.0 if self.randomised else index)
        return (chosen > 0).astype(np.float64)


@dataclasses.dataclass(frozen=True, kw_only=True)
class Family:
    """One tool workflow.

    Attributes:
        name: In words.
        tool: The tool that is called.
        route: How the graph identifies the effect, if it does.
        graph: Over measured variables; bidirected edges stand for what no log records.
        reversible: Share of the instances whose action can be undone.
        pull: E[confounder | acted] − E[confounder | not acted] in the log: the naive contrast is τ + push·pull.
        standard_error: Of the estimator that decides (of the log where the graph identifies, else of the trial), at
            `ROWS` rows, by push and τ.
        rows: Draws a table.
        schema: Each argument of the tool with its lowest and highest allowed value.
    """

    name: str
    tool: str
    route: Route
    graph: Graph
    reversible: float
    pull: float
    standard_error: Callable[[float, float], float]
    rows: Callable[[Draw], Rows]
    schema: Mapping[str, tuple[int, int]]

    @property
    def treatment(self) -> str:
        """Name of the action's column."""
        return self.graph.with_role("treatment")[0]

    @property
    def outcome(self) -> str:
        """Name of the outcome's column; more is better."""
        return self.graph.with_role("outcome")[0]

    @property
    def identified(self) -> bool:
        """Whether evidence from logs can answer at all."""
        return self.route != "unidentified"


def _graph(t: str, y: str, directed: list[tuple[str, str]], bidirected: list[tuple[str, str]], *others: str) -> Graph:
    nodes = {t: "treatment", y: "outcome", **dict.fromkeys(others, "state")}
    return Graph.of(nodes=nodes, directed=directed, bidirected=bidirected)


def _probit_pull(strength: float) -> float:
    """E[U | strength·U + N > 0] − E[U | strength·U + N ≤ 0] for a standard normal U."""
    return 2.0 * strength / math.hypot(strength, 1.0) * math.sqrt(2.0 / math.pi)


def _trial_error(push: float, effect: float) -> float:
    """Standard error of a difference of means of `ROWS` randomised rows."""
    del effect
    return 2.0 * math.hypot(NOISE, push) / math.sqrt(ROWS)


# --- database indexing: two measured causes of both, adjusted for ---


def _indexing(draw: Draw) -> Rows:
    size, writes = draw.normal(), draw.normal()
    load = (size + writes) / math.sqrt(2.0)
    built = draw.act(MEASURED_CHOICE * load)
    saved = draw.effect * built + draw.push * load + NOISE * draw.normal()
    return {"table_size": size, "write_share": writes, "index_built": built, "latency_saved": saved}


def _indexing_error(push: float, effect: float) -> float:
    """Of least squares: what the confounder leaves of the action's variance, 1/4 − Cov(T, W)²."""
    del push, effect
    covariance = _probit_pull(MEASURED_CHOICE) / 4.0
    return NOISE / math.sqrt(ROWS * (0.25 - covariance**2))


# --- service restart: operators restart what looks worst, and how bad it was is not in the log ---


def _restart(draw: Draw) -> Rows:
    severity = draw.normal()
    alerts = severity + draw.normal()  # a proxy: adjusting for it takes off a part of the confounding
    restarted = draw.act(CHOICE * severity)
    uptime = draw.effect * restarted + draw.push * severity + NOISE * draw.normal()
    return {"alerts": alerts, "restarted": restarted, "uptime_gained": uptime}


# --- cache pre-warming: the action works through a measured mediator alone ---

_WARMING = 1.5


def _prewarm(draw: Draw) -> Rows:
    season = draw.normal()
    warmed = draw.act(CHOICE * season)
    hits = _WARMING * warmed + draw.normal()
    faster = draw.effect / _WARMING * hits + draw.push * season + NOISE * draw.normal()
    return {"prewarmed": warmed, "hit_ratio": hits, "requests_faster": faster}


def _prewarm_error(push: float, effect: float) -> float:
    """Of the product of two slopes; the season left in the outcome once the action is known is noise of the second."""
    left = 1.0 - (_probit_pull(CHOICE) / 2.0) ** 2
    second = _WARMING * math.hypot(NOISE, push * math.sqrt(left))
    first = effect / _WARMING * 2.0
    return math.hypot(second, first) / math.sqrt(ROWS)


# --- traffic shift: who is on call decides at random, and changes nothing else ---

_ROTA = 2.0
_HUNCH = 1.5


def _shift(draw: Draw) -> Rows:
    congestion = draw.normal()
    rota = (draw.normal() > 0).astype(np.float64)
    shifted = draw.act(_ROTA * (2.0 * rota - 1.0) + _HUNCH * congestion)
    served = draw.effect * shifted + draw.push * congestion + NOISE * draw.normal()
    return {"rota": rota, "shifted": shifted, "served_more": served}


def _moved() -> float:
    """P(T = 1 | rota 1) − P(T = 1 | rota 0)."""
    return math.erf(_ROTA / math.hypot(_HUNCH, 1.0) / math.sqrt(2.0))


def _shift_pull() -> float:
    spread = math.hypot(_HUNCH, 1.0)
    density = math.exp(-0.5 * (_ROTA / spread) ** 2) / math.sqrt(2.0 * math.pi)
    return 4.0 * _HUNCH / spread * density


def _shift_error(push: float, effect: float) -> float:
    del effect
    return 2.0 * math.hypot(NOISE, push) / (_moved() * math.sqrt(ROWS))


# --- queue scaling: a measured confounder that no straight line describes, and a recorded consequence ---

_TIERS = np.array([-1.0, 0.5, 1.0, 0.5, -1.0]) / math.sqrt(0.7)  # mean 0, variance 1 over five equally frequent tiers


def _scaling(draw: Draw) -> Rows:
    tier = draw.noise.integers(0, 5, draw.n)
    demand = _TIERS[tier]
    scaled = draw.act(MEASURED_CHOICE * demand)
    drained = draw.effect * scaled + draw.push * demand + NOISE * draw.normal()
    billed = 0.8 * scaled + 0.8 * drained / NOISE + draw.normal()  # after both: a bad control
    return {"tier": tier.astype(np.float64), "scaled": scaled, "drained": drained, "billed": billed}


def _tier_chances() -> NDArray[np.float64]:
    return np.array([0.5 * (1.0 + math.erf(MEASURED_CHOICE * demand / math.sqrt(2.0))) for demand in _TIERS])


def _scaling_pull() -> float:
    chance = _tier_chances()
    return float(_TIERS @ chance / chance.sum() - _TIERS @ (1.0 - chance) / (1.0 - chance).sum())


def _scaling_error(push: float, effect: float) -> float:
    """Of standardised strata: Σ (1/5)² σ² (1/n₁ + 1/n₀), with every stratum a fifth of the rows."""
    del push, effect
    chance = _tier_chances()
    return NOISE * math.sqrt(float((1.0 / chance + 1.0 / (1.0 - chance)).sum()) / (5.0 * ROWS))


# --- schema migration: mostly for good, the mediator shares a hidden cause with the outcome ---


def _migration(draw: Draw) -> Rows:
    debt, discipline = draw.normal(), draw.normal()
    migrated = draw.act(CHOICE * debt)
    coverage = _WARMING * migrated + (discipline + draw.normal()) / math.sqrt(2.0)
    hidden = (debt + discipline) / math.sqrt(2.0)
    fewer = draw.effect / _WARMING * coverage + draw.push * hidden + NOISE * draw.normal()
    return {"migrated": migrated, "test_coverage": coverage, "faults_fewer": fewer}


def _migration_error(push: float, effect: float) -> float:
    """Of the trial: what mediator and hidden causes leave in each arm."""
    slope = effect / _WARMING
    # coverage and `hidden` share `discipline`: Cov = 1/2.
    variance = NOISE**2 + push**2 + slope**2 + slope * push
    return 2.0 * math.sqrt(variance / ROWS)


def _confounded(t: str, y: str, *causes: str) -> list[tuple[str, str]]:
    return [(t, y), *((cause, end) for cause in causes for end in (t, y))]


FAMILIES: tuple[Family, ...] = (
    Family(
        name="database indexing",
        tool="create_index",
        route="back-door",
        graph=_graph(
            "index_built",
            "latency_saved",
            _confounded("index_built", "latency_saved", "table_size", "write_share"),
            [],
            "table_size",
            "write_share",
        ),
        reversible=0.9,
        pull=_probit_pull(MEASURED_CHOICE),
        standard_error=_indexing_error,
        rows=_indexing,
        schema={"columns": (1, 16), "fill_factor": (10, 100)},
    ),
    Family(
        name="service restart",
        tool="restart_service",
        route="unidentified",
        graph=_graph(
            "restarted",
            "uptime_gained",
            [("restarted", "uptime_gained")],
            [("restarted", "uptime_gained"), ("alerts", "restarted"), ("alerts", "uptime_gained")],
            "alerts",
        ),
        reversible=0.85,
        pull=_probit_pull(CHOICE),
        standard_error=_trial_error,
        rows=_restart,
        schema={"grace_seconds": (0, 600), "replicas": (1, 64)},
    ),
    Family(
        name="cache pre-warming",
        tool="prewarm_cache",
        route="front-door",
        graph=_graph(
            "prewarmed",
            "requests_faster",
            [("prewarmed", "hit_ratio"), ("hit_ratio", "requests_faster")],
            [("prewarmed", "requests_faster")],
            "hit_ratio",
        ),
        reversible=0.85,
        pull=_probit_pull(CHOICE),
        standard_error=_prewarm_error,
        rows=_prewarm,
        schema={"keys": (1, 100_000), "ttl_seconds": (1, 86_400)},
    ),
    Family(
        name="traffic shift",
        tool="shift_traffic",
        route="instrument",
        graph=_graph(
            "shifted",
            "served_more",
            [("rota", "shifted"), ("shifted", "served_more")],
            [("shifted", "served_more")],
            "rota",
        ),
        reversible=0.8,
        pull=_shift_pull(),
        standard_error=_shift_error,
        rows=_shift,
        schema={"percent": (1, 100), "region": (0, 31)},
    ),
    Family(
        name="queue scaling",
        tool="scale_queue",
        route="back-door",
        graph=_graph(
            "scaled",
            "drained",
            [*_confounded("scaled", "drained", "tier"), ("scaled", "billed"), ("drained", "billed")],
            [],
            "tier",
            "billed",
        ),
        reversible=0.6,
        pull=_scaling_pull(),
        standard_error=_scaling_error,
        rows=_scaling,
        schema={"workers": (1, 512), "cooldown_seconds": (0, 3600)},
    ),
    Family(
        name="schema migration",
        tool="migrate_schema",
        route="unidentified",
        graph=_graph(
            "migrated",
            "faults_fewer",
            [("migrated", "test_coverage"), ("test_coverage", "faults_fewer")],
            [("migrated", "faults_fewer"), ("test_coverage", "faults_fewer")],
            "test_coverage",
        ),
        reversible=0.236,
        pull=_probit_pull(CHOICE) / math.sqrt(2.0),
        standard_error=_migration_error,
        rows=_migration,
        schema={"batch_rows": (100, 1_000_000), "lock_seconds": (0, 60)},
    ),
)
"""Mean of `reversible`: 0.706, that of the derived surrogate."""
