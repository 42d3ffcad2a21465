"""How often the set misses the decisive step, in every family."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any

from butfor.attribution.judged import JUDGE_SHARE
from butfor.benchmarks.planted import families as f
from butfor.benchmarks.planted.trial import ALPHA, at_most, judge_on_the_factual_run, row, searches

if TYPE_CHECKING:
    from butfor.benchmarks.harness import Check
    from butfor.benchmarks.planted.part import Part
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
    found = [Cell(world=world) for n in sizes for world in families_of(n)]
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


def families_of(n: int) -> list[World]:
    """List all families at one size."""
    early, late = n // 3, max(2 * n // 3, n // 3 + 1)
    worlds = [
        f.pivotal(n, at=early),
        replace(f.pivotal(n, at=late, match=0.9), name="pivotal, actions match"),
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


def errors(ask: Part) -> tuple[list[dict[str, Any]], list[Check]]:
    """Count misses of both modes; limited help with η = 0, and with the η that is true where 0 is not.

    The budget is a quarter of a default profile: what matters here is that no stop at any time makes the set wrong.
    """
    rows: list[dict[str, Any]] = []
    checks: list[Check] = []
    for cell in cells(quick=ask.quick):
        for name, max_help in _modes(cell):
            violated = max_help is not None and max_help < cell.helped
            line = ask.kept(
                f"errors, {cell.world.name}, n = {cell.world.steps}, {name}", partial(_line, cell, name, max_help)
            )
            label = cell.world.name + (" (η violated)" if violated else "")
            rows.append({**line["row"], "family": label})
            if not violated:
                checks.append(_check(cell, name, line["errors"], ask.repetitions))
    return rows, checks


def _modes(cell: Cell) -> list[tuple[str, float | None]]:
    modes: list[tuple[str, float | None]] = [("search", None), ("search, η = 0", 0.0)]
    return [*modes, (f"search, η = {cell.helped:.2f}", cell.helped)] if cell.helped else modes


def _line(cell: Cell, name: str, max_help: float | None, seeds: range) -> dict[str, Any]:
    """Search with every seed; the row of the table, and how often each kind of error happened."""
    world = cell.world
    factual = [judge_on_the_factual_run(world, seed) if cell.judge else 1.0 for seed in seeds]
    calls = 8 * world.steps * (world.steps + 1)
    outcomes = searches(world, seeds, max_help=max_help, calls=calls, factual=factual)
    return {
        "row": row(world.name, world.steps, name, outcomes),
        "errors": {
            "the set lacks the decisive step": sum(o.missed for o in outcomes),
            "a wrong step is named": sum(o.right is False for o in outcomes),
            "the set lacks the commit point": sum(o.commit_missed for o in outcomes),
        },
    }


def _check(cell: Cell, name: str, counts: dict[str, int], repetitions: int) -> Check:
    """Hold the most frequent of the three errors against α: each has its own level."""
    worst = max(counts, key=lambda error: counts[error])
    level = ALPHA * (1.0 + JUDGE_SHARE if cell.judge else 1.0)
    place = f"{cell.world.name}, n = {cell.world.steps}, {name}"
    return at_most(f"errors ≤ α, most often {worst}: {place}", counts[worst], repetitions, level)
