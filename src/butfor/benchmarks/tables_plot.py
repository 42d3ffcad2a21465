"""Answers on real tables beside what is known, as SVG text: one line a table, each on its own scale."""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING
from xml.sax.saxutils import escape

if TYPE_CHECKING:
    from collections.abc import Sequence

WIDTH, LINE, LEFT, EDGE = 760, 44, 330, 30
OURS, KNOWN = "#0b6e99", "#b3541e"


@dataclasses.dataclass(frozen=True, kw_only=True)
class Mark:
    """One line of the plot.

    Attributes:
        label: Table and question.
        known: What is known of the truth: one value, or the ends of a published interval.
        lower: The lower bound; None where the answer was refused.
        point: The estimate.
        refusal: The reason code of a refusal.
    """

    label: str
    known: tuple[float, ...] = ()
    lower: float | None = None
    point: float | None = None
    refusal: str | None = None


def tables_plot(marks: Sequence[Mark]) -> str:
    """Draw each answer: a bar from the lower bound to the right, the estimate, and what is known."""
    height = LINE * len(marks) + 70
    body = "".join(_line(mark, 60 + LINE * i) for i, mark in enumerate(marks))
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" font-family="sans-serif" '
        f'font-size="12"><rect width="100%" height="100%" fill="white"/>'
        f'<text x="10" y="20" fill="{OURS}">| lower bound   ● estimate</text>'
        f'<text x="200" y="20" fill="{KNOWN}">▲ known (experiment, planted or published)</text>{body}</svg>\n'
    )


def _line(mark: Mark, y: float) -> str:
    label = f'<text x="10" y="{y + 4}">{escape(mark.label)}</text>'
    if mark.lower is None or mark.point is None:
        return f'{label}<text x="{LEFT}" y="{y + 4}" fill="#555">refused: {escape(mark.refusal or "")}</text>'
    values = (mark.lower, mark.point, *mark.known, 0.0)
    low, high = min(values), max(values)
    span = (high - low) or 1.0

    def x(value: float) -> float:
        return LEFT + (value - low) / span * (WIDTH - LEFT - 3 * EDGE)

    known = "".join(f'<text x="{x(value) - 5:.1f}" y="{y + 18}" fill="{KNOWN}">▲</text>' for value in mark.known)
    return (
        f'{label}<line x1="{x(mark.lower):.1f}" x2="{WIDTH - EDGE}" y1="{y}" y2="{y}" stroke="{OURS}" stroke-width="2" '
        f'stroke-opacity=".35"/><line x1="{x(mark.lower):.1f}" x2="{x(mark.lower):.1f}" y1="{y - 7}" y2="{y + 7}" '
        f'stroke="{OURS}" stroke-width="2"/><circle cx="{x(mark.point):.1f}" cy="{y}" r="4" fill="{OURS}"/>'
        f'<text x="{x(mark.lower) - 4:.1f}" y="{y - 9}" fill="{OURS}">{mark.lower:.4g}</text>{known}'
    )
