"""What a verdict costs: from warm caches, end to end with signature and disk, and cold on a million rows."""

from __future__ import annotations

import dataclasses
import importlib
import os
import statistics
import tempfile
import time
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING

from butfor import noise
from butfor.benchmarks.harness import Check, Report, Settings
from butfor.errors import MissingExtra
from butfor.estimation import Columns
from butfor.estimation.evidence import Roles, aggregate, write_rows
from butfor.gate import Action, Inputs, Rules, Sample, answer_for
from butfor.gate.commitments.directory import approve, commit
from butfor.gate.decide import decide, decide_by
from butfor.gate.gate import Gate
from butfor.gate.signing.signatures import Signer
from butfor.gate.signing.trust import TrustedKey, TrustFile
from butfor.gate.warm import Warm
from butfor.graphs import Graph
from butfor.identification import Query

if TYPE_CHECKING:
    from collections.abc import Callable

    import numpy as np

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
POLICY = """\
schema: butfor.policy/1
tools:
  restart:
    outcome: {name: recovered, range: [0, 1], two_valued: true}
    treatment: {name: restarted, to: 1, against: 0}
    graph: restart
    evidence: {file: incidents.csv, kind: observational}
    context: {tier: {argument: tier}}
    strata: [tier]
    cost: 0.1
    risk: {harm_line: 0.5, tau_r: 0.9}
    reversible: true
"""
WARM_BOUND, ADDED_BOUND, COLD_BOUND = 200.0, 1000.0, 250.0
ROUND = 5


def speed_gate(settings: Settings) -> Report:
    """Time a verdict warm, end to end beside a bare fsync of as many bytes on the same disk, and cold."""
    rounds, rows = (60, 1_000_000) if settings.quick else (200, 1_000_000)
    with tempfile.TemporaryDirectory() as directory, _gate(Path(directory), settings.seed) as gate:
        action = Action(tool="restart", arguments={"tier": 1, "service": "web"})
        ruling = gate.decide(action)
        assert ruling.verdict == "EXECUTE", ruling.in_words()
        verdicts, fresh = _warm(settings.seed, rounds * ROUND)
        times = _ends(gate, action, Path(directory), len(ruling.certificate), rounds)
    cold = [_cold(settings.seed + i, rows) for i in range(1 if settings.quick else 3)]
    from_file = _from_file(settings.seed, rows)
    return _report(settings, verdicts, fresh, times, cold, from_file, rows)


def _report(
    settings: Settings,
    verdicts: list[float],
    fresh: list[float],
    times: _Times,
    cold: list[float],
    from_file: float | None,
    rows: int,
) -> Report:
    warm, coldest = statistics.median(verdicts), statistics.median(cold)
    added = statistics.median(times.ends) - statistics.median(times.syncs)
    table = [
        _row("verdict, warm caches (CPU)", verdicts),
        _row("verdict, warm statistics, an error level not asked for before (CPU)", fresh),
        _row("call to signed certificate, without the disk (CPU)", times.signed),
        _row("call to durable EXECUTE (CPU)", times.durable),
        _row("bare write and fsync of as many bytes (CPU)", times.synced),
        _row("call to durable EXECUTE (wall)", times.ends),
        _row("bare write and fsync of as many bytes (wall)", times.syncs),
        _row(f"verdict, nothing cached, {rows:,} rows in memory (CPU)", [each * 1000.0 for each in cold]),
    ]
    if from_file is not None:
        table.append(_row(f"the same, {rows:,} rows counted in a Parquet file (CPU)", [from_file * 1000.0]))
        coldest = max(coldest, from_file)
    return Report(
        name="speed:gate",
        settings={"seed": settings.seed, "rounds": len(times.ends) // ROUND, "a round": ROUND, "rows": rows},
        rows=table,
        checks=[
            Check(
                name="verdict from warm caches ≤ 200 µs median CPU", value=warm, bound=WARM_BOUND, ok=warm <= WARM_BOUND
            ),
            Check(
                name="end to end ≤ 1 ms beyond a bare fsync in the same run (wall, medians, µs)",
                value=added,
                bound=ADDED_BOUND,
                ok=added <= ADDED_BOUND,
            ),
            Check(
                name=f"cold with {rows:,} rows ≤ 250 ms CPU", value=coldest, bound=COLD_BOUND, ok=coldest <= COLD_BOUND
            ),
        ],
        notes=[
            "all of it is ours; every time was taken in this run, decisions and bare fsyncs in alternating rounds",
            "warm: proof, its check and the bounds are remembered by the digests of graph, query and evidence",
            "cold: identification, proof check, counting, effects, risk, verdict; the slower of the two is checked",
        ],
    )


def _row(what: str, values: list[float]) -> dict[str, object]:
    ordered = sorted(values)
    return {
        "what": what,
        "least µs": ordered[0],
        "median µs": statistics.median(ordered),
        "p99 µs": ordered[min(len(ordered) - 1, int(0.99 * len(ordered)))],
        "n": len(ordered),
    }


def _warm(seed: int, n: int) -> tuple[list[float], list[float]]:
    """Return CPU of a verdict whose bounds are remembered, and of one at a new error level from cells, in µs."""
    from butfor.estimation import Cells

    inputs, warm = _inputs(seed, 50_000), Warm()
    columns = inputs.sample.data
    assert isinstance(columns, Columns)
    cells = Sample(data=Cells.of(columns, ["tier", "load"]), digest="cells")
    inputs = dataclasses.replace(inputs, sample=cells)
    warm.measured(inputs)

    def ask() -> None:
        again = dataclasses.replace(inputs, answer=warm.answer(inputs.graph, inputs.query))
        assert decide_by(again, warm.measured).verdict == "EXECUTE"

    levels = iter(0.05 / (place + 2) ** 2 for place in range(10**6))

    def ask_anew() -> None:
        decide_by(dataclasses.replace(inputs, alpha=next(levels)), warm.measured)

    return [_cpu(ask) for _ in range(n)], [_cpu(ask_anew) for _ in range(min(n, 100))]


@dataclasses.dataclass(frozen=True, kw_only=True)
class _Times:
    """Times of single calls, in µs.

    Attributes:
        ends: Wall time of a call to its durable EXECUTE.
        syncs: Wall time of a bare write and fsync.
        durable: CPU time of the first.
        synced: CPU time of the second.
        signed: CPU time of a call to its signed certificate, without the disk.
    """

    ends: list[float]
    syncs: list[float]
    durable: list[float]
    synced: list[float]
    signed: list[float]


def _ends(gate: Gate, action: Action, directory: Path, size: int, rounds: int) -> _Times:
    """Take all five in alternating rounds."""
    times = _Times(ends=[], syncs=[], durable=[], synced=[], signed=[])
    with (directory / "bare").open("wb", buffering=0) as file:
        data = os.urandom(size)

        def sync() -> None:
            file.write(data)
            os.fsync(file.fileno())

        for _ in range(rounds):
            times.ends.extend(_wall(lambda: gate.decide(action)) for _ in range(ROUND))
            times.syncs.extend(_wall(sync) for _ in range(ROUND))
            times.durable.extend(_cpu(lambda: gate.decide(action)) for _ in range(ROUND))
            times.synced.extend(_cpu(sync) for _ in range(ROUND))
            times.signed.extend(_cpu(lambda: gate.certified(action)) for _ in range(ROUND))
    return times


def _cold(seed: int, rows: int) -> float:
    """Return CPU of a verdict with nothing cached, in ms."""
    inputs = _inputs(seed, rows)

    def ask() -> None:
        fresh = dataclasses.replace(inputs, answer=answer_for(inputs.graph, inputs.query))
        assert decide(fresh).verdict == "EXECUTE"

    return _cpu(ask) / 1000.0


def _from_file(seed: int, rows: int) -> float | None:
    """Return CPU of reducing a Parquet file to counts and deciding from them, in ms; None where DuckDB is missing."""
    with tempfile.TemporaryDirectory() as directory:
        file = Path(directory) / "incidents.parquet"
        try:
            write_rows({name: column.tolist() for name, column in _table(seed, rows).items()}, file)
            importlib.import_module("duckdb")
        except (MissingExtra, ImportError):
            return None
        roles = Roles(treatment="restarted", outcome="recovered", covariates=("tier", "load"))
        asked = _inputs(seed, 1000)

        def ask() -> None:
            found = aggregate(file, roles, kind="observational")
            sample = Sample(data=found.cells, digest=found.evidence.digest, levels=found.levels)
            assert decide(dataclasses.replace(asked, sample=sample)).verdict == "EXECUTE"

        return _cpu(ask) / 1000.0


def _inputs(seed: int, rows: int) -> Inputs:
    query = Query.effect("restarted", "recovered", within="tier")
    return Inputs(
        graph=GRAPH,
        query=query,
        answer=answer_for(GRAPH, query),
        sample=Sample(
            data=Columns.of(_table(seed, rows), treatment="restarted", outcome="recovered"), digest=f"{rows}"
        ),
        rules=Rules(outcome_range=(0.0, 1.0), two_valued=True, tau_r=0.9, harm_line=0.5, cost=0.1),
        within={"tier": 1.0},
    )


def _table(seed: int, rows: int) -> dict[str, np.ndarray]:
    rng = noise.numpy_generator("speed:gate", seed)
    tier, load = rng.integers(0, 3, rows), rng.integers(0, 4, rows)
    restarted = rng.random(rows) < 0.3 + 0.1 * load
    recovered = rng.random(rows) < 0.3 + 0.3 * restarted + 0.05 * load
    return {"tier": tier, "load": load, "restarted": restarted.astype(int), "recovered": recovered.astype(int)}


def _gate(directory: Path, seed: int) -> Gate:
    """Fill a folder with policy, evidence, graph and keys, and open its gate."""
    table = _table(seed, 5000)
    lines = [
        ",".join(table),
        *(",".join(map(str, row)) for row in zip(*(c.tolist() for c in table.values()), strict=True)),
    ]
    (directory / "incidents.csv").write_text("\n".join(lines) + "\n", encoding="utf-8")
    (directory / "gate.yaml").write_text(POLICY, encoding="utf-8")
    signer, approver, now = Signer(b"g" * 32), Signer(b"a" * 32), datetime.now(UTC)
    trusted = TrustedKey(
        id=approver.key_id, name="bench", public=approver.public, role="approver", valid_from=now - timedelta(days=1)
    )
    (directory / "trust.json").write_text(TrustFile.of([trusted]).to_text(), encoding="utf-8")
    graphs, later = directory / "graphs", now + timedelta(days=1)
    commit(graphs, "restart", GRAPH, author="bench", reason="bench", at=now, expires_at=later)
    approve(graphs, "restart", signer=approver, at=now)
    return Gate.open(directory / "gate.yaml", signer=signer, store=directory / "store")


def _cpu(function: Callable[[], object]) -> float:
    """Return microseconds of CPU."""
    start = time.process_time_ns()
    function()
    return (time.process_time_ns() - start) / 1000.0


def _wall(function: Callable[[], object]) -> float:
    """Return microseconds of wall time."""
    start = time.perf_counter_ns()
    function()
    return (time.perf_counter_ns() - start) / 1000.0
