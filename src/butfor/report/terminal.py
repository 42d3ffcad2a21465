"""The report in short, for 80 columns."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rich.table import Table
from rich.text import Text

from butfor.confidence import Estimate, Interval
from butfor.report import wording
from butfor.report.happenings import in_short, output_of
from butfor.report.page import outcome_words
from butfor.report.repairs_terminal import print_repairs
from butfor.report.visible import compact, one_line, visible

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rich.console import Console

    from butfor.report.data import ReportData
    from butfor.report.findings import Finding, StepFinding
    from butfor.report.scores import Scores, StepScore
    from butfor.runs import Run

STRIP = 15
"""Characters of the axis from −1 to 1; odd, so that 0 has one of its own."""


def print_terminal(data: ReportData, console: Console) -> None:
    """Print a report.

    Nothing of a trace reaches the terminal as markup or as a control sequence.
    """
    _say(console, wording.headline(data), style="bold")
    if data.scores is not None:
        _about(data.run, console, data.notes)
        _scores(data, data.scores, console)
    elif data.finding is None:
        print_run(data.run, console, notes=data.notes)
    else:
        _about(data.run, console, data.notes)
        _finding(data, data.finding, console)
    if data.repairs is not None:
        console.print()
        print_repairs(data.repairs, console)
    console.print()
    for command in data.reproduction.commands:
        # Broken into lines it could not be pasted; a terminal wraps what is too long by itself.
        console.print(Text(visible(f"$ {command}")), highlight=False, soft_wrap=True)


def print_run(run: Run, console: Console, *, notes: Sequence[str] = ()) -> None:
    """Print a run alone: what it is, what is missing, what each step decided and was told."""
    _about(run, console, notes)
    table = Table(box=None, pad_edge=False, padding=(0, 1, 0, 0), header_style="bold")
    table.add_column("step", justify="right", width=4)
    table.add_column("decided", width=38, no_wrap=True, overflow="ellipsis")
    table.add_column("was told", width=35, no_wrap=True, overflow="ellipsis")
    for step in run.steps:
        told = "; ".join(compact(part.content, 35) for part in step.observations)
        table.add_row(str(step.index), Text(in_short(step, 38)), Text(one_line(told, 35)))
    console.print(table, highlight=False)


def _about(run: Run, console: Console, notes: Sequence[str]) -> None:
    steps = wording.amount(len(run.steps), "step")
    graded = run.overall_grade.level.label
    _say(console, f"run {run.run_id}, {steps}, graded {graded}; y = {outcome_words(run)}", style="dim")
    _say(console, f"returned {one_line(output_of(run), 140)}", style="dim")
    for note in notes:
        _say(console, f"! {note}")
    console.print()


def _say(console: Console, text: str, style: str = "") -> None:
    console.print(Text(visible(text), style=style), highlight=False, soft_wrap=False)


def _finding(data: ReportData, finding: Finding, console: Console) -> None:
    table = Table(box=None, pad_edge=False, padding=(0, 1, 0, 0), header_style="bold", expand=False)
    table.add_column("", width=1)
    table.add_column("step", justify="right", width=4)
    table.add_column("decided", width=19, no_wrap=True, overflow="ellipsis")
    table.add_column("−1   blame    1", width=STRIP, no_wrap=True)
    table.add_column(
        Text("blame [interval]"),  # as a str it would be markup
        width=20,
        no_wrap=True,
    )
    table.add_column("what it did", width=15)
    for step in finding.steps:
        style = "bold" if step.step == finding.decisive else ""
        table.add_row(*(Text(cell) for cell in _cells(data, finding, step)), style=style)
    if finding.steps:
        console.print(table, highlight=False)
        console.print()
    for line in _below(data, finding):
        _say(console, line)


def _scores(data: ReportData, scores: Scores, console: Console) -> None:
    table = Table(box=None, pad_edge=False, padding=(0, 1, 0, 0), header_style="bold", expand=False)
    table.add_column("", width=1)
    table.add_column("step", justify="right", width=4)
    table.add_column("decided", width=14 if scores.published else 19, no_wrap=True, overflow="ellipsis")
    table.add_column(f"−1{scores.symbol:^11} 1", width=STRIP, no_wrap=True)
    table.add_column(Text(f"{scores.symbol} [interval]"), width=20, no_wrap=True)
    if scores.published:
        table.add_column("CRS", width=4, no_wrap=True)
    table.add_column("what is shown", width=15)
    for step in scores.steps:
        table.add_row(*(Text(cell) for cell in _score_cells(data, scores, step)), style="bold" if step.flagged else "")
    console.print(table, highlight=False)
    console.print()
    for line in _below_scores(data, scores):
        _say(console, line)


def _score_cells(data: ReportData, scores: Scores, step: StepScore) -> list[str]:
    known = step.step < len(data.run.steps)
    return [
        "◆" if step.flagged else "",
        str(step.step),
        in_short(data.run.steps[step.step], 14 if scores.published else 19) if known else "",
        strip(step.value, point="◆" if step.flagged else "●"),
        _numbers(step.value),
        *([wording.score_words(step.published)] if scores.published else []),
        step.role,
    ]


def _below_scores(data: ReportData, scores: Scores) -> list[str]:
    return [
        *(["◆ its interval excludes 0"] if any(each.flagged for each in scores.steps) else []),
        f"{scores.meaning}.",
        *scores.lines,
        *(f"Step {each.step}, best proposal {each.best}" for each in scores.steps if each.best),
        scores.sure,
        *_price_and_assumptions(data),
    ]


def _price_and_assumptions(data: ReportData) -> list[str]:
    return [
        *([] if data.bill is None else [f"Price: {data.bill}; tool calls: {wording.answered_words(data.bill)}."]),
        *(f"Assumes: {each}." for each in data.assumptions),
    ]


def _cells(data: ReportData, finding: Finding, step: StepFinding) -> list[str]:
    decisive = step.step == finding.decisive
    mark = "◆" if decisive else "○" if step.is_mechanical else "?" if step.in_set else ""
    known = step.step < len(data.run.steps)
    return [
        mark,
        str(step.step),
        in_short(data.run.steps[step.step], 19) if known else "",
        strip(step.blame, point="◆" if decisive else "●"),
        _numbers(step.blame),
        step.role + (" ⚑" if step.step == finding.commit_point else ""),
    ]


def _numbers(value: Interval) -> str:
    if not isinstance(value, Estimate):
        return "undefined"
    return f"{wording.number(value, signed=True)} {wording.bounds(value, signed=True)}"


def strip(value: Interval, *, point: str = "●") -> str:
    """Draw an interval on an axis from −1 to 1 in `STRIP` characters."""
    cells = ["·"] * STRIP
    cells[STRIP // 2] = "┊"
    if not isinstance(value, Estimate):
        return "".join(cells)
    low, high, middle = (_cell(each) for each in (value.lower, value.upper, value.point))
    cells[low : high + 1] = ["─"] * (high + 1 - low)
    cells[low], cells[high] = "├", "┤"
    cells[middle] = point
    return "".join(cells)


def _cell(value: float) -> int:
    return round((min(max(value, -1.0), 1.0) + 1) / 2 * (STRIP - 1))


def _below(data: ReportData, finding: Finding) -> list[str]:
    legend = ["◆ decisive step"] if finding.decisive is not None else []
    legend += ["? may be the decisive step"] if finding.decisive is None and finding.candidates else []
    legend += (
        ["○ mechanical: decided again, it comes out the same"] if any(x.is_mechanical for x in finding.steps) else []
    )
    legend += ["⚑ commit point"] if finding.commit_point is not None else []
    sure = f"{1 - finding.alpha:.0%}"
    return [
        *(["; ".join(legend)] if legend else []),
        *([wording.commit_words(finding)] if finding.commit_points else []),
        *(
            [f"Intervals hold together with {sure} confidence; {wording.margins_words(finding)}."]
            if finding.steps
            else []
        ),
        *([saved] if (saved := wording.price_words(finding)) else []),
        *_price_and_assumptions(data),
    ]
