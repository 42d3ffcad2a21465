"""A graph as an SVG picture that stands alone: no script, no style sheet, no font of its own.

Nodes stand in layers by their longest chain of causes, treatment-to-outcome from left to right; latent edges are dashed
arcs with two heads. The same graph always gives the same bytes.
"""

from __future__ import annotations

from html import escape
from typing import TYPE_CHECKING, NamedTuple

from butfor.graphs.parts import bits

if TYPE_CHECKING:
    from collections.abc import Iterable

    from butfor.graphs.admg import Graph

_COLUMN, _ROW, _MARGIN, _RADIUS = 170, 84, 70, 21
_FILL = {"state": "#ffffff", "treatment": "#d6e6ff", "outcome": "#ffe3c2", "adjusted": "#e4f3dc", "latent": "#f0f0f0"}
_STYLE = 'role="img" font-family="sans-serif" font-size="14"'
_HEAD = (
    '<defs><marker id="head" viewBox="0 0 10 10" refX="9" refY="5" markerWidth="7" markerHeight="7" '
    'orient="auto-start-reverse"><path d="M0 0L10 5L0 10z" fill="context-stroke"/></marker></defs>'
)


class _Spot(NamedTuple):
    x: float
    y: float


def svg(graph: Graph, *, marked: Iterable[tuple[str, str]] = (), title: str = "causal graph") -> str:
    """Draw a graph.

    Args:
        graph: The graph.
        marked: Latent edges to draw in red, such as those that block identification.
        title: What a screen reader says.

    Returns:
        An SVG document.
    """
    spots = _layout(graph)
    red = {tuple(sorted(pair)) for pair in marked}
    width = max((spot.x for spot in spots), default=0.0) + _MARGIN
    # Arcs rise by at most 15% of what they span, so the picture begins above its first row.
    top = -0.16 * width if graph.bidirected else 0.0
    height = max((spot.y for spot in spots), default=0.0) + 1.3 * _MARGIN - top
    lines = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 {top:.0f} {width:.0f} {height:.0f}" {_STYLE}>',
        f"<title>{escape(title)}</title>",
        _HEAD,
    ]
    for tail, head in graph.directed:
        lines.append(_arrow(spots, graph.number(tail), graph.number(head)))
    for one, other in graph.bidirected:
        colour = "#c22f2f" if (one, other) in red else "#7a5195"
        lines.append(_arc(spots[graph.number(one)], spots[graph.number(other)], colour))
    lines += [_node(graph, i, spot) for i, spot in enumerate(spots)]
    return "\n".join([*lines, "</svg>"]) + "\n"


def _layout(graph: Graph) -> list[_Spot]:
    """Put each node one column after its last cause; order a column by the mean row of its neighbours before it."""
    column: list[int] = []
    for i in range(len(graph.names)):
        column.append(1 + max((column[j] for j in bits(graph.edges.parents[i])), default=-1))
    layers: dict[int, list[int]] = {}
    for i, number in enumerate(column):
        layers.setdefault(number, []).append(i)
    tallest = max((len(layer) for layer in layers.values()), default=0)
    row: dict[int, float] = {}
    for number in sorted(layers):
        layers[number].sort(key=lambda i: (_mean_row(graph, i, row), graph.names[i]))
        first = (tallest - len(layers[number])) / 2
        row.update({i: first + place for place, i in enumerate(layers[number])})
    # Odd columns sit a little lower, so that a long straight arrow does not pass through the nodes between.
    return [_Spot(_MARGIN + _COLUMN * c, _MARGIN + _ROW * (row[i] + 0.4 * (c % 2))) for i, c in enumerate(column)]


def _mean_row(graph: Graph, i: int, row: dict[int, float]) -> float:
    near = [row[j] for j in bits(graph.edges.parents[i] | graph.edges.spouses[i]) if j in row]
    return sum(near) / len(near) if near else 0.0


def _arrow(spots: list[_Spot], i: int, j: int) -> str:
    a, b = spots[i], spots[j]
    # An arrow over a whole column would cross the nodes in it: bend it away from the middle of the picture.
    middle = (min(spot.y for spot in spots) + max(spot.y for spot in spots)) / 2
    outward = -1.0 if a.y + b.y <= 2 * middle else 1.0
    bend = 0.0 if b.x - a.x <= _COLUMN else outward * 0.17 * (b.x - a.x)
    return _path(*_trimmed(a, b), bend, 'stroke="#333333" stroke-width="1.5" marker-end="url(#head)"')


def _arc(one: _Spot, other: _Spot, colour: str) -> str:
    left, right = sorted((one, other))
    length = max(right.x - left.x, abs(right.y - left.y))
    style = f'stroke="{colour}" stroke-width="1.8" stroke-dasharray="6 4" '
    heads = 'marker-start="url(#head)" marker-end="url(#head)"'
    return _path(*_trimmed(left, right), -0.3 * length - 14, style + heads)


def _path(a: _Spot, b: _Spot, bend: float, style: str) -> str:
    length = max(((b.x - a.x) ** 2 + (b.y - a.y) ** 2) ** 0.5, 1.0)
    x = (a.x + b.x) / 2 - (b.y - a.y) / length * bend
    y = (a.y + b.y) / 2 + (b.x - a.x) / length * bend
    return f'<path d="M{a.x:.1f} {a.y:.1f}Q{x:.1f} {y:.1f} {b.x:.1f} {b.y:.1f}" fill="none" {style}/>'


def _trimmed(a: _Spot, b: _Spot) -> tuple[_Spot, _Spot]:
    length = max(((b.x - a.x) ** 2 + (b.y - a.y) ** 2) ** 0.5, 1.0)
    x, y = (b.x - a.x) / length * _RADIUS, (b.y - a.y) / length * _RADIUS
    return _Spot(a.x + x, a.y + y), _Spot(b.x - x, b.y - y)


def _node(graph: Graph, i: int, spot: _Spot) -> str:
    role, name = graph.roles[i], graph.names[i]
    dash = ' stroke-dasharray="4 3"' if role == "latent" else ""
    inside = len(name) <= 3
    y = spot.y + 5 if inside else spot.y + _RADIUS + 15
    return (
        f'<g><circle cx="{spot.x:.1f}" cy="{spot.y:.1f}" r="{_RADIUS}" fill="{_FILL[role]}" stroke="#333333"{dash}>'
        f"<title>{escape(name)}: {role}</title></circle>"
        f'<text x="{spot.x:.1f}" y="{y:.1f}" text-anchor="middle">{escape(name)}</text></g>'
    )
