"""Identification side by side with the Python peers, on the same graphs, every answer judged."""

from __future__ import annotations

import statistics
import time
from functools import partial
from typing import TYPE_CHECKING, Any

from butfor.benchmarks.harness import Check, Report, Settings
from butfor.benchmarks.identification_cases import Case, known_answers, random_cases, textbook
from butfor.benchmarks.identification_judge import wrong
from butfor.benchmarks.peers import run_peer
from butfor.graphs import Graph
from butfor.identification import Proof, check, estimand, identify

if TYPE_CHECKING:
    from collections.abc import Callable

PEERS = ("y0", "causaleffect", "ananke-causal", "pgmpy", "pydagitty", "dowhy")
COMPLETE = ("y0", "causaleffect")
_SIZES = (10, 20, 100, 1000)
_NOTES = (
    "ours: proof included, graph read and hashed before; 'first' is the first call on a graph, hashing included",
    "arrows and latent edges per node: sparse 1.5 and 0.25, medium 4 and 0.5, dense 10 and 1",
    "judged: verdicts against ours and the textbook's, sets by the checker, formulas by enumeration on small graphs",
    "adjustment-only libraries are not charged for what only general identification answers",
    "with --quick the peers are asked up to 20 nodes",
)
_DENSITIES = ("sparse", "medium", "dense")


def speed_identification(settings: Settings) -> Report:
    """Time every library's answer to the same questions, and judge the answers.

    Ours is `identify` with its proof; the graph was read and hashed before, as the peers' graph objects were built
    before. CPU time; ours the median of nine runs, the peers one run after a warm-up.

    Options: ``peers`` (names, separated by commas), ``budget`` (CPU seconds for each peer, by default 300).
    """
    cases = _cases(settings)
    groups = list(dict.fromkeys(case.group for case in cases))
    rows, medians = _ours(cases, groups, settings)
    peers = tuple(name for name in settings.options.get("peers", ",".join(PEERS)).split(",") if name)
    for peer in peers:
        peer_rows, peer_medians = _peer(peer, cases, groups, settings)
        rows += peer_rows
        medians |= peer_medians
    return Report(
        name="speed:identification",
        settings={"seed": settings.seed, "quick": settings.quick, "graphs": len(cases), "peers": list(peers)},
        rows=rows,
        checks=_checks(rows, medians, settings),
        notes=list(_NOTES),
    )


def _cases(settings: Settings) -> list[Case]:
    cases = textbook()
    for nodes in _SIZES:
        count = (4 if nodes < 1000 else 3) if settings.quick else (40 if nodes < 100 else 10)
        for density in _DENSITIES:
            cases += random_cases(nodes, density, count, settings.seed)
    return cases


def _ours(
    cases: list[Case], groups: list[str], settings: Settings
) -> tuple[list[dict[str, Any]], dict[tuple[str, str], float]]:
    rows, medians, known = [], {}, known_answers()
    for group in groups:
        mine = [case for case in cases if case.group == group]
        first, times, checks, faults = [], [], [], 0
        for case in mine:
            fresh = Graph(names=case.graph.names, roles=case.graph.roles, edges=case.graph.edges)
            first.append(_timed(partial(identify, fresh, case.query), 1))
            # The median, not the least: a peer has one run, and the least of many would flatter ours.
            times.append(_timed(partial(identify, case.graph, case.query), 9))
            answer = identify(case.graph, case.query)
            checks.append(_timed(partial(check, case.graph, case.query, answer), 9))
            faults += not check(case.graph, case.query, answer).ok
            faults += known.get(case.name, isinstance(answer, Proof)) != isinstance(answer, Proof)
            if isinstance(answer, Proof):
                nodes = [node.to_json() for node in estimand(case.graph, answer).nodes]
                faults += wrong(case, {"identified": True, "nodes": nodes}, seed=settings.seed) is not None
        medians["butfor", group] = statistics.median(times)
        medians["butfor check", group] = statistics.median(checks)
        rows.append(_row("butfor", group, times, asked=len(mine), time_outs=0, faults=faults, first=first))
    return rows, medians


def _peer(
    peer: str, cases: list[Case], groups: list[str], settings: Settings
) -> tuple[list[dict[str, Any]], dict[tuple[str, str], float]]:
    if settings.quick:
        cases = [case for case in cases if len(case.graph.names) <= 20]
        groups = [group for group in groups if any(case.group == group for case in cases)]
    limit, budget = (0.5, 4.0) if settings.quick else (20.0, float(settings.options.get("budget", "300")))
    questions = [
        {
            "group": case.group,
            "nodes": list(case.graph.names),
            "directed": case.graph.directed,
            "bidirected": case.graph.bidirected,
            "treatment": case.query.treatments[0],
            "outcome": case.query.outcomes[0],
        }
        for case in cases
    ]
    asked = {"library": peer, "cases": questions, "limit": limit, "budget": budget}
    result = run_peer(peer, "identification", asked, seconds=4 * budget + 120)
    if result["status"] != "ok":
        return [{**_row(peer, "all", []), "median ms": result["status"]}], {}
    rows, medians = [], {}
    name = f"{peer} {result['version']}"
    for group in groups:
        pairs = [(case, answer) for case, answer in zip(cases, result["answers"], strict=True) if case.group == group]
        times = [answer["seconds"] for _, answer in pairs if "seconds" in answer]
        faults = [wrong(case, answer, seed=settings.seed) for case, answer in pairs if "seconds" in answer]
        late = sum(answer.get("error") == "time-out" for _, answer in pairs)
        failed = sum("error" in answer and answer["error"] not in ("time-out", "not asked") for _, answer in pairs)
        if times:
            medians[peer, group] = statistics.median(times)
        kinds = sorted({fault for fault in faults if fault})
        rows.append(
            {
                **_row(
                    name, group, times, asked=len(times) + late + failed, time_outs=late, faults=sum(map(bool, faults))
                ),
                "errors": failed,
                "what was wrong": ", ".join(kinds),
            }
        )
    return rows, medians


def _row(
    library: str,
    group: str,
    times: list[float],
    *,
    asked: int = 0,
    time_outs: int = 0,
    faults: int = 0,
    first: list[float] | None = None,
) -> dict[str, Any]:
    return {
        "library": library,
        "graphs": group,
        "asked": asked,
        "median ms": statistics.median(times) * 1e3 if times else "not run",
        "slowest ms": max(times) * 1e3 if times else "not run",
        "first ms": statistics.median(first) * 1e3 if first else "",
        "time-outs": time_outs,
        "errors": 0,
        "wrong": faults,
        "what was wrong": "",
    }


def _checks(rows: list[dict[str, Any]], medians: dict[tuple[str, str], float], settings: Settings) -> list[Check]:
    del settings
    twenty = [f"20 {density}" for density in _DENSITIES]
    ours = max(medians["butfor", group] for group in twenty) * 1e3
    checks = [
        Check(name="≤ 0.1 ms median at 20 nodes, every density", value=ours, bound=0.1, ok=ours <= 0.1),
        _at_most(medians, "1000 sparse", 2.0),
        _at_most(medians, "1000 medium", 15.0),
        _at_most(medians, "1000 dense", 15.0),
    ]
    faults = sum(row["wrong"] for row in rows if row["library"] == "butfor")
    checks.append(Check(name="no wrong answer of ours", value=faults, bound=0, ok=faults == 0))
    groups = [group for library, group in medians if library == "butfor"]
    # Sums over the groups: a single group's ratio of two medians of some 10 µs is mostly the clock.
    cost = sum(medians["butfor check", g] for g in groups) / sum(medians["butfor", g] for g in groups)
    checks.append(Check(name="checking costs no more than finding", value=cost, bound=1.0, ok=cost <= 1.0))
    ratios = [
        medians[peer, group] / medians["butfor", group]
        for peer in COMPLETE
        for group in twenty
        if (peer, group) in medians
    ]
    if ratios:
        least = min(ratios)
        checks.append(
            Check(name="≥ 50× faster than y0 and causaleffect at 20 nodes", value=least, bound=50, ok=least >= 50)
        )
    return checks


def _at_most(medians: dict[tuple[str, str], float], group: str, bound: float) -> Check:
    value = medians["butfor", group] * 1e3
    return Check(name=f"≤ {bound:g} ms median at {group}", value=value, bound=bound, ok=value <= bound)


def _timed(call: Callable[[], object], repeats: int) -> float:
    samples = []
    for _ in range(repeats):
        start = time.process_time()
        call()
        samples.append(time.process_time() - start)
    return statistics.median(samples)
