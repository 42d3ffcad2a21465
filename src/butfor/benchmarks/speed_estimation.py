"""How long an estimate and its bound take on the same rows, beside the Python peers."""

from __future__ import annotations

import statistics
import subprocess
import sys
import time
from typing import TYPE_CHECKING, Any

import numpy as np

from butfor.benchmarks.harness import Check, Report, Settings
from butfor.benchmarks.peers import run_peer
from butfor.estimation import Cells, Columns, Contrast, EffectEstimate
from butfor.estimation.aipw import aipw_linear
from butfor.estimation.least_squares import ols_robust
from butfor.estimation.standardise import standardise

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from numpy.typing import NDArray

    from butfor.estimation import Effect

UNITS = 1_000_000
# Each peer and the environment that has it.
PEERS = {"statsmodels": "dowhy", "dowhy": "dowhy", "econml": "econml", "doubleml": "doubleml"}
QUICK_UNITS = 5_000
# What a peer may take, in seconds.
PATIENCE = 3600
CELLS_MS = 100.0
AIPW_MS = 500.0
ROUNDS = 5
_WARM = (
    "import sys; from butfor.estimation import Cells, Columns, Contrast; "
    "from butfor.estimation.standardise import standardise; "
    "print(len({'scipy', 'sklearn', 'pandas', 'pydantic'} & set(sys.modules)))"
)


def speed_estimation(settings: Settings) -> Report:
    """Time ours and the peers on one table: three discrete confounders, and three continuous ones.

    CPU time of one thread, the median of five rounds in which ours take turns; ours starts from arrays in memory and
    includes every check of them. Options: ``n`` (rows, by default a million), ``peers`` (``no`` to leave them out).
    """
    n = settings.count("n", UNITS)
    discrete, smooth = _discrete(n, settings.seed), _smooth(n, settings.seed)
    ours: list[tuple[str, str, Callable[[], Effect]]] = [
        ("three discrete confounders", "butfor, cells", lambda: _from_cells(discrete)),
        ("three continuous confounders", "butfor, cross-fitted linear AIPW", lambda: _augmented(smooth)),
        ("three continuous confounders", "butfor, OLS with HC3", lambda: _least_squares(smooth)),
    ]
    timed = _in_turns([run for _, _, run in ours])
    rows: list[dict[str, Any]] = [
        _row(table, method, *each) for (table, method, _), each in zip(ours, timed, strict=True)
    ]
    notes = [
        "ours: from arrays in memory, checks included; nothing here is a published figure",
        "peers that grow forests by default are timed on 20,000 rows, and on all rows with regressions",
    ]
    for peer in () if settings.options.get("peers") == "no" else PEERS:
        asked = {"n": min(n, QUICK_UNITS) if settings.quick else n, "seed": settings.seed}
        answer = run_peer(PEERS[peer], "estimation", {"peer": peer, **asked}, seconds=PATIENCE)
        told = answer.get("rows", [{"method": peer, "ms CPU": answer["status"]}])
        rows += [{"table": "three continuous confounders", "point": "–", "lower": "–", **row} for row in told]
        notes += [] if answer["status"] == "ok" else [f"{peer} was not run: {answer['status']}"]
    heavy = int(subprocess.run([sys.executable, "-c", _WARM], capture_output=True, text=True, check=True).stdout)  # noqa: S603  our own line
    return Report(
        name="speed:estimation",
        settings={"n": n, "seed": settings.seed, "quick": settings.quick, "rounds": ROUNDS},
        rows=rows,
        checks=[
            _bounded("three discrete confounders from memory", timed[0][0], CELLS_MS * n / UNITS),
            _bounded("cross-fitted linear AIPW", timed[1][0], AIPW_MS * n / UNITS),
            Check(name="packages beyond NumPy on the path from cells", value=heavy, bound=0, ok=heavy == 0),
        ],
        notes=notes,
    )


def _bounded(name: str, value: float, bound: float) -> Check:
    return Check(name=f"{name}: ≤ {bound:g} ms CPU", value=value, bound=bound, ok=value <= bound)


def _row(table: str, method: str, ms: float, answer: Effect) -> dict[str, Any]:
    point, lower = (answer.point, answer.lower) if isinstance(answer, EffectEstimate) else ("–", answer.reason_code)
    return {"table": table, "method": method, "ms CPU": ms, "point": point, "lower": lower}


def _in_turns(runs: Sequence[Callable[[], Effect]]) -> list[tuple[float, Effect]]:
    """Return the median milliseconds of CPU of each over rounds in which they take turns, and its answer."""
    answers = [run() for run in runs]  # warms caches
    times: list[list[float]] = [[] for _ in runs]
    for _ in range(ROUNDS):
        for spent, run in zip(times, runs, strict=True):
            start = time.process_time()
            run()
            spent.append(1000.0 * (time.process_time() - start))
    return [(statistics.median(spent), answer) for spent, answer in zip(times, answers, strict=True)]


def _from_cells(table: dict[str, NDArray[np.float64]]) -> Effect:
    columns = Columns.of(table, treatment="t", outcome="y")
    return standardise(Cells.of(columns, ("a", "b", "c")), target=Contrast())


def _augmented(table: dict[str, NDArray[np.float64]]) -> Effect:
    return aipw_linear(Columns.of(table, treatment="t", outcome="y"), ("a", "b", "c"), target=Contrast())


def _least_squares(table: dict[str, NDArray[np.float64]]) -> Effect:
    return ols_robust(Columns.of(table, treatment="t", outcome="y"), ("a", "b", "c"), target=Contrast())


def _discrete(n: int, seed: int) -> dict[str, NDArray[np.float64]]:
    rng = np.random.default_rng(seed)
    a, b, c = (rng.integers(0, k, n).astype(np.float64) for k in (4, 3, 2))
    t = (rng.random(n) < 0.3 + 0.1 * a / 2 + 0.1 * c).astype(np.float64)
    return {"t": t, "y": t + a * b + rng.normal(size=n), "a": a, "b": b, "c": c}


def _smooth(n: int, seed: int) -> dict[str, NDArray[np.float64]]:
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(3, n))
    t = (rng.random(n) < 1 / (1 + np.exp(-0.5 * x[0] + 0.4 * x[1]))).astype(np.float64)
    return {"t": t, "y": t + x[0] + x[1] + 0.5 * x[2] + rng.normal(size=n), "a": x[0], "b": x[1], "c": x[2]}
