"""Where the published commit-point rule collapses, at the same price."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from butfor.benchmarks.planted.families import judged, late_rescue, pivotal
from butfor.benchmarks.planted.published import PublishedContrastive
from butfor.benchmarks.planted.simulate import simulate
from butfor.benchmarks.planted.trial import TIE, at_least, judge_on_the_factual_run, row, searches

if TYPE_CHECKING:
    from butfor.benchmarks.harness import Check
    from butfor.benchmarks.planted.part import Part
    from butfor.benchmarks.planted.trial import Outcome
    from butfor.benchmarks.planted.world import World


FREE, LIMITED = "search", "search, η = 0"


@dataclass(frozen=True, kw_only=True)
class Case:
    """A planted run at one price.

    Attributes:
        world: The run.
        draws: K of the published rule.
        judge: Whether a judge is behind the outcome.
        named_by: The modes of search that must name the right step in 80% at this price.
    """

    world: World
    draws: int
    judge: bool = False
    named_by: tuple[str, ...] = (FREE, LIMITED)

    @property
    def calls(self) -> int:
        """Policy calls that the published rule makes."""
        return self.draws * self.world.steps * (self.world.steps + 1) // 2


def cases() -> list[Case]:
    """List where the published rule works, and where it does not."""
    late = late_rescue(10, at=5, rescue=0.02)
    noisy = judged(pivotal(10, at=5), flips=0.1)
    return [
        Case(world=late, draws=16, named_by=()),
        Case(world=late, draws=80),
        # Without an assumption a judge's noise leaves more open at this price, and not at one and a half times as much.
        Case(world=noisy, draws=32, judge=True, named_by=(LIMITED,)),
        Case(world=noisy, draws=48, judge=True),
    ]


def collapse(ask: Part) -> tuple[list[dict[str, Any]], list[Check]]:
    """Run the published rule with K rollouts a step, and search for as many policy calls."""
    rows: list[dict[str, Any]] = []
    checks: list[Check] = []
    for case in cases():
        rows.append(_published(case, ask.seeds))
        for name, max_help in ((FREE, None), (LIMITED, 0.0)):
            outcomes = _searched(case, max_help, ask.seeds)
            rows.append(row(case.world.name, case.world.steps, f"{name}, price of K = {case.draws}", outcomes))
            place = f"{case.world.name}, n = {case.world.steps}, price of K = {case.draws}, {name}"
            good = sum(o.right is not False for o in outcomes)
            checks.append(at_least(f"right or withheld ≥ .95: {place}", good, len(outcomes), 0.95))
            if name in case.named_by:
                right = sum(o.right is True for o in outcomes)
                checks.append(at_least(f"right ≥ .80: {place}", right, len(outcomes), 0.80))
    return rows, checks


def _searched(case: Case, max_help: float | None, seeds: range) -> list[Outcome]:
    factual = [judge_on_the_factual_run(case.world, seed) if case.judge else 1.0 for seed in seeds]
    return searches(case.world, seeds, max_help=max_help, calls=case.calls, factual=factual)


def _published(case: Case, seeds: range) -> dict[str, Any]:
    world = case.world
    answers = [simulate(PublishedContrastive(steps=world.steps, draws=case.draws), world, s)[0].locus for s in seeds]
    right = world.right(TIE)
    return {
        "family": world.name,
        "n": world.steps,
        "method": f"published, K = {case.draws}",
        "right": float(np.mean([locus in right for locus in answers])),
        "wrong": float(np.mean([locus is not None and locus not in right for locus in answers])),
        "withheld": float(np.mean([locus is None for locus in answers])),
        "rollouts": float(case.draws * world.steps),
        "calls": float(case.calls),
    }
