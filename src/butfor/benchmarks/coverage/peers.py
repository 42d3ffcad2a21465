"""The same draws, in one orientation, asked of the libraries that people use."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from butfor.benchmarks.peers import run_peer

if TYPE_CHECKING:
    from collections.abc import Sequence

    from butfor.benchmarks.coverage.worlds import World
    from butfor.benchmarks.harness import Settings

PEERS = ("statsmodels", "dowhy", "econml", "doubleml")


def peer_rows(
    worlds: Sequence[World], sizes: Sequence[int], settings: Settings
) -> tuple[list[dict[str, Any]], list[str]]:
    """Return the peers' rows of the table, and a note for each that was not run."""
    rows: list[dict[str, Any]] = []
    notes: list[str] = []
    for peer in PEERS:
        answer = run_peer(peer, "estimation", {"task": "none"})
        rows.append({"world": "–", "method": peer, "why": answer["status"]})
        notes.append(f"{peer} was not run: {answer['status']}")
    return rows, notes
