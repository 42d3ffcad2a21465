"""`butfor bench luck`: how often is a run "repaired" by proposals that change nothing?

Nothing is edited, so every accepted repair is a false one. The published rule (CausalFlow, arXiv 2605.25338) accepts
where any of K proposals flips the verifier in its one rollout. Ours is executed as it stands in `repairs.validation`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.stats import binom

from butfor import noise
from butfor.benchmarks.harness import Check, Report, Settings
from butfor.confidence import Estimate, clopper_pearson
from butfor.repairs import Hypothesis, RepairTest, Standard, outcomes_of

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from butfor.canonical import Json

RATES = (0.05, 0.1, 0.2, 0.3, 0.5, 0.7, 0.9, 0.95)
PROPOSALS = (1, 3, 9)
ALPHA = 0.05
# The next repetition of a correct method exceeds its bound once in a million.
ONCE_IN = 1e-6
LIFTS = ((0.2, 0.7, 0.25), (0.4, 0.9, 0.5), (0.5, 1.0, 0.5))
"""(P(success) when decided again, P(success | repair), target) of a true fix with a lift of one half."""
STATED = 96
"""Rollouts within which a true fix with a lift of one half is to be accepted, both arms together."""


@dataclass(frozen=True, kw_only=True)
class Coin:
    """An executor whose every rollout was tossed beforehand.

    Attributes:
        table: y of each arm (row 0 the null arm, row a candidate a) and draw.
    """

    table: list[list[float]]

    def run(self, step: int, action: Json, draw: int) -> float | None:
        """Return what was tossed."""
        del step
        return self.table[0 if action is None else int(action)][draw]

    def deterministic_tail(self, step: int, action: Json) -> bool:
        """Nothing is proven."""
        del step, action
        return False


def run(settings: Settings) -> Report:
    """Count false acceptances at every base success rate and number of proposals, and true ones for a real lift."""
    failures = 80 if settings.quick else 2000
    allowed = float(binom.ppf(1 - ONCE_IN, failures, ALPHA)) / failures
    rows, checks = [], []
    for rate in RATES:
        for proposals in PROPOSALS:
            row, worst = _luck(rate, proposals, failures, settings.seed)
            rows.append(row)
            checks.append(
                Check(
                    name=f"false repairs at p = {rate:g} with {proposals} proposals ≤ α = {ALPHA:g}",
                    value=worst,
                    bound=allowed,
                    ok=worst <= allowed,
                )
            )
    for null, success, target in LIFTS:
        row, share = _power(null, success, target, failures, settings.seed)
        rows.append(row)
        least = float(binom.ppf(ONCE_IN, failures, 0.95)) / failures
        checks.append(
            Check(
                name=f"a true fix {null:g} → {success:g} is accepted within {STATED} rollouts in ≥ 95%",
                value=share,
                bound=least,
                ok=share >= least,
            )
        )
    return Report(
        name="luck",
        settings={"failures": failures, "alpha": ALPHA, "seed": settings.seed, "draws of an arm": Standard().most},
        rows=rows,
        checks=checks,
        notes=[
            "published: any of K proposals flips the verifier in one rollout; 1 − (1 − p)^K where nothing is changed",
            (
                "ours: both bounds of repairs.validation; 'lift alone' sets the target to 0, so only luck is at stake,"
                " and tests the proposals that did best in four earlier rollouts first"
            ),
            f"a bound is the binomial quantile at 1 − {ONCE_IN:g}: a correct method exceeds it once in a million",
        ],
    )


def _luck(rate: float, proposals: int, failures: int, seed: int) -> tuple[dict[str, Any], float]:
    rng = noise.numpy_generator("luck", seed, str(rate), proposals)
    published = float(np.mean((rng.random((failures, proposals)) < rate).any(axis=1)))
    accepted = {"default": 0, "lift alone": 0}
    for _ in range(failures):
        table = _tossed(rng, np.full((proposals + 1, 1), rate))
        # What selects is drawn apart from what validates.
        scores = rng.binomial(4, rate, size=proposals)
        given = list(range(1, proposals + 1))
        chosen = sorted(given, key=lambda a: -int(scores[a - 1]))
        accepted["default"] += _accepts(table, given, Standard(alpha=ALPHA))
        accepted["lift alone"] += _accepts(table, chosen, Standard(alpha=ALPHA, target=0.0))
    row = {
        "truth": "no edit changes anything",
        "P(success)": f"{rate:g}",
        "proposals": proposals,
        "published rule": f"{published:.3f} (theory {1 - (1 - rate) ** proposals:.3f})",
        **{f"ours, {name}": _share(count, failures) for name, count in accepted.items()},
    }
    return row, max(accepted.values()) / failures


def _power(null: float, success: float, target: float, failures: int, seed: int) -> tuple[dict[str, Any], float]:
    rng = noise.numpy_generator("lift", seed, str(null), str(success))
    standard, rollouts = Standard(alpha=ALPHA, target=target), []
    for _ in range(failures):
        rates = np.array([[null], [success]])
        accepted, spent = _tested(RepairTest(standard=standard).open(0, 1), Coin(table=_tossed(rng, rates)))
        rollouts.append(spent if accepted else np.inf)
    within = float(np.mean(np.array(rollouts) <= STATED))
    row = {
        "truth": f"a true fix, target {target:g}",
        "P(success)": f"{null:g} → {success:g}",
        "proposals": 1,
        "published rule": f"{success:.3f}",
        "ours, default": _share(round(within * failures), failures),
        "ours, lift alone": f"median {np.median(rollouts):.0f} rollouts",
    }
    return row, within


def _tossed(rng: np.random.Generator, rates: NDArray[np.float64]) -> list[list[float]]:
    """Toss every draw of every arm; y = 1 is a failure."""
    tossed: list[list[float]] = (rng.random((len(rates), Standard().most)) >= rates).astype(np.float64).tolist()
    return tossed


def _accepts(table: list[list[float]], order: list[int], standard: Standard) -> bool:
    """Test candidates in an order until one is accepted, as a repair does."""
    test, executor = RepairTest(standard=standard), Coin(table=table)
    return any(_tested(test.open(0, candidate, null_from=0), executor)[0] for candidate in order)


def _tested(hypothesis: Hypothesis, executor: Coin) -> tuple[bool, int]:
    """Run a test to its end; returns whether it accepts and its rollouts. Verdicts cost more than they do."""
    rollouts = 0
    while batch := hypothesis.propose():
        rollouts += len(batch)
        hypothesis.enter(outcomes_of(executor, batch))
    return hypothesis.decision == "accepted", rollouts


def _share(count: int, failures: int) -> str:
    bounds = clopper_pearson(count, failures)
    assert isinstance(bounds, Estimate)  # there are failures
    return f"{bounds.point:.4f} [{bounds.lower:.4f}, {bounds.upper:.4f}]"
