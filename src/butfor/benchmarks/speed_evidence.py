"""What it costs to reduce a million rows where they lie, to read them, and to name them."""

from __future__ import annotations

import importlib
import statistics
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from butfor.benchmarks.harness import Check, Report, Settings
from butfor.estimation import Cells
from butfor.estimation.evidence import Roles, aggregate, read_file, write_rows
from butfor.noise import numpy_generator

if TYPE_CHECKING:
    from collections.abc import Callable

ROUNDS, MOST = 7, 0.150
ROLES = Roles(treatment="t", outcome="y", covariates=("a", "b", "c"))


def speed_evidence(settings: Settings) -> Report:
    """Time the aggregate query beside reading the rows, on a Parquet file with three discrete confounders.

    Raises:
        MissingExtra: DuckDB or pyarrow is not installed.
    """
    n = 200_000 if settings.quick else 1_000_000
    rows, checks = [], []
    with tempfile.TemporaryDirectory() as folder:
        for outcome in ("0/1", "graded"):
            path = Path(folder) / "log.parquet"
            write_rows(_drawn(settings.seed, n, outcome), path)
            row, same = _timed(path, outcome, n)
            rows.append(row)
            checks.append(
                Check(name=f"{outcome}: cells that differ from the rows' own", value=same, bound=0, ok=same == 0)
            )
            cost = row["aggregate, s"]
            checks.append(
                Check(name=f"{outcome}: {n:,} rows reduced in ≤ 150 ms of CPU", value=cost, bound=MOST, ok=cost <= MOST)
            )
    shown = {"seed": settings.seed, "rows": n, "rounds": ROUNDS, "threads": 1}
    notes = ["CPU time, median of warm rounds; the file system's cache is warm; one engine thread"]
    return Report(name="speed:evidence", settings=shown, rows=rows, checks=checks, notes=notes)


def _drawn(seed: int, n: int, outcome: str) -> dict[str, Any]:
    rng = numpy_generator("speed evidence", seed)
    y = rng.integers(0, 2, n) if outcome == "0/1" else rng.normal(size=n)
    return {
        "t": rng.integers(0, 2, n),
        "y": y,
        **{name: rng.integers(0, k, n) for name, k in zip("abc", (4, 5, 3), strict=True)},
    }


def _timed(path: Path, outcome: str, n: int) -> tuple[dict[str, Any], int]:
    connection: Any = importlib.import_module("duckdb").connect()
    connection.execute("SET threads = 1")

    def reduce() -> Any:
        return aggregate(path, ROLES, kind="observational", connection=connection)

    table = read_file(path, ROLES, kind="observational")
    own, found = Cells.of(table.columns, ROLES.covariates), reduce().cells
    parts = ("n", "total", "squares", "arms", "keys")
    differing = sum(not np.array_equal(getattr(own, part), getattr(found, part)) for part in parts)
    return {
        "outcome": outcome,
        "rows": n,
        "aggregate, s": _cpu(reduce),
        "read, check and name the rows, s": _cpu(lambda: read_file(path, ROLES, kind="observational"), rounds=3),
    }, differing


def _cpu(function: Callable[[], Any], *, rounds: int = ROUNDS) -> float:
    function()
    times = []
    for _ in range(rounds):
        start = time.process_time()
        function()
        times.append(time.process_time() - start)
    return statistics.median(times)
