"""`butfor bench redteam`: what a wrong graph does to the paper's gate and to ours."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from butfor.benchmarks.harness import Check, Report, Settings
from butfor.benchmarks.redteam.attacks import DECLARED, attacks
from butfor.benchmarks.redteam.strength import PUBLISHED_SHARE, sweep
from butfor.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Callable

Part = tuple[list[dict[str, Any]], list[Check]]

# As published: 1,050 actions an attack.
ACTIONS, QUICK_ACTIONS = 1_050, 40
TABLES, QUICK_TABLES = 2_000, 30
NOTES = [
    "published (arXiv 2609.40027): which corruptions, and the column `published`",
    "derived from published aggregates: the world of the omitted edge; ours: the equations of the other worlds",
    "hidden cause of p%: it explains p% of the treatment, and of the outcome once the treatment is known",
    f"the published attack does as much as a hidden cause of {PUBLISHED_SHARE:.0%} of both",
    "near effects: τ ≤ 0, half of them 0, the rest within one standard error; others: as the surrogate has them",
    "direct part against: data cannot tell the arrow's direction; a gate that must survive its reversal does nothing",
    "their defence, 500 randomised rows for every certified EXECUTE, is attestation, and is not run here",
]


def run(settings: Settings) -> Report:
    """Run the attacks and the sweep.

    Options: ``part=attacks|strength`` (default both), ``n=N`` (actions an attack, tables a cell of the sweep).

    Raises:
        InputError: An unknown part, or a number that is none.
    """
    name = settings.options.get("part", "all")
    parts: dict[str, Callable[[int, int], Part]] = {"attacks": attacks, "strength": sweep}
    if name != "all" and name not in parts:
        raise InputError(f"there is no part {name!r} of redteam", fix="choose attacks, strength, or all")
    sizes = {which: _size(settings, which) for which in parts if name in ("all", which)}
    done = [parts[which](n, settings.seed) for which, n in sizes.items()]
    rows = [row for found, _ in done for row in found]
    columns = list(dict.fromkeys(column for row in rows for column in row))
    return Report(
        name="redteam",
        settings={"seed": settings.seed, "quick": settings.quick, "n": sizes, "declared": DECLARED},
        rows=[{column: row.get(column, "") for column in columns} for row in rows],
        checks=[check for _, held in done for check in held],
        notes=NOTES,
    )


def _size(settings: Settings, part: str) -> int:
    quick, full = (QUICK_ACTIONS, ACTIONS) if part == "attacks" else (QUICK_TABLES, TABLES)
    return settings.count("n", quick if settings.quick else full)
