"""How often the set misses the decisive step, in every family."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

from butfor.attribution.judged import JUDGE_SHARE
from butfor.benchmarks.planted import families as f
from butfor.benchmarks.planted.trial import ALPHA, at_most, judge_on_the_factual_run, repeat, row, search

if TYPE_CHECKING:
    from butfor.benchmarks.harness import Check
    from butfor.benchmarks.planted.trial import Outcome
    from butfor.benchmarks.planted.world import World


@dataclass(frozen=True, kw_only=True)
class Cell:
    """A planted run, and whether its outcome is a judge's."""

    world: World
    judge: bool = False

    @property
    def helped(self) -> float:
        """The largest help any step gave: limited help holds from this η on."""
        return max(0.0, -float(self.world.blame.min()))


def cells(*, quick: bool) -> list[Cell]:
    """List the planted runs: every family, n from 3 to 200."""
    sizes = (10,) if quick else (3, 10, 20, 50)
    found = [Cell(world=world) for n in sizes for world in _of_size(n)]
    found += [Cell(world=f.judged(f.pivotal(10, at=5), flips=0.1), judge=True)]
    found += [
        Cell(world=world)
        for world in (
            f.losing_calls(f.pivotal(10, at=5), missing=0.05),
            f.variable_length(f.pivotal(10, at=5)),
            f.parallel_calls(f.pivotal(10, at=5, match=0.9)),
            f.slow_failures(f.pivotal(10, at=5)),
        )
    ]
    if not quick:
        found += [Cell(world=f.pivotal(n, at=n // 3)) for n in (100, 200)]
        found += [Cell(world=f.late_rescue(n, at=n // 3, rescue=0.005)) for n in (100, 200)]
    return found


def _of_size(n: int) -> list[World]:
    early, late = n // 3, max(2 * n // 3, n // 3 + 1)
    worlds = [
        f.pivotal(n, at=early),
        f.pivotal(n, at=late, match=0.9),
        f.both(n, first=early, second=late),
        f.either(n, first=early, second=late),
        f.soft(n, at=early, rescue=0.05),
        f.late_rescue(n, at=early),
        f.undone(n, helped=early, at=late),
        f.tied(n, first=early, second=late),
        f.gradual(n),
        f.doomed(n),
    ]
    return [*worlds, f.hidden_help(n, at=early)] if n >= 8 else worlds


def errors(seed: int, repetitions: int, quick: bool) -> tuple[list[dict[str, Any]], list[Check]]:
    """Count misses of both modes; limited help with η = 0, and with the η that is true where 0 is not.

    The budget is a quarter of a default profile: what matters here is that no stop at any time makes the set wrong.
    """
    rows: list[dict[str, Any]] = []
    checks: list[Check] = []
    for cell in cells(quick=quick):
        modes: list[tuple[str, float | None]] = [("search", None), ("search, η = 0", 0.0)]
        if cell.helped:
            modes.append((f"search, η = {cell.helped:.2f}", cell.helped))
        for name, max_help in modes:
            outcomes = repeat(partial(_once, cell, max_help), range(seed, seed + repetitions))
            violated = max_help is not None and max_help < cell.helped
            label = cell.world.name + (" (η violated)" if violated else "")
            rows.append(row(label, cell.world.steps, name, outcomes))
            if not violated:
                checks += _checks(cell, name, outcomes)
    return rows, checks


def _once(cell: Cell, max_help: float | None, seed: int) -> Outcome:
    world = cell.world
    factual = judge_on_the_factual_run(world, seed) if cell.judge else 1.0
    return search(world, seed, max_help=max_help, calls=8 * world.steps * (world.steps + 1), factual=factual)


def _checks(cell: Cell, name: str, outcomes: list[Outcome]) -> list[Check]:
    """Hold the most frequent of the three errors against α: each has its own level."""
    counts = {
        "the set lacks the decisive step": sum(o.missed for o in outcomes),
        "a wrong step is named": sum(o.right is False for o in outcomes),
        "the set lacks the commit point": sum(o.commit_missed for o in outcomes),
    }
    worst = max(counts, key=lambda error: counts[error])
    level = ALPHA * (1.0 + JUDGE_SHARE if cell.judge else 1.0)
    place = f"{cell.world.name}, n = {cell.world.steps}, {name}"
    return [at_most(f"errors ≤ α, most often {worst}: {place}", counts[worst], len(outcomes), level)]
