"""What each part of the gate is worth: taken away, or turned, on the same actions."""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING, Any

import numpy as np

from butfor.benchmarks.harness import Check
from butfor.benchmarks.toolbench.cases import Case
from butfor.benchmarks.toolbench.gate_methods import DEFAULTS, PAPER_SETTINGS, GateMethod
from butfor.benchmarks.toolbench.published import CIVEX
from butfor.benchmarks.toolbench.scores import Scored
from butfor.graphs import Graph
from butfor.identification import Adjustment, Proof, Query, identify
from butfor.noise import generator

if TYPE_CHECKING:
    from collections.abc import Sequence

    from butfor.benchmarks.toolbench.families import Family, Rows
    from butfor.benchmarks.toolbench.instances import Instance

LATENT = (0.0, 0.25, 0.5, 0.75, 1.0)
ALPHAS = (0.01, 0.05, 0.1, 0.2)
SIZES = (100, 250, 500, 1000, 2000)
DAY = 86_400.0
OLDEST, STALE, STALE_EVERY = 7 * DAY, 30 * DAY, 5


class StaleCase(Case):
    """An action whose log was written before the system changed: the effect then had the other sign."""

    age = STALE

    def __init__(self, instance: Instance) -> None:
        super().__init__(instance)
        self._then = dataclasses.replace(instance, effect=-instance.effect)

    @property
    def log(self) -> Rows:
        """The log of the system as it was."""
        return self._then.log()


def ablations(listed: Sequence[Instance], root: int) -> tuple[list[dict[str, Any]], list[Check]]:
    """Run every ablation on some actions."""
    rows = [*_parts(listed), *_staleness(listed), *_turned(listed)]
    relabelled, checks = _relabelled(listed, root)
    return [*rows, *relabelled], checks


def _row(part: str, method: str, listed: Sequence[Instance], gate: GateMethod, **more: str) -> dict[str, Any]:
    rulings = [gate(Case(one)) for one in listed]
    return {"on": part, "method": method, **Scored.of(listed, rulings).row(), **more}


def _parts(listed: Sequence[Instance]) -> list[dict[str, Any]]:
    rows = []
    for name, gate in (("paper settings", PAPER_SETTINGS), ("our defaults", DEFAULTS)):
        changed: dict[str, GateMethod] = {
            "everything there": gate,
            "EXPERIMENT off": dataclasses.replace(gate, experiments=False),
            "no proof (the log is taken for a trial)": dataclasses.replace(gate, randomised_first=True),
            "no bound (the estimate decides)": dataclasses.replace(gate, alpha=0.499),
            "no stated assumption (the rota is no instrument)": dataclasses.replace(gate, instruments=False),
            "no limit on cost": dataclasses.replace(gate, limit=np.inf),
        }
        if gate.preset.tests_graph:
            untested = dataclasses.replace(gate.preset, tests_graph=False)
            changed["no test of the graph"] = dataclasses.replace(gate, preset=untested)
        for what, other in changed.items():
            published = CIVEX["EXPERIMENT off"] if (name, what) == ("paper settings", "EXPERIMENT off") else ""
            rows.append(_row(f"part removed: {what}", name, listed, other, published=published))
    return rows


def _staleness(listed: Sequence[Instance]) -> list[dict[str, Any]]:
    """Every fifth log is a month old and tells of a system that has changed; policies allow a week, or any age."""
    rows = []
    for what, oldest in (("provenance: logs older than a week refused", OLDEST), ("part removed: no provenance", None)):
        for name, gate in (("paper settings", PAPER_SETTINGS), ("our defaults", DEFAULTS)):
            with_age = dataclasses.replace(gate, max_age=oldest)
            cases = [StaleCase(one) if one.number % STALE_EVERY == 0 else Case(one) for one in listed]
            rulings = [with_age(case) for case in cases]
            rows.append({"on": what, "method": name, **Scored.of(listed, rulings).row()})
    return rows


def _turned(listed: Sequence[Instance]) -> list[dict[str, Any]]:
    sized = {n: [dataclasses.replace(one, rows=n) for one in listed] for n in SIZES}
    rows = []
    for name, gate in (("paper settings", PAPER_SETTINGS), ("our defaults", DEFAULTS)):
        rows += [_row(f"α = {alpha:g}", name, listed, dataclasses.replace(gate, alpha=alpha)) for alpha in ALPHAS]
        rows += [_row(f"n = {n}", name, part, gate) for n, part in sized.items()]
    return rows


def _relabelled(listed: Sequence[Instance], root: int) -> tuple[list[dict[str, Any]], list[Check]]:
    """Tell the gate that measured confounders are hidden, for a growing share of the back-door actions."""
    back_door = [one for one in listed if one.family.route == "back-door"]
    rows, false = [], []
    for share in LATENT:
        cases = [_with_latent(one, share, root) for one in back_door]
        for name, gate in (("paper settings", PAPER_SETTINGS), ("our defaults", DEFAULTS)):
            scored = Scored.of(back_door, [gate(case) for case in cases])
            on = f"back-door, confounders relabelled latent: {share:.0%}"
            published = CIVEX["observed relabelled latent"] if name == "paper settings" and share == 1.0 else ""
            rows.append({"on": on, "method": name, **scored.row(), "published": published})
            false.append((name, share, scored.false, scored.harmful))
    return rows, [_no_more_false(name, false) for name in ("paper settings", "our defaults")]


def _no_more_false(name: str, false: Sequence[tuple[str, float, int, int]]) -> Check:
    """Knowing less must not make the gate execute more harm: with nothing identified only trials decide, at α."""
    first = next(count for which, share, count, _ in false if (which, share) == (name, 0.0))
    last, harmful = next((count, n) for which, share, count, n in false if (which, share) == (name, 1.0))
    most = max(first, round(0.05 * harmful))
    said = f"{name}: false executions with every confounder latent ≤ the larger of those with none and α"
    return Check(name=said, value=float(last), bound=float(most), ok=last <= most)


def _with_latent(one: Instance, share: float, root: int) -> Case:
    drawn = generator("relabelled", root, one.family.name, one.regime, one.seed, one.number).random()
    return Case(one, hidden(one.family)) if drawn < share else Case(one)


def hidden(family: Family) -> Graph:
    """Return the family's graph with what its proof adjusts for made latent."""
    graph = family.graph
    answer = identify(graph, Query.effect(family.treatment, family.outcome))
    assert isinstance(answer, Proof)
    assert isinstance(answer.argument, Adjustment)
    latent = answer.argument.adjust_for
    roles = dict(zip(graph.names, graph.roles, strict=True)) | dict.fromkeys(latent, "latent")
    return Graph.of(nodes=roles, directed=graph.directed, bidirected=graph.bidirected)
