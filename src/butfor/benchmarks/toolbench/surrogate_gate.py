"""The derived world through the real gate: its graph is T → Y, T ↔ Y, or the same with the latent edge left out."""

from __future__ import annotations

import functools
import math
from typing import TYPE_CHECKING

import numpy as np

from butfor.benchmarks.toolbench.surrogate import ALPHA, EFFECTS, HARMFUL, PUSH, REVERSIBLE, table
from butfor.estimation import Columns
from butfor.gate import PAPER, Inputs, Rules, Sample, Trial, answer_for
from butfor.gate.decide import decide
from butfor.graphs import Graph
from butfor.identification import Query
from butfor.noise import numpy_generator

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from butfor.gate import Decision, Preset
    from butfor.gate.inputs import Answer
    from butfor.gate.robustness.report import Robustness
    from butfor.graphs import Role

QUERY = Query.effect("T", "Y")


@functools.cache
def graph(*, latent_edge: bool) -> Graph:
    """Return the true graph, or the one in which the hidden cause was forgotten."""
    nodes: dict[str, Role] = {"T": "treatment", "Y": "outcome"}
    hidden = [("T", "Y")] if latent_edge else []
    return Graph.of(nodes=nodes, directed=[("T", "Y")], bidirected=hidden)


@functools.cache
def _answer(believed: Graph, *, randomised: bool) -> Answer:
    return answer_for(believed, QUERY, randomised=randomised)


def columns(tau: float, noise: np.random.Generator, *, randomised: bool, push: float = PUSH) -> Columns:
    """Draw a table of the derived world."""
    t, y = table(tau, noise, randomised=randomised, push=push)
    return Columns.of({"T": t, "Y": y}, treatment="T", outcome="Y")


def gate_on(
    data: Columns,
    believed: Graph,
    rules: Rules,
    *,
    randomised: bool = False,
    robustness: Robustness | None = None,
) -> Decision:
    """Decide about one table."""
    return decide(
        Inputs(
            graph=believed,
            query=QUERY,
            answer=_answer(believed, randomised=randomised),
            sample=Sample(data=data, kind="randomised" if randomised else "observational", age=0.0),
            rules=rules,
            robustness=robustness,
        )
    )


def rules_for(*, reversible: bool, preset: Preset = PAPER) -> Rules:
    """Write the policy of the published settings."""
    return Rules(
        tau_r=0.5 if preset.cost_limit == "tau_r" else None,
        alpha=ALPHA,
        cost=0.1,
        reversible=reversible,
        trial=Trial(arms=(0.0, 1.0), most_units=500, effect=EFFECTS[0]),
        preset=preset,
    )


def run_gate(
    n: int, root: int, *, latent_edge: bool
) -> tuple[NDArray[np.float64], NDArray[np.bool_], NDArray[np.bool_]]:
    """Decide about n actions in paper settings: (τ, executed, tried), each of shape (n,)."""
    noise = numpy_generator("toolbench surrogate, gate", root)
    sign = np.where(noise.random(n) < HARMFUL, -1.0, 1.0)
    effect = sign * noise.uniform(*EFFECTS, n)
    reversible = noise.random(n) < REVERSIBLE
    believed = graph(latent_edge=latent_edge)
    executed, tried = np.zeros(n, dtype=bool), np.zeros(n, dtype=bool)
    for i in range(n):
        rules, tau = rules_for(reversible=bool(reversible[i])), float(effect[i])
        found = gate_on(columns(tau, noise, randomised=False), believed, rules)
        if found.verdict == "EXPERIMENT":
            tried[i] = True
            found = gate_on(columns(tau, noise, randomised=True), believed, rules, randomised=True)
        executed[i] = found.verdict == "EXECUTE"
    return effect, executed, tried


def error_of(part: NDArray[np.float64] | NDArray[np.bool_]) -> float:
    """Return the standard error of a mean."""
    return float(part.std()) / math.sqrt(part.size)
