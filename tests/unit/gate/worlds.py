"""A small world with one confounder, and the pieces of a decision about it."""

from __future__ import annotations

import numpy as np

from butfor.estimation import Columns
from butfor.gate import Inputs, Rules, Sample, Trial, answer_for
from butfor.graphs import Graph
from butfor.identification import Query

NODES = {"T": "treatment", "Y": "outcome", "Z": "state"}
ARROWS = [("Z", "T"), ("Z", "Y"), ("T", "Y")]
GRAPH = Graph.of(nodes=NODES, directed=ARROWS)
BOW = Graph.of(nodes=NODES, directed=ARROWS, bidirected=[("T", "Y")])
QUERY = Query.effect("T", "Y")
TRIAL = Trial(arms=(0.0, 1.0), most_units=1000, effect=0.1)
RULES = Rules(tau_u=0.1, tau_r=0.6, harm_line=0.5, outcome_range=(0.0, 1.0), two_valued=True, cost=0.1, reversible=True)


def rows(n: int = 4000, *, effect: float = 0.3, seed: int = 1) -> dict[str, np.ndarray]:
    """Z confounds T and Y; P(Y = 1) rises by `effect` with T."""
    rng = np.random.default_rng(seed)
    z = rng.integers(0, 4, n).astype(float)
    t = (rng.random(n) < 0.2 + 0.1 * z).astype(float)
    y = (rng.random(n) < 0.3 + effect * t + 0.05 * z).astype(float)
    return {"T": t, "Y": y, "Z": z}


def columns(table: dict[str, np.ndarray] | None = None, **parts: str) -> Columns:
    return Columns.of(table or rows(), treatment="T", outcome="Y", **parts)


def inputs(*, graph: Graph = GRAPH, query: Query = QUERY, sample: Sample | None = None, **changes) -> Inputs:
    """Inputs of a decision in this world; further arguments replace fields of Inputs."""
    sample = sample or Sample(data=columns())
    rules = changes.pop("rules", RULES)
    answer = changes.pop("answer", None) or answer_for(
        graph, query, randomised=sample.kind == "randomised", instrument=rules.instrument
    )
    return Inputs(graph=graph, query=query, answer=answer, sample=sample, rules=rules, **changes)
