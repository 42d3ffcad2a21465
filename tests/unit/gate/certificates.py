"""Certificates of every verdict, made from rows and from statistics as a gate makes them."""

from __future__ import annotations

import dataclasses
import json
import math
from datetime import timedelta
from functools import cache
from typing import TYPE_CHECKING, Any

import numpy as np

from butfor.canonical import digest as digest_of
from butfor.estimation.cells import Cells
from butfor.estimation.columns import Columns
from butfor.estimation.evidence.description import Roles
from butfor.estimation.evidence.row_digest import row_digest
from butfor.gate.action import Action
from butfor.gate.certificate.body import Head, body
from butfor.gate.certificate.envelope import seal
from butfor.gate.commitments.commitment import Approval, Commitment, Statement
from butfor.gate.decide import decide, refused
from butfor.gate.evidence import upright
from butfor.gate.inputs import Inputs, Sample, answer_for
from butfor.gate.policy.entry import ready_entry
from butfor.gate.policy.model import Entry
from butfor.gate.robustness import examine
from butfor.gate.signing.trust import stamp
from butfor.graphs import Graph
from butfor.identification import Query
from tests.unit.gate.keys import APPROVER, END, GATE, NOW

if TYPE_CHECKING:
    from pathlib import Path

    from butfor.canonical import Json

PLAIN = Graph.of(nodes={"T": "treatment", "Y": "outcome", "Z": "state"}, directed=[("Z", "T"), ("Z", "Y"), ("T", "Y")])
ALPHA = 6 * 0.05 / math.pi**2
CONFOUNDED = Graph.of(
    nodes={"T": "treatment", "Y": "outcome", "Z": "state"},
    directed=[("Z", "T"), ("Z", "Y"), ("T", "Y")],
    bidirected=[("T", "Y")],
)
ACTION = Action(tool="restart", arguments={"service": "api"}, agent="ops")
ENTRY: dict[str, Any] = {
    "outcome": {"name": "Y", "range": [0.0, 1.0]},
    "treatment": {"name": "T", "to": 1.0, "against": 0.0},
    "graph": "restart",
    "evidence": {"file": "log.csv", "kind": "observational"},
    "cost": 0.1,
    "risk": {"tau_r": 0.9, "harm_line": 0.2},
    "reversible": True,
    "budget": {"other_agents": 1.0},  # levels by order of asking
}
TRIAL = {"arms": [0.0, 1.0], "most_units": 400, "effect": 0.1}


@dataclasses.dataclass(frozen=True, kw_only=True)
class Made:
    """A certificate with what it was made from."""

    data: bytes
    body: dict[str, Json]
    rows: Columns
    call: bytes


@cache
def rows(effect: float, n: int = 600) -> Columns:
    draw = np.random.default_rng(5)
    z = draw.integers(0, 2, n)
    t = (draw.random(n) < 0.3 + 0.4 * z).astype(float)
    y = np.clip(0.4 + 0.2 * z + effect * t + draw.normal(0, 0.1, n), 0, 1)
    return Columns.of({"T": t, "Y": y, "Z": z}, treatment="T", outcome="Y", covariates=["Z"])


def commitment(graph: Graph, *, approved: bool = True, statements: tuple[Statement, ...] = ()) -> Commitment:
    made = Commitment(
        name="restart",
        version=1,
        graph=graph,
        previous=None,
        author="ada",
        reason="as drawn in the review",
        at=stamp(NOW - timedelta(days=1)),
        expires_at=stamp(END),
        statements=statements,
    )
    approval = Approval.of(made.digest, signer=APPROVER, at=NOW - timedelta(hours=1))
    return dataclasses.replace(made, approvals=(approval,)) if approved else made


def make(
    *,
    effect: float = 0.15,
    graph: Graph = PLAIN,
    level: str = "rows",
    place: Path,
    committed: Commitment | None = None,
    signer: Any = GATE,
    entry: dict[str, Any] | None = None,
    trial: bool = False,
) -> Made:
    """Decide about one call as the gate does, and seal the certificate."""
    columns = rows(effect)
    described = {**ENTRY["evidence"], "level": level.split()[-1], **(entry or {}).get("evidence", {})}
    policy = Entry.model_validate_json(json.dumps({**ENTRY, **(entry or {}), "evidence": described}))
    ready = ready_entry("restart", policy, "default", place)
    query = Query.effect("T", "Y", measured=["T", "Y", "Z"])
    kind = "randomised" if trial else policy.evidence.kind
    assert kind is not None
    age = 0.0 if trial else None
    sample = Sample(data=upright(policy, columns), kind=kind, digest=row_digest(columns), age=age)
    if level != "rows":
        coarse = Columns.of({**columns.table, "Y": np.rint(columns.y)}, treatment="T", outcome="Y", covariates=["Z"])
        cells = Cells.of(coarse if level == "statistics" else columns, ["Z"])
        level = "statistics"
        named = digest_of({"cells": cells.to_json(), "levels": {}})
        sample = Sample(data=cells, kind=kind, digest=named)
    answer = answer_for(graph, query, randomised=kind == "randomised")
    inputs = Inputs(graph=graph, query=query, answer=answer, sample=sample, rules=ready.rules(1.0), alpha=ALPHA)
    inputs = dataclasses.replace(inputs, robustness=examine(inputs))
    head = _head(ready, (committed or commitment(graph)).to_json(), level, columns.n)
    if trial:
        head = dataclasses.replace(head, evidence={**(head.evidence or {}), "lineage": "trials of restart"})
    document = body(head, decide(inputs), inputs)
    call = b'{"tool":"restart","arguments":{"service":"api"},"agent":"ops"}'
    return Made(data=seal(document, signer), body=document, rows=columns, call=call)


def make_refused(place: Path) -> Made:
    """Make the certificate of a call that no entry covers."""
    head = dataclasses.replace(_head(ready_entry("restart", Entry.model_validate(_loose()), "default", place), None))
    policy = {**head.policy, "name": None, "entry": None}
    head = dataclasses.replace(head, policy=policy, commitment=None, evidence=None, budget=None)
    document = body(head, refused("unknown_tool", "no entry covers it"), None)
    return Made(data=seal(document, GATE), body=document, rows=rows(0.15), call=b"")


def _loose() -> dict[str, Any]:
    return {**ENTRY, "outcome": {"name": "Y", "range": (0.0, 1.0)}}


def _head(ready: Any, committed: Json, level: str = "rows", n: int = 0) -> Head:
    return Head(
        id="d-1",
        at=stamp(NOW),
        mode="enforce",
        agent=ACTION.agent,
        tool=ACTION.tool,
        call=ACTION.digest,
        context={},
        policy={"digest": ready.digest, "preset": "default", "name": "restart", "entry": ready.document},
        commitment=committed,
        evidence={
            "level": level,
            "query": None,
            "lineage": "log.csv",
            "window": None,
            "roles": Roles(treatment="T", outcome="Y", covariates=("Z",)).to_json(),
            "rows": n,
            "rows_hash": None,
            "arms": {"0": 300, "1": 300},
        },
        budget={
            "family": digest_of("family"),
            "epoch": 1,
            "place": 1,
            "alpha": ALPHA,
            "key": digest_of("key"),
            "share": "",
            "questions": None,
        },
    )


CASES: dict[str, dict[str, Any]] = {
    "EXECUTE": {},
    "REJECT": {"effect": -0.1},
    "EXPERIMENT": {"graph": CONFOUNDED, "entry": {"experiment": TRIAL}},
    "ABSTAIN": {"graph": CONFOUNDED},
}
