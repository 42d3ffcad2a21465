"""A proposer that looks before it asks: of ten strata without effect it asks first for the one with the highest bound.

It has the evidence, as an agent with a query tool has. Without a budget the best of ten passes about 40% of the time.
Levels that follow the order of asking protect only where that order does not follow the data: who looks first spends
the largest level on the highest bound. Levels that are fixed for each stratum beforehand protect in any order.
"""

from __future__ import annotations

import dataclasses
import functools
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

from scipy.stats import binom

from butfor.benchmarks.harness import Check
from butfor.benchmarks.toolbench.calibration import METHODS, NOT_LINEAR, SURE
from butfor.benchmarks.toolbench.cases import Case
from butfor.benchmarks.toolbench.families import FAMILIES
from butfor.benchmarks.toolbench.gate_methods import ALPHA, answer_of
from butfor.benchmarks.toolbench.instances import Instance
from butfor.benchmarks.toolbench.published_rule import from_log
from butfor.benchmarks.toolbench.regression import effect_of, lower
from butfor.benchmarks.toolbench.scores import share
from butfor.gate.budget.epochs import Family
from butfor.gate.budget.reservation import BudgetRules, Spend, reserve
from butfor.gate.ledger.chain import Ledger
from butfor.noise import numpy_generator

if TYPE_CHECKING:
    from collections.abc import Mapping

    from butfor.benchmarks.harness import Settings
    from butfor.benchmarks.toolbench.families import Family as Workflow

Spending: TypeAlias = Literal["no budget", "declared strata, α/10 each", "by order of asking, 6α/(π²j²)"]

STRATA = 10
REPETITIONS, QUICK = 1_000, 16
SPENDING: tuple[Spending, ...] = ("no budget", "declared strata, α/10 each", "by order of asking, 6α/(π²j²)")


def selection(settings: Settings) -> tuple[list[dict[str, Any]], list[Check]]:
    """Let the proposer ask for all ten strata, the best first and in a fixed order, under each way to spend α."""
    repetitions = settings.count("proposers", QUICK if settings.quick else REPETITIONS)
    rows, checks = [], []
    for method in METHODS:
        for family in FAMILIES:
            if not family.identified or (family.name, method) == (NOT_LINEAR, "paper settings"):
                continue
            counts = _counted(family, method, repetitions, settings.seed)
            for (order, spending), count in counts.items():
                on = f"ten strata of {family.name}, {order}"
                found = share(count, repetitions)
                rows.append({"on": on, "method": method, "budget": spending, "n": repetitions, "any EXECUTE": found})
            checks += _checks(family, method, counts, repetitions)
    return rows, checks


@functools.cache
def levels(spending: Spending) -> tuple[float, ...]:
    """Return what the gate's own error budget grants ten hypotheses of one agent, in the order in which it asks."""
    if spending == "no budget":
        return (ALPHA,) * STRATA
    names = tuple(f"stratum {number}" for number in range(STRATA))
    rules = BudgetRules(alpha=ALPHA, hypotheses=names if spending == SPENDING[1] else None)
    family = Family(tool="tool", outcome="outcome", lineage="log")
    with tempfile.TemporaryDirectory() as folder, Ledger.open(Path(folder) / "ledger.db") as ledger:
        granted = [
            reserve(
                ledger, family=family, hypothesis=name, agent="proposer", evidence="log", entry="entry", rules=rules
            )
            for name in names
        ]
    return tuple(each.alpha if isinstance(each, Spend) else 0.0 for each in granted)


def _counted(family: Workflow, method: str, repetitions: int, root: int) -> Mapping[tuple[str, Spending], int]:
    counts: dict[tuple[str, Spending], int] = {}
    for repetition in range(repetitions):
        strata = [_Stratum(Case(_null(family, root, repetition, number)), method) for number in range(STRATA)]
        best_first = sorted(strata, key=lambda stratum: -stratum.bound)
        for order, asked in (("the highest bound first", best_first), ("in a fixed order", strata)):
            for spending in SPENDING:
                passed = any(each.passes(level) for each, level in zip(asked, levels(spending), strict=True))
                counts[order, spending] = counts.get((order, spending), 0) + passed
    return counts


class _Stratum:
    """A stratum, what the proposer reads off it, and what the gate says."""

    def __init__(self, case: Case, method: str) -> None:
        self._case, self._method = case, method
        self.bound = _as_proposer(case)

    @functools.cached_property
    def _at_alpha(self) -> bool:
        return self._executes(ALPHA)

    def passes(self, alpha: float) -> bool:
        """Say whether the gate executes at a level of at most α; bounds are lower there, so most are known."""
        return self._at_alpha and (alpha >= ALPHA or self._executes(alpha))

    def _executes(self, alpha: float) -> bool:
        gate = dataclasses.replace(METHODS[self._method], alpha=alpha)
        return gate.decided(self._case, self._case.log_columns, answer_of(self._case)).verdict == "EXECUTE"


def _as_proposer(case: Case) -> float:
    """Compute a bound as a proposer would, from the log that it can read."""
    estimate = from_log(case)
    return lower(_wald(case) if estimate is None else estimate, ALPHA)


def _wald(case: Case) -> tuple[float, float]:
    """Divide the instrument's slope on the outcome, and its error, by that on the treatment."""
    family, log = case.instance.family, case.log
    first, _ = effect_of(log, "rota", family.treatment)
    second, error = effect_of(log, "rota", family.outcome)
    return second / first, error / abs(first)


def _checks(family: Workflow, method: str, counts: Mapping[tuple[str, Spending], int], repetitions: int) -> list[Check]:
    """Hold to α what protects: weights that are fixed before the data, or an order that is."""
    protected: list[tuple[str, Spending]] = [
        ("the highest bound first", SPENDING[1]),
        ("in a fixed order", SPENDING[1]),
        ("in a fixed order", SPENDING[2]),
    ]
    most = int(binom.ppf(SURE, repetitions, ALPHA))
    return [
        Check(
            name=f"ten null strata of {family.name}, {method}, {order}, {spending}: any EXECUTE consistent with ≤ α",
            value=float(counts[order, spending]),
            bound=float(most),
            ok=counts[order, spending] <= most,
        )
        for order, spending in protected
    ]


def _null(family: Workflow, root: int, repetition: int, stratum: int) -> Instance:
    noise = numpy_generator("toolbench selection", root, family.name, repetition, stratum)
    return Instance(
        family=family,
        regime="adversarial",
        seed=repetition,
        number=stratum,
        root=int(noise.integers(2**31)),
        effect=0.0,
        near=True,
        push=float(noise.choice([-1.5, 1.5])),
        reversible=False,
        cost=0.1,
        arguments={},
    )
