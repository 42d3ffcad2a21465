"""What one saved rollout costs, beside what its bytes cost without us."""

from __future__ import annotations

import json
import sqlite3
import statistics
import tempfile
import time
from datetime import UTC, datetime
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING

import zstandard

from butfor import noise
from butfor.benchmarks.harness import Check, Report, Settings
from butfor.runs import Run
from butfor.store import RolloutRecord, Store

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

CROSSINGS = 100
BATCH = 100
WORDS = ("refund", "order", "tool", "the", "customer", "id", "status", "shipped", "note", "please", "amount")
COLUMNS = "id TEXT PRIMARY KEY, arm INT, draw INT, status TEXT, outcome REAL, journal TEXT, counts TEXT, at TEXT"
MOMENT = datetime(2026, 1, 1, tzinfo=UTC)
CPU_BOUND = 300.0
# Executing the insertions through SQLAlchemy gave 1.9; the driver gives 1.2.
FLOOR_BOUND = 1.6


def speed_store(settings: Settings) -> Report:
    """Time `save_rollout` against compressing, hashing and committing the same bytes by hand.

    Batches of the two alternate, and the least of each is compared: what a busy machine adds is not the store's.
    """
    batches = 15 if settings.quick else 30
    records = [_record(settings.seed, number) for number in range(batches * BATCH)]
    with tempfile.TemporaryDirectory() as directory, Store.open(Path(directory) / "ours") as store:
        store.save_run(Run(run_id="r"))
        bare = _Bare(Path(directory) / "bare.db")
        ours, floor = [], []
        for start in range(0, len(records), BATCH):
            batch = records[start : start + BATCH]
            ours.append(_cpu(store.save_rollout, batch))
            floor.append(_cpu(bare.save, batch))
        bare.close()
    return _report(settings, ours, floor, sum(len(each.journal) for each in records) / len(records))


def _report(settings: Settings, ours: list[float], floor: list[float], size: float) -> Report:
    times = {"Store.save_rollout": ours, "zstd + SHA-256 + sqlite3 by hand": floor}
    rows = [
        {"what": what, "least µs CPU": min(values), "median µs CPU": statistics.median(values)}
        for what, values in times.items()
    ]
    ratio = min(ours) / min(floor)
    return Report(
        name="speed:store",
        settings={"seed": settings.seed, "rollouts": len(ours) * BATCH, "crossings": CROSSINGS, "bytes": round(size)},
        rows=rows,
        checks=[
            Check(name="≤ 300 µs CPU a rollout", value=min(ours), bound=CPU_BOUND, ok=min(ours) <= CPU_BOUND),
            Check(name="≤ 1.6 times the same by hand", value=ratio, bound=FLOOR_BOUND, ok=ratio <= FLOOR_BOUND),
        ],
        notes=["both measured here, in this process, in alternating batches; nothing is a published number"],
    )


def _cpu(save: Callable[[RolloutRecord], None], batch: Sequence[RolloutRecord]) -> float:
    """Return microseconds of CPU a call."""
    start = time.process_time()
    for record in batch:
        save(record)
    return (time.process_time() - start) / len(batch) * 1e6


def _record(seed: int, number: int) -> RolloutRecord:
    draw = noise.generator(seed, "speed:store", number)
    lines = (
        json.dumps(
            {
                "lane": "0",
                "occurrence": occurrence,
                "kind": "model",
                "digest": draw.randbytes(20).hex(),
                "answer": " ".join(draw.choices(WORDS, k=14)),
            }
        )
        for occurrence in range(CROSSINGS)
    )
    return RolloutRecord(
        rollout_id=draw.randbytes(16).hex(),
        run_id="r",
        fingerprint="f",
        arm="resample(3)",
        draw=number,
        status="completed",
        outcome=float(number % 2),
        counts='{"model_calls":100,"tools":{"simulated":3}}',
        created_at=MOMENT,
        journal="\n".join(lines),
    )


class _Bare:
    """The same rows through the driver alone, with the keys that a store cannot do without."""

    def __init__(self, path: Path) -> None:
        self._connection = sqlite3.connect(path, isolation_level=None)
        self._compress = zstandard.ZstdCompressor(level=1).compress
        for statement in (
            "PRAGMA journal_mode = WAL",
            "PRAGMA synchronous = NORMAL",
            "CREATE TABLE blobs (digest TEXT PRIMARY KEY, body BLOB)",
            f"CREATE TABLE rollouts ({COLUMNS}, UNIQUE (arm, draw))",
        ):
            self._connection.execute(statement)

    def save(self, record: RolloutRecord) -> None:
        raw = record.journal.encode()
        digest = sha256(raw).hexdigest()
        execute = self._connection.execute
        execute("BEGIN IMMEDIATE")
        execute("INSERT INTO blobs VALUES (?, ?)", (digest, self._compress(raw)))
        values = (record.rollout_id, 1, record.draw, record.status, record.outcome, digest, record.counts, "2026-01-01")
        execute("INSERT INTO rollouts VALUES (?, ?, ?, ?, ?, ?, ?, ?)", values)
        execute("COMMIT")

    def close(self) -> None:
        self._connection.close()
