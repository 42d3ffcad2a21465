"""The price of an answer against the number of steps, as SVG text."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any
from xml.sax.saxutils import escape

if TYPE_CHECKING:
    from collections.abc import Sequence

WIDTH, HEIGHT, EDGE = 640, 400, 60
COLOURS = ("#555555", "#0b6e99", "#b3541e")


def price_plot(rows: Sequence[dict[str, Any]]) -> str:
    """Draw policy calls over n for hard commitments, one line a method, both axes logarithmic.

    Args:
        rows: Rows of the benchmark; those with a saving are drawn.
    """
    priced = [row for row in rows if row.get("saving") and row["family"] == "pivotal"]
    lines: dict[str, list[tuple[float, float]]] = {}
    for row in priced:
        lines.setdefault(row["method"].split(", ", 1)[0] if "draws" in row["method"] else row["method"], []).append(
            (float(row["n"]), float(row["calls"]))
        )
    body = "".join(
        _line(name, sorted(points), COLOURS[i % 3], i, lines) for i, (name, points) in enumerate(lines.items())
    )
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" font-family="sans-serif" '
        f'font-size="12"><rect width="100%" height="100%" fill="white"/>'
        f'<text x="{EDGE}" y="24">Policy calls until the decisive step is named, by number of steps</text>'
        f"{body}</svg>\n"
    )


def _line(
    name: str,
    points: list[tuple[float, float]],
    colour: str,
    place: int,
    lines: dict[str, list[tuple[float, float]]],
) -> str:
    every = [point for line in lines.values() for point in line]
    placed = [(_place(n, [p[0] for p in every], EDGE, WIDTH - EDGE), _height(c, every)) for n, c in points]
    path = " ".join(f"{x:.1f},{y:.1f}" for x, y in placed)
    marks = "".join(
        f'<circle cx="{x:.1f}" cy="{y:.1f}" r="3" fill="{colour}"/>'
        f'<text x="{x + 5:.1f}" y="{y - 5:.1f}" fill="{colour}">{calls:,.0f}</text>'
        f'<text x="{x:.1f}" y="{HEIGHT - EDGE + 20}" text-anchor="middle">{n:.0f}</text>'
        for (x, y), (n, calls) in zip(placed, points, strict=True)
    )
    label = f'<text x="{EDGE}" y="{44 + 16 * place}" fill="{colour}">{escape(name)}</text>'
    return f'<polyline points="{path}" fill="none" stroke="{colour}" stroke-width="2"/>{marks}{label}'


def _height(calls: float, every: list[tuple[float, float]]) -> float:
    return _place(calls, [point[1] for point in every], HEIGHT - EDGE, EDGE + 40)


def _place(value: float, values: list[float], start: float, end: float) -> float:
    low, high = math.log(min(values)), math.log(max(values))
    share = 0.5 if high == low else (math.log(value) - low) / (high - low)
    return start + share * (end - start)
