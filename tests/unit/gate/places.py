"""A folder with a policy, its evidence, a committed graph and the keys: all that a gate needs."""

from __future__ import annotations

import dataclasses
from datetime import UTC, datetime, timedelta
from functools import cache
from typing import TYPE_CHECKING

import numpy as np

from butfor.gate.commitments.directory import approve, commit
from butfor.gate.gate import Gate
from butfor.gate.signing.signatures import Role, Signer
from butfor.gate.signing.trust import TrustedKey, TrustFile
from butfor.graphs import Graph

if TYPE_CHECKING:
    from pathlib import Path

NOW = datetime(2026, 11, 30, 12, tzinfo=UTC)
GATE, APPROVER = Signer(b"g" * 32), Signer(b"a" * 32)
GRAPH = Graph.of(
    nodes={"restarted": "treatment", "recovered": "outcome", "load": "state", "tier": "state"},
    directed=[
        ("load", "restarted"),
        ("load", "recovered"),
        ("tier", "restarted"),
        ("tier", "recovered"),
        ("restarted", "recovered"),
    ],
)
HIDDEN = Graph.of(
    nodes=dict(zip(GRAPH.names, GRAPH.roles, strict=True)),
    directed=GRAPH.directed,
    bidirected=[("restarted", "recovered")],
)
POLICY = """\
schema: butfor.policy/1
tools:
  restart_service:
    outcome: {name: recovered, range: [0, 1], two_valued: true}
    treatment: {name: restarted, to: 1, against: 0}
    graph: restart
    evidence: {file: incidents.csv, kind: observational, time: seen_at}
    context:
      tier: {argument: tier}
    strata: [tier]
    tau_u: 0.05
    cost: 0.1
    risk: {harm_line: 0.5, tau_r: 0.6}
    reversible: true
    experiment: {arms: [0, 1], most_units: 2000, effect: 0.1}
    max_evidence_age: 90d
"""


def trusted(signer: Signer, role: str) -> TrustedKey:
    known: Role = "gate" if role == "gate" else "approver"
    return TrustedKey(
        id=signer.key_id, name=role, public=signer.public, role=known, valid_from=NOW - timedelta(days=365)
    )


@cache
def rows(n: int = 3000, *, seed: int = 1, newest: datetime = NOW - timedelta(days=1)) -> str:
    """Restarting helps the gold tier by 0.3, does nothing for silver and harms bronze by 0.3."""
    rng = np.random.default_rng(seed)
    effect = {"gold": 0.3, "silver": 0.0, "bronze": -0.3}
    lines = ["restarted,recovered,load,tier,seen_at"]
    for i in range(n):
        tier = ("gold", "silver", "bronze")[int(rng.integers(3))]
        load = int(rng.integers(3))
        t = int(rng.random() < 0.3 + 0.15 * load)
        y = int(rng.random() < 0.5 + effect[tier] * t - 0.1 * load)
        lines.append(f"{t},{y},{load},{tier},{(newest - timedelta(minutes=n - 1 - i)).isoformat()}")
    return "\n".join(lines) + "\n"


@dataclasses.dataclass(frozen=True, kw_only=True)
class Place:
    """The folder."""

    path: Path

    @property
    def policy(self) -> Path:
        return self.path / "gate.yaml"

    def write(self, text: str = POLICY) -> None:
        self.policy.write_text(text, encoding="utf-8")

    def commit(self, graph: Graph, *, name: str = "restart", signer: Signer = APPROVER, days: float = 30) -> None:
        folder, at = self.path / "graphs", NOW - timedelta(days=2)
        expires = NOW + timedelta(days=days)
        commit(folder, name, graph, author="ada", reason="drawn with the team", at=at, expires_at=expires)
        approve(folder, name, signer=signer, at=at)

    def open(self, now: datetime = NOW, **changes) -> Gate:
        return Gate.open(self.policy, signer=GATE, store=self.path / "store", now=lambda: now, **changes)


def place(path: Path, *, graph: Graph = GRAPH, policy: str = POLICY, evidence: str | None = None) -> Place:
    """Fill a folder."""
    made = Place(path=path)
    made.write(policy)
    (path / "incidents.csv").write_text(evidence or rows(), encoding="utf-8")
    trust = TrustFile.of([trusted(GATE, "gate"), trusted(APPROVER, "approver")])
    (path / "trust.json").write_text(trust.to_text(), encoding="utf-8")
    made.commit(graph)
    return made
