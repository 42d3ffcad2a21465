"""The same draws, in one orientation, asked of the libraries that people use, in environments of their own."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from butfor.benchmarks.coverage.draws import drawn
from butfor.benchmarks.peers import run_peer

if TYPE_CHECKING:
    from collections.abc import Sequence

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
    asked = [world for world in worlds if world.name in names]
    tables = [table for world in asked for table in _tables(world, count, settings.seed)]
    for peer, environment in PEERS.items() if asked else ():
        answer = run_peer(environment, "estimation", {"peer": peer, "tables": tables}, seconds=limit)
        if answer["status"] != "ok":
            rows += [{"world": world.name, "n": UNITS, "method": peer, "why": answer["status"]} for world in asked]
            notes.append(f"{peer}: {answer['status']}")
            continue
        for i, world in enumerate(asked):
            lowers = answer["lowers"][i * count : (i + 1) * count]
            missed = sum(lower > world.truth for lower in lowers) / count
            told = {"missed among answers": missed, "missed of all": missed, "repetitions": count, "refused": 0.0}
            rows.append(
                {"world": world.name, "n": UNITS, "mirror": "as drawn", "method": answer["method"], "why": "–", **told}
            )
    return rows, notes


def _tables(world: World, count: int, seed: int) -> list[dict[str, Any]]:
    tables = (drawn(world, UNITS, repetition, seed) for repetition in range(count))
    return [
        {"t": table["t"].tolist(), "y": table["y"].tolist(), "x": [table[name].tolist() for name in ("a", "b", "c")]}
        for table in tables
    ]
