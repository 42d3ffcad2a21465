"""What one table adds to the report, and the words and marks for an answer."""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING, Any

from butfor.benchmarks.tables.plot import Mark
from butfor.estimation import Insufficient
from butfor.graphs import Graph
from butfor.identification import Proof, Query, identify

if TYPE_CHECKING:
    from collections.abc import Sequence

    from butfor.benchmarks.harness import Check
    from butfor.estimation import Columns, Effect
    from butfor.estimation.evidence import Table

ALPHA = 0.05


@dataclasses.dataclass(frozen=True, kw_only=True)
class Part:
    """What one table adds to the report.

    Attributes:
        rows: Of the report's table.
        marks: Of the plot.
        unit: What its axis measures.
        checks: What is known of the answers.
        notes: What was not run, and why.
    """

    rows: Sequence[dict[str, Any]] = ()
    marks: Sequence[Mark] = ()
    unit: str = ""
    checks: Sequence[Check] = ()
    notes: Sequence[str] = ()


def row(
    table: str, question: str, answer: str, *, n: int | str = "", truth: str = "", digest: str = ""
) -> dict[str, Any]:
    """Make a row of the report."""
    return {"table": table, "question": question, "n": n, "answer": answer, "known": truth, "evidence": digest[:14]}


def answered(table: str, question: str, data: Table, effect: Effect, *, truth: str = "") -> dict[str, Any]:
    """Make a row that gives an answer in words."""
    if isinstance(effect, Insufficient):
        answer = f"refused, {effect.reason_code}: {effect.sentence}"
    else:
        answer = f"{effect.point:.4g}, above {effect.lower:.4g} ({effect.estimator})"
    return row(table, question, answer, n=data.columns.n, truth=truth, digest=data.evidence.digest[7:])


def mark(label: str, effect: Effect, *known: float) -> Mark:
    """Make a line of the plot."""
    if isinstance(effect, Insufficient):
        return Mark(label=label, known=known, refusal=effect.reason_code)
    return Mark(label=label, known=known, lower=effect.lower, point=effect.point)


def adjusting(columns: Columns) -> tuple[Query, Proof]:
    """Return the query and its proof in the graph in which every covariate causes treatment and outcome."""
    t, y, covariates = columns.treatment, columns.outcome, columns.covariates
    graph = Graph.of(
        nodes={t: "treatment", y: "outcome", **dict.fromkeys(covariates, "state")},
        directed=[(t, y), *((name, end) for name in covariates for end in (t, y))],
        bidirected=[(a, b) for i, a in enumerate(covariates) for b in covariates[i + 1 :]],
    )
    query = Query.effect([t], [y])
    proof = identify(graph, query)
    assert isinstance(proof, Proof)
    return query, proof
