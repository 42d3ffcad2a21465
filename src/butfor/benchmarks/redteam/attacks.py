"""The three corruptions, with the right graph and the wrong one, before the paper's gate and before ours."""

from __future__ import annotations

import dataclasses
import functools
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.stats import binom

from butfor.benchmarks.harness import Check
from butfor.benchmarks.redteam.worlds import ROWS, WORLDS, World
from butfor.benchmarks.toolbench.scores import Scored
from butfor.benchmarks.toolbench.surrogate import ALPHA, EFFECTS, HARMFUL, REVERSIBLE
from butfor.estimation import Columns
from butfor.gate import DEFAULT, PAPER, Demands, Inputs, Preset, Rules, Sample, Trial, answer_for
from butfor.gate.decide import decide
from butfor.gate.robustness import examine
from butfor.identification import Query
from butfor.noise import numpy_generator

if TYPE_CHECKING:
    from collections.abc import Mapping

    from butfor.gate import Decision
    from butfor.gate.inputs import Answer
    from butfor.graphs import Graph

QUERY = Query.effect("T", "Y")
LIMIT = 0.5
# What our policy declares: a hidden cause may explain this share of treatment and outcome.
DECLARED = 0.05


@dataclasses.dataclass(frozen=True, kw_only=True)
class Setting:
    """A gate under attack.

    Attributes:
        preset: Paper settings or our defaults.
        demands: What a verdict must survive.
    """

    preset: Preset
    demands: Demands = dataclasses.field(default_factory=Demands)


SETTINGS: Mapping[str, Setting] = {
    "paper settings": Setting(preset=PAPER),
    "our defaults": Setting(preset=DEFAULT),
    "ours, strength demanded": Setting(preset=DEFAULT, demands=Demands(falsification=True, robustness=DECLARED)),
    "ours, strength and mutations demanded": Setting(
        preset=DEFAULT,
        demands=Demands(falsification=True, robustness=DECLARED, mutations=("reversed_arrow", "bad_control")),
    ),
}


KEPT = 0.5
# Where a mediator may as well be a confounder no data tell which it is: to survive the reversal of its arrow a verdict
# must hold for the direct part alone. What that costs is in the table; no bound on it is claimed.
UNTELLABLE = {
    (world, "ours, strength and mutations demanded")
    for world in ("arrowhead reversed, direct part against", "arrowhead reversed, direct part with it")
}


@dataclasses.dataclass(frozen=True, kw_only=True)
class Actions:
    """Actions of one world, the same for every graph and gate.

    Attributes:
        effect: τ, shape (n,).
        reversible: Shape (n,).
        root: Root of the tables.
    """

    effect: np.ndarray[tuple[int], np.dtype[np.float64]]
    reversible: np.ndarray[tuple[int], np.dtype[np.bool_]]
    root: int


def actions(n: int, root: int) -> Actions:
    """Draw actions as the derived surrogate has them."""
    noise = numpy_generator("redteam actions", root)
    sign = np.where(noise.random(n) < HARMFUL, -1.0, 1.0)
    effect = sign * noise.uniform(*EFFECTS, n)
    return Actions(effect=effect, reversible=noise.random(n) < REVERSIBLE, root=root)


def rule(setting: Setting, believed: Graph, rows: Mapping[str, Any], *, reversible: bool, trial: bool) -> Decision:
    """Decide about one table, with what the setting demands examined on it."""
    data = Columns.of(rows, treatment="T", outcome="Y")
    inputs = Inputs(
        graph=believed,
        query=QUERY,
        answer=_answer(believed, randomised=trial),
        sample=Sample(data=data, kind="randomised" if trial else "observational", age=0.0),
        rules=Rules(
            tau_c=LIMIT,
            tau_r=LIMIT if setting.preset.cost_limit == "tau_r" else None,
            alpha=ALPHA,
            cost=0.1,
            reversible=reversible,
            trial=Trial(arms=(0.0, 1.0), most_units=ROWS, effect=EFFECTS[0]),
            demands=setting.demands,
            preset=setting.preset,
        ),
    )
    if setting.preset.tests_graph and not trial:
        inputs = dataclasses.replace(inputs, robustness=examine(inputs, show=False))
    return decide(inputs)


@functools.cache
def _answer(believed: Graph, *, randomised: bool) -> Answer:
    return answer_for(believed, QUERY, randomised=randomised)


def attacked(world: World, believed: Graph, setting: Setting, drawn: Actions) -> Scored:
    """Let a gate decide about every action with the graph that it is given."""
    executed, verdicts = [], []
    for i, (tau, reversible) in enumerate(zip(drawn.effect.tolist(), drawn.reversible.tolist(), strict=True)):
        noise = numpy_generator("redteam table", world.name, drawn.root, i)
        log, trial = world.rows(tau, noise, False), world.rows(tau, noise, True)
        found = rule(setting, believed, log, reversible=reversible, trial=False)
        verdicts.append(found.verdict)
        if found.verdict == "EXPERIMENT":
            found = rule(setting, believed, trial, reversible=reversible, trial=True)
        executed.append(found.verdict == "EXECUTE")
    first = np.array(verdicts)
    return Scored(effect=drawn.effect, executed=np.array(executed), tried=first == "EXPERIMENT", verdicts=first)


def attacks(n: int, root: int) -> tuple[list[dict[str, Any]], list[Check]]:
    """Run every corruption with every setting."""
    drawn = actions(n, root)
    rows: list[dict[str, Any]] = []
    checks: list[Check] = []
    for world in WORLDS:
        for graph, believed in (("right", world.right), ("wrong", world.wrong)):
            found = {name: attacked(world, believed, setting, drawn) for name, setting in SETTINGS.items()}
            rows += [_row(world, graph, name, scored) for name, scored in found.items()]
            if graph == "right":
                checks += [_harmless(world, name, scored) for name, scored in found.items()]
                checks += _kept(world, found)
    return rows, checks


def _row(world: World, graph: str, name: str, scored: Scored) -> dict[str, Any]:
    published = world.published if (graph, name) == ("wrong", "paper settings") else ""
    return {"attack": world.name, "graph": graph, "gate": name, **scored.row(), "published": published}


def _harmless(world: World, name: str, scored: Scored) -> Check:
    """With the right graph the guarantee holds: false executions per harmful action are at most α."""
    most = int(binom.ppf(1.0 - 1e-6, scored.harmful, ALPHA))
    said = f"{world.name}, right graph, {name}: false executions consistent with ≤ α of {scored.harmful} harmful"
    return Check(name=said, value=float(scored.false), bound=float(most), ok=scored.false <= most)


def _kept(world: World, found: Mapping[str, Scored]) -> list[Check]:
    """A gate that executes nothing is no defence: with the right graph it keeps half of the correct executions."""
    free, checks = found["our defaults"].correct, []
    for name, scored in found.items():
        if not SETTINGS[name].demands.robustness or (world.name, name) in UNTELLABLE:
            continue
        said = f"{world.name}, right graph, {name}: correct executions kept of our defaults', ≥ 50%"
        kept = scored.correct / max(1, free)
        checks.append(Check(name=said, value=kept, bound=KEPT, ok=kept >= KEPT and free > 0))
    return checks
