"""Looking every 50 rows at a trial without an effect: how often some look says there is one."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.stats import binom

from butfor.benchmarks.harness import Check
from butfor.confidence import betting_gains, plug_in_bets
from butfor.estimation import Columns, Contrast
from butfor.estimation.aipw import Arms
from butfor.estimation.anytime import scored
from butfor.estimation.quantiles import normal_quantile

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from butfor.benchmarks.harness import Settings

ALPHA = 0.05
EVERY = 50
UNITS = 3000
SHARES = (0.05, 0.1, 0.5)
RATES = (0.01, 0.05, 0.5)
REPETITIONS = 2000
QUICK_REPETITIONS = 60
SURE = 1.0 - 1e-6


def peeking(settings: Settings) -> tuple[list[dict[str, Any]], list[Check]]:
    """Return rows and checks for every allocation, rate and mirror.

    Ours errs where its capital against "no effect" ever reaches 1/α: only then can some lower bound be above 0. Beside
    it stand a fixed-n normal bound and the asymptotic sequence, looked at every 50 rows.
    """
    count = QUICK_REPETITIONS if settings.quick else REPETITIONS
    rows: list[dict[str, Any]] = []
    checks: list[Check] = []
    for share in SHARES:
        for rate in RATES:
            for mirror in ("as drawn", "−Y"):
                errors = np.mean(
                    [_errs(share, rate, mirror == "−Y", settings.seed, number) for number in range(count)], axis=0
                )
                where = f"{share:.0%} treated, rate {rate:g}, {mirror}"
                rows.append(
                    {
                        "world": f"peeking every {EVERY} of {UNITS}: {where}",
                        "repetitions": count,
                        "method": "butfor, betting",
                        "missed of all": float(errors[0]),
                        "why": f"fixed-n bound {errors[1]:.3f}, asymptotic sequence {errors[2]:.3f}",
                    }
                )
                allowed = float(binom.ppf(SURE, count, ALPHA)) / count
                name = f"peeking, {where}: some look errs ≤ {ALPHA:g}"
                checks.append(Check(name=name, value=float(errors[0]), bound=allowed, ok=bool(errors[0] <= allowed)))
    return rows, checks


def _errs(share: float, rate: float, flip: bool, seed: int, number: int) -> tuple[bool, bool, bool]:
    rng = np.random.default_rng([seed, round(share * 100), round(rate * 100), number])
    t = (rng.random(UNITS) < share).astype(float)
    # On the unit scale the mirror image of an event is no event.
    event = rng.random(UNITS) < rate
    y = (~event if flip else event).astype(float)
    table = {"t": t, "y": y, "p": np.where(t == 1, share, 1.0 - share)}
    columns = Columns.of(table, treatment="t", outcome="y", probability="p")
    arms = Arms.of(columns, Contrast())
    scores = scored(columns, arms, np.arange(UNITS), y, ())
    gains = betting_gains(scores.score, plug_in_bets(scores.score, alpha=ALPHA), 0.0, least=scores.least)
    ours = bool(np.cumsum(gains).max() >= math.log(1.0 / ALPHA))
    return ours, *_looked_at(scores.score)


def _looked_at(score: NDArray[np.float64]) -> tuple[bool, bool]:
    """Tell whether a fixed-n bound, and an asymptotic sequence, is above 0 at some look."""
    n = np.arange(EVERY, score.size + 1, EVERY)
    total, square = np.cumsum(score)[n - 1], np.cumsum(score**2)[n - 1]
    mean = total / n
    deviation = np.sqrt(np.maximum(square / n - mean**2, 0.0))
    fixed = mean - normal_quantile(1.0 - ALPHA) * deviation / np.sqrt(n)
    rho2 = (-2 * math.log(2 * ALPHA) + math.log(1 - 2 * math.log(2 * ALPHA))) / (UNITS / 2)
    reach = np.sqrt(2 * (n * rho2 + 1) / (n**2 * rho2) * np.log(1 + np.sqrt(n * rho2 + 1) / (2 * ALPHA)))
    return bool((fixed > 0).any()), bool((mean - deviation * reach > 0).any())
