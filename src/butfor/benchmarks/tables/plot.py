"""Answers beside what is known, as SVG text: one line an answer, all on one scale."""

from __future__ import annotations

import dataclasses
import math
from typing import TYPE_CHECKING
from xml.sax.saxutils import escape

if TYPE_CHECKING:
    from collections.abc import Sequence

WIDTH, LINE, LEFT, RIGHT, TOP = 760, 30, 270, 40, 44
OURS, KNOWN, PLAIN = "#0b6e99", "#b3541e", "#555"
_TICKS = 6


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


@dataclasses.dataclass(frozen=True, kw_only=True)
class _Scale:
    low: float
    high: float

    def x(self, value: float) -> float:
        return LEFT + (value - self.low) / (self.high - self.low) * (WIDTH - LEFT - RIGHT)


def tables_plot(marks: Sequence[Mark], unit: str) -> str:
    """Draw each answer: a bar from the lower bound to the right, the estimate, and what is known.

    Args:
        marks: The answers, in order.
        unit: What the axis measures.
    """
    ticks = _ticks([0.0, *(value for mark in marks for value in _values(mark))])
    scale = _Scale(low=ticks[0], high=ticks[-1])
    bottom = TOP + LINE * len(marks)
    lines = "".join(_line(mark, TOP + LINE * i + 14, scale) for i, mark in enumerate(marks))
    axis = "".join(_tick(tick, bottom, scale) for tick in ticks)
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {bottom + 48}" font-family="sans-serif" '
        f'font-size="12"><rect width="100%" height="100%" fill="white"/>'
        f'<text x="10" y="20" fill="{OURS}">┃ lower bound (95%)   ● estimate</text>'
        f'<text x="{LEFT}" y="20" fill="{KNOWN}">▲ known: experiment, planted, or a published interval</text>'
        f'{axis}{lines}<text x="{WIDTH - RIGHT}" y="{bottom + 38}" text-anchor="end" fill="{PLAIN}">'
        f"{escape(unit)}</text></svg>\n"
    )


def _values(mark: Mark) -> tuple[float, ...]:
    return (*mark.known, *(value for value in (mark.lower, mark.point) if value is not None))


def _ticks(values: Sequence[float]) -> list[float]:
    """Return round numbers that span the values: steps of 1, 2 or 5 times a power of ten."""
    low, high = min(values), max(values)
    rough = (high - low or 1.0) / _TICKS
    power = 10.0 ** math.floor(math.log10(rough))
    step = next(power * times for times in (1, 2, 5, 10) if power * times >= rough)
    first, last = math.floor(low / step), math.ceil(high / step)
    return [round(i * step, 12) for i in range(first, last + 1)]


def _tick(value: float, bottom: float, scale: _Scale) -> str:
    x = f"{scale.x(value):.1f}"
    return (
        f'<line x1="{x}" x2="{x}" y1="{TOP - 8}" y2="{bottom}" stroke="#ddd"/>'
        f'<text x="{x}" y="{bottom + 18}" text-anchor="middle" fill="{PLAIN}">{value:g}</text>'
    )


def _line(mark: Mark, y: float, scale: _Scale) -> str:
    label = f'<text x="10" y="{y + 4}">{escape(mark.label)}</text>'
    known = "".join(
        f'<text x="{scale.x(value):.1f}" y="{y + 16}" text-anchor="middle" fill="{KNOWN}">▲</text>'
        for value in mark.known
    )
    if mark.lower is None or mark.point is None:
        why = f"refused: {escape(mark.refusal or '')}"
        return f'{label}{known}<text x="{LEFT + 6}" y="{y + 4}" fill="{PLAIN}">{why}</text>'
    lower, end = scale.x(mark.lower), WIDTH - RIGHT
    return (
        f'{label}<line x1="{lower:.1f}" x2="{end}" y1="{y}" y2="{y}" stroke="{OURS}" stroke-width="2" '
        f'stroke-opacity=".3"/><line x1="{lower:.1f}" x2="{lower:.1f}" y1="{y - 7}" y2="{y + 7}" '
        f'stroke="{OURS}" stroke-width="2"/><circle cx="{scale.x(mark.point):.1f}" cy="{y}" r="4" fill="{OURS}"/>'
        f'<text x="{lower - 5:.1f}" y="{y + 4}" text-anchor="end" fill="{OURS}">{mark.lower:.4g}</text>{known}'
    )
