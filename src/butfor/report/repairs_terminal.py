"""Repairs on the terminal: a diff, and both arms on one axis."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rich.text import Text

from butfor.report.visible import visible

if TYPE_CHECKING:
    from rich.console import Console

    from butfor.report.repairs import ArmView, Pieces, RepairsView, RepairView

AXIS = 21
"""Characters of the axis from 0 to 1."""


def print_repairs(view: RepairsView, console: Console) -> None:
    """Print what a repair answered; nothing of a trace reaches the terminal as markup or as a control sequence."""
    _say(console, view.sentence, style="bold")
    _say(console, view.located, style="dim")
    for note in view.notes:
        _say(console, f"! {note}")
    for repair in view.repairs:
        console.print()
        _repair(repair, console)
    shown = view.tried if not view.repairs else ()
    for source, what, verdict in shown:
        _say(console, f"  {what}")
        _say(console, f"    {verdict} (from {source})", style="dim")
    console.print()
    if view.funnel:
        _say(console, "Proposals: " + ", ".join(f"{name} {count}" for name, count in view.funnel) + ".")
    _say(console, f"Price: {view.price}.")


def _repair(repair: RepairView, console: Console) -> None:
    _say(console, repair.title, style="bold")
    console.print(_diff("- ", repair.before, "red"), highlight=False)
    console.print(_diff("+ ", repair.after, "green"), highlight=False)
    for arm in repair.arms:
        console.print(Text(f"{arm.name:<13} 0 {strip(arm)} 1  {arm.said}, {arm.draws}"), highlight=False)
    for line in repair.lines:
        _say(console, line)


def _diff(mark: str, pieces: Pieces, colour: str) -> Text:
    text = Text(mark, style=colour)
    for piece, differs in pieces:
        # Underlined too: a colour alone is lost in a pipe, and on many readers.
        text.append(visible(piece).replace("\n", f"\n{mark}"), style=f"{colour} underline" if differs else colour)
    return text


def strip(arm: ArmView) -> str:
    """Draw an arm's interval on an axis from 0 to 1."""
    cells = ["·"] * AXIS
    if arm.bar is not None:
        low, point, high = (round(each / 100 * (AXIS - 1)) for each in arm.bar)
        cells[low : high + 1] = ["─"] * (high + 1 - low)
        cells[low], cells[high] = "├", "┤"
        cells[point] = "●"
    return "".join(cells)


def _say(console: Console, text: str, style: str = "") -> None:
    console.print(Text(visible(text), style=style), highlight=False)
