"""The geometry of the picture: one row a step, one axis a quantity, shared by all steps."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

from butfor.confidence import Estimate, Interval
from butfor.report.happenings import in_short
from butfor.report.wording import bounds, number

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from butfor.report.data import ReportData
    from butfor.report.findings import Finding, StepFinding

WIDTH = 1080
_TOP, _BOTTOM = 54, 30
_ROW, _ROW_DENSE, _DENSE = 26, 18, 40
_LABEL = 30


@dataclass(frozen=True, kw_only=True)
class Axis:
    """One quantity's axis.

    Attributes:
        name: v, effect, blame, or what a score is called.
        title: Above the axis.
        left: Pixels of its low end.
        right: Pixels of its high end.
        low: Value at the low end.
        high: Value at the high end.
        lines: (pixels, label) of the vertical lines that mean something: y, 0, the margin.
    """

    name: str
    title: str
    left: float
    right: float
    low: float
    high: float
    lines: tuple[tuple[float, str], ...] = ()

    def at(self, value: float) -> float:
        """Return the pixels of a value, clamped to the axis."""
        share = (min(max(value, self.low), self.high) - self.low) / (self.high - self.low)
        return round(self.left + share * (self.right - self.left), 2)

    @property
    def ticks(self) -> tuple[tuple[float, str], ...]:
        """(pixels, label) of the ticks."""
        middle = (self.low + self.high) / 2
        return tuple((self.at(each), f"{each:g}".replace("-", "−")) for each in (self.low, middle, self.high))


@dataclass(frozen=True, kw_only=True)
class Bar:
    """A point with its interval, in pixels; `reason` stands where there is no estimate."""

    middle: float
    low: float = 0.0
    high: float = 0.0
    point: float = 0.0
    reason: str = ""


@dataclass(frozen=True, kw_only=True)
class Row:
    """One step.

    Attributes:
        step: k.
        y: Pixels of its middle.
        label: What it decided.
        mark: The shape of its points: diamond (decisive), ring (mechanical) or dot.
        in_set: Whether it may still be the decisive one.
        commit: Whether it is the commit point, as far as the bounds tell.
        role: In a word.
        bars: One for each axis.
        words: The numbers, for a reader who cannot see the picture.
    """

    step: int
    y: float
    label: str
    mark: str
    in_set: bool
    commit: bool
    role: str
    bars: tuple[Bar, ...]
    words: str


@dataclass(frozen=True, kw_only=True)
class Picture:
    """The whole picture.

    Attributes:
        width: Pixels.
        height: Pixels.
        row: Height of a row.
        top: Where the rows begin.
        bottom: Where they end.
        axes: One a quantity.
        rows: The steps.
        description: The picture in words.
    """

    width: int
    height: int
    row: int
    top: int
    bottom: int
    axes: tuple[Axis, ...]
    rows: tuple[Row, ...]
    description: str


def draw(data: ReportData, finding: Finding) -> Picture:
    """Lay a finding out."""
    axes = _axes(finding)
    rows = [partial(_row, data, finding, axes, step) for step in finding.steps]
    return lay_out(axes, rows, _description(finding))


def lay_out(axes: tuple[Axis, ...], rows: Sequence[Callable[[float], Row]], description: str) -> Picture:
    """Put rows below each other.

    Args:
        axes: What all rows share.
        rows: Makers of a row, each told the pixels of its middle.
        description: The picture in words.
    """
    row = _ROW if len(rows) <= _DENSE else _ROW_DENSE
    bottom = _TOP + row * len(rows)
    return Picture(
        width=WIDTH,
        height=bottom + _BOTTOM,
        row=row,
        top=_TOP,
        bottom=bottom,
        axes=axes,
        rows=tuple(make(_TOP + row * i + row / 2) for i, make in enumerate(rows)),
        description=description,
    )


def _axes(finding: Finding) -> tuple[Axis, ...]:
    v = Axis(name="v", title="v(k)", left=290, right=450, low=0, high=1)
    effect = Axis(name="effect", title="effect(k) = y − v(k)", left=490, right=690, low=-1, high=1)
    blame = Axis(name="blame", title="blame(k) = v(k+1) − v(k)", left=720, right=920, low=-1, high=1)
    factual = ((v.at(finding.factual.point), "y"),) if isinstance(finding.factual, Estimate) else ()
    commit, decisive = finding.margins.get("commit", 0.1), finding.margins.get("decisive", 0.2)
    return (
        _with_lines(v, factual),
        _with_lines(effect, ((effect.at(commit), "δ"),)),
        _with_lines(blame, ((blame.at(decisive), "δ_d"),)),
    )


def _with_lines(axis: Axis, lines: tuple[tuple[float, str], ...]) -> Axis:
    return Axis(
        name=axis.name, title=axis.title, left=axis.left, right=axis.right, low=axis.low, high=axis.high, lines=lines
    )


def _row(data: ReportData, finding: Finding, axes: tuple[Axis, ...], step: StepFinding, y: float) -> Row:
    values = (step.v, step.effect, step.blame)
    decisive = step.step == finding.decisive
    return Row(
        step=step.step,
        y=y,
        label=in_short(data.run.steps[step.step], _LABEL) if step.step < len(data.run.steps) else "",
        mark="diamond" if decisive else "ring" if step.is_mechanical else "dot",
        in_set=step.in_set,
        commit=step.step == finding.commit_point,
        role=step.role,
        bars=tuple(bar_of(value, axis) for value, axis in zip(values, axes, strict=True)),
        words=f"Step {step.step}: {step.role}; " + "; ".join(
            f"{axis.name} {number(value)} {bounds(value)}" for value, axis in zip(values, axes, strict=True)
        ),
    )  # fmt: skip


def bar_of(value: Interval, axis: Axis) -> Bar:
    """Place an interval on an axis."""
    middle = (axis.left + axis.right) / 2
    if not isinstance(value, Estimate):
        return Bar(middle=middle, reason=value.reason or "undefined")
    return Bar(middle=middle, low=axis.at(value.lower), high=axis.at(value.upper), point=axis.at(value.point))


def _description(finding: Finding) -> str:
    sure = f"{1 - finding.alpha:.0%}"
    return (
        f"For each of {len(finding.steps)} steps a point with a {sure} interval on three axes: v(k), effect and blame. "
        f"{finding.sentence} The same numbers are in the table below."
    )
