"""Write the incident log that the gate learns from: 4,000 past incidents, what the operator did, how it went.

Operators restart more often under high load, and under high load services recover less often by themselves. So a
plain comparison of restarted and not restarted incidents makes restarting look worse than it is.
"""

import argparse
import csv
from datetime import UTC, datetime, timedelta
from pathlib import Path

import numpy as np

# What a restart adds to the chance of recovery within ten minutes, by tier; and how often the tier has incidents.
EFFECT = {"stateless": 0.30, "stateful": -0.25, "batch": 0.25}
SHARE = {"stateless": 0.60, "stateful": 0.36, "batch": 0.04}


def main() -> None:
    """Write incidents.csv and drains.csv beside this file."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path, default=Path(__file__).parent)
    parser.add_argument("--seed", type=int, default=20261130)
    asked = parser.parse_args()
    rng = np.random.default_rng(asked.seed)
    write(asked.out / "incidents.csv", restarts(rng, 4000))
    write(asked.out / "drains.csv", drains(rng, 1500))


def restarts(rng: np.random.Generator, n: int) -> dict[str, np.ndarray]:
    """Simulate incidents; every column is known before the operator acts, except recovered."""
    tier = rng.choice(list(EFFECT), n, p=list(SHARE.values()))
    load = rng.choice(["low", "medium", "high"], n)
    high = np.array([{"low": 0, "medium": 1, "high": 2}[each] for each in load])
    restarted = rng.random(n) < 0.25 + 0.25 * high
    chance = 0.55 - 0.15 * high + np.array([EFFECT[each] for each in tier]) * restarted
    recovered = rng.random(n) < chance
    return {"tier": tier, "load": load, "restarted": restarted.astype(int), "recovered": recovered.astype(int)}


def drains(rng: np.random.Generator, n: int) -> dict[str, np.ndarray]:
    """Simulate node drains; what made an operator drain a node is written down nowhere."""
    hunch = rng.random(n)
    drained = rng.random(n) < hunch
    return {"drained": drained.astype(int), "healthy": (rng.random(n) < 0.9 - 0.6 * hunch).astype(int)}


def write(path: Path, columns: dict[str, np.ndarray]) -> None:
    """Write columns as CSV, one incident a quarter of an hour, the newest one an hour ago."""
    newest = datetime.now(UTC) - timedelta(hours=1)
    n = len(next(iter(columns.values())))
    times = [(newest - timedelta(minutes=15 * (n - 1 - i))).isoformat(timespec="seconds") for i in range(n)]
    with path.open("w", newline="", encoding="utf-8") as file:
        rows = csv.writer(file)
        rows.writerow(["seen_at", *columns])
        rows.writerows(zip(times, *(column.tolist() for column in columns.values()), strict=True))
    print(f"wrote {path}: {n} rows")


if __name__ == "__main__":
    main()
