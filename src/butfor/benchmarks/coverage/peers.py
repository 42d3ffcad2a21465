"""The same draws asked of the libraries that people use, in environments of their own."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from butfor.benchmarks.coverage.draws import MIRRORS, drawn, turned
from butfor.benchmarks.peers import run_peer

if TYPE_CHECKING:
    from collections.abc import Sequence

    from butfor.benchmarks.coverage.draws import Mirror
    from butfor.benchmarks.coverage.worlds import World
    from butfor.benchmarks.harness import Settings

# Each peer and the environment that has it.
PEERS = {"statsmodels": "dowhy", "dowhy": "dowhy", "econml": "econml", "doubleml": "doubleml"}
# Worlds that the peers are asked about; with --quick the one that separates them.
WORLDS = ("linear", "curved", "little overlap")
UNITS = 500
REPETITIONS = 50
QUICK_REPETITIONS = 5
# What a peer may take, in seconds.
PATIENCE, QUICK_PATIENCE = 3600, 20


def peer_rows(worlds: Sequence[World], settings: Settings) -> tuple[list[dict[str, Any]], list[str]]:
    """Return the peers' rows of the table and a note for each that was not run."""
    rows: list[dict[str, Any]] = []
    notes: list[str] = []
    count, limit = (QUICK_REPETITIONS, QUICK_PATIENCE) if settings.quick else (REPETITIONS, PATIENCE)
    count = settings.count("peer_repetitions", count)
    names = WORLDS[1:2] if settings.quick else WORLDS
    mirrors = MIRRORS[:1] if settings.quick else MIRRORS
    asked = [(world, mirror) for world in worlds if world.name in names for mirror in mirrors]
    cells = [[_table(world, i, settings.seed, mirror) for i in range(count)] for world, mirror in asked]
    tables = [table for cell in cells for table, _ in cell]
    for peer, environment in PEERS.items() if asked else ():
        answer = run_peer(environment, "estimation", {"peer": peer, "tables": tables}, seconds=limit)
        if answer["status"] != "ok":
            why = answer["status"]
            rows += [{"world": each.name, "n": UNITS, "mirror": way, "method": peer, "why": why} for each, way in asked]
            notes.append(f"{peer}: {answer['status']}")
            continue
        for i, (world, mirror) in enumerate(asked):
            lowers = answer["lowers"][i * count : (i + 1) * count]
            missed = sum(lower > truth for lower, (_, truth) in zip(lowers, cells[i], strict=True)) / count
            told = {"missed among answers": missed, "missed of all": missed, "repetitions": count, "refused": 0.0}
            cell = {"world": world.name, "n": UNITS, "mirror": mirror}
            rows.append({**cell, "method": answer["method"], "why": "–", **told})
    return rows, notes


def _table(world: World, repetition: int, seed: int, mirror: Mirror) -> tuple[dict[str, Any], float]:
    """Return a table as a peer reads it, and the effect in it."""
    one = turned(world, drawn(world, UNITS, repetition, seed), mirror)
    t, y, *covariates = (one.table[name].tolist() for name in ("t", "y", "a", "b", "c"))
    return {"t": t, "y": y, "x": covariates}, one.truth
