"""`butfor bench planted`: right, wrong, withheld, set size, coverage and price on runs with planted truth."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

from butfor.benchmarks.harness import Check, Report, Settings
from butfor.benchmarks.planted.collapse import collapse
from butfor.benchmarks.planted.errors import errors
from butfor.benchmarks.planted.part import Part
from butfor.benchmarks.planted.plot import price_plot
from butfor.benchmarks.planted.price import price
from butfor.benchmarks.planted.shares import shares
from butfor.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Mapping

Compute: TypeAlias = Callable[[Part], tuple[list[dict[str, Any]], list[Check]]]

PARTS: dict[str, Compute] = {"errors": errors, "price": price, "collapse": collapse, "shapley": shares}
REPETITIONS, QUICK = 2000, 20


def run(settings: Settings) -> Report:
    """Run the parts that are asked for.

    Options: ``part=errors|price|collapse|shapley`` (default all), ``repetitions=N``, ``svg=FILE`` (plot of the price),
    ``keep=FILE`` (finished cells as JSON lines: the same command goes on where it was stopped).

    Raises:
        InputError: An unknown part, or a number of repetitions that is none.
    """
    names = _parts(settings.options)
    repetitions = _repetitions(settings)
    keep = Path(settings.options["keep"]) if "keep" in settings.options else None
    ask = Part(seed=settings.seed, repetitions=repetitions, quick=settings.quick, keep=keep)
    rows: list[dict[str, Any]] = []
    checks: list[Check] = []
    for name in names:
        part_rows, part_checks = PARTS[name](ask)
        rows += part_rows
        checks += part_checks
    if "svg" in settings.options:
        Path(settings.options["svg"]).write_text(price_plot(rows), encoding="utf-8")
    return Report(
        name="planted",
        settings={"seed": settings.seed, "quick": settings.quick, "repetitions": repetitions, "parts": names},
        rows=[{column: row.get(column, "") for column in COLUMNS} for row in rows],
        checks=checks,
        notes=NOTES,
    )


COLUMNS = ["family", "n", "method", "right", "wrong", "withheld", "missed", "size", "rollouts", "calls", "saving"]
NOTES = [
    "right: names a step whose blame is within δ_tie of the largest; missed: the set lacks every such step, α = 0.05",
    "calls: policy calls, the held prefix is free; saving: against the profile that is right as often",
    "ours: search, profile, pooled and stratified Shapley; published: CAR's rules (arXiv 2606.08275), rebuilt by us",
    "profile's own set uses the same evidence as search does, so the saving is that of drawing adaptively alone",
    "rows marked (η violated) show what limited help does where its assumption is false; they are not checked",
]


def _parts(options: Mapping[str, str]) -> list[str]:
    name = options.get("part", "all")
    if name != "all" and name not in PARTS:
        raise InputError(f"there is no part {name!r} of planted", fix=f"choose one of {', '.join(PARTS)}, or all")
    return list(PARTS) if name == "all" else [name]


def _repetitions(settings: Settings) -> int:
    return settings.count("repetitions", QUICK if settings.quick else REPETITIONS)
