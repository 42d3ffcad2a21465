"""The geometry of the picture of scores: one row a step, one axis for all."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from butfor.report.happenings import in_short
from butfor.report.picture import Axis, Picture, Row, bar_of, lay_out
from butfor.report.wording import bounds, number

if TYPE_CHECKING:
    from butfor.report.data import ReportData
    from butfor.report.scores import Scores, StepScore

_LABEL = 30


def draw_scores(data: ReportData, scores: Scores) -> Picture:
    """Lay scores out."""
    axis = Axis(name=scores.symbol, title=f"{scores.symbol}(k)", left=290, right=900, low=-1, high=1)
    return lay_out(
        (axis,),
        [partial(_row, data, axis, step) for step in scores.steps],
        f"For each of {len(scores.steps)} steps a point with its interval on one axis: {scores.symbol}. "
        f"{scores.sentence} The same numbers are in the table below.",
    )


def _row(data: ReportData, axis: Axis, step: StepScore, y: float) -> Row:
    return Row(
        step=step.step,
        y=y,
        label=in_short(data.run.steps[step.step], _LABEL) if step.step < len(data.run.steps) else "",
        mark="diamond" if step.flagged else "dot",
        in_set=False,
        commit=False,
        role=step.role,
        bars=(bar_of(step.value, axis),),
        words=f"Step {step.step}: {step.role}; {axis.name} {number(step.value)} {bounds(step.value)}",
    )
