"""One self-contained HTML file: no request, no script, readable in print."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup

from butfor import canonical
from butfor.confidence import Estimate
from butfor.report import happenings, states, wording
from butfor.report.findings import StepFinding
from butfor.report.picture import draw
from butfor.report.score_picture import draw_scores
from butfor.report.visible import cut, one_line, readable, visible
from butfor.runs.requests import texts

if TYPE_CHECKING:
    from collections.abc import Iterator

    from butfor.confidence import Interval
    from butfor.report.data import ReportData
    from butfor.report.examples import Example
    from butfor.report.scores import StepScore
    from butfor.runs import Run, Step

_TEMPLATES = Path(__file__).parent / "templates"


def render_html(data: ReportData) -> str:
    """Write a report as one HTML page.

    The page names no other file or host and forbids itself scripts and requests by a content security policy; all
    text of a trace is escaped, and what would act on a reader (direction marks, control characters) is written out.
    """
    return _environment().get_template("report.html.j2").render(_context(data))


@cache
def _environment() -> Environment:
    return Environment(
        loader=FileSystemLoader(_TEMPLATES),
        autoescape=True,
        undefined=StrictUndefined,
        finalize=_harmless,
        trim_blocks=True,
    )


def _harmless(value: object) -> object:
    """Applied to everything that a template prints, so that no text comes through unchecked."""
    return visible(value) if isinstance(value, str) and not isinstance(value, Markup) else value


def _context(data: ReportData) -> dict[str, object]:
    finding = data.finding
    shared = {
        "data": data,
        "run": data.run,
        "finding": finding,
        "scores": data.scores,
        "bill": wording.bill_words(data.bill) if data.bill else [],
        "css": _css(),
        "headline": wording.headline(data),
        "outcome": outcome_words(data.run),
        "task": cut(readable(data.run.task)),
        "output": cut(readable(data.run.output)),
        "steps": list(_steps(data)),
        "repairs": data.repairs,
    }
    if data.scores is not None:
        return shared | {
            "p": draw_scores(data, data.scores),
            "rows": [_score_row(data, each) for each in data.scores.steps],
        }
    if finding is None:
        return shared
    return shared | {
        "kind": wording.KIND_WORDS.get(finding.kind, finding.kind),
        "margins": wording.margins_words(finding),
        "commit_words": wording.commit_words(finding) if finding.commit_points else "",
        "quantities": wording.QUANTITIES,
        "sure": f"{1 - finding.alpha:.0%}",
        "p": draw(data, finding),
        "rows": [_table_row(data, each) for each in finding.steps],
        "saving": wording.price_words(finding),
    }


@cache
def _css() -> Markup:
    # Ours, never a trace's: the one text that is not escaped.
    return Markup((_TEMPLATES / "report.css").read_text(encoding="utf-8"))  # noqa: S704


def outcome_words(run: Run) -> str:
    """Say the outcome, its rule and its direction."""
    if run.outcome is None:
        return "not scored"
    return f"{run.outcome.value:g} ({'bad' if run.outcome.value >= 0.5 else 'good'}; {one_line(run.outcome.rule, 80)})"


def _table_row(data: ReportData, step: StepFinding) -> dict[str, object]:
    assert data.finding is not None
    values = [(step.v, False), (step.effect, True), (step.blame, True), (step.match, False)]
    return {
        "step": step.step,
        "label": _label(data.run, step.step, 60),
        "figures": [_figure(value, signed=signed) for value, signed in values],
        "n": f"{step.n}" + (f" + {step.reused} reused" if step.reused else ""),
        "missing": f"{step.missing}" + (f" ({step.unsupported} unsupported)" if step.unsupported else ""),
        "role": step.role,
        "decisive": step.step == data.finding.decisive,
        "commit": step.step == data.finding.commit_point,
        "in_set": step.in_set,
    }


def _score_row(data: ReportData, step: StepScore) -> dict[str, object]:
    assert data.scores is not None
    values = [step.value] if data.scores.published else [step.value, step.effect]
    return {
        "step": step.step,
        "label": _label(data.run, step.step, 60),
        "figures": [_figure(value, signed=True) for value in values],
        "published": wording.score_words(step.published),
        "best": step.best,
        "role": step.role,
        "flagged": step.flagged,
    }


def _figure(value: Interval, *, signed: bool) -> tuple[str, str]:
    """The point and the bounds; why there is none is said at the step, where there is room for it."""
    if not isinstance(value, Estimate):
        return "undefined", ""
    return wording.number(value, signed=signed), wording.bounds(value, signed=signed)


def _label(run: Run, step: int, limit: int) -> str:
    return happenings.in_short(run.steps[step], limit) if step < len(run.steps) else ""


@dataclass(frozen=True, kw_only=True)
class _StepView:
    """A step as the template reads it."""

    index: int
    label: str
    decisive: bool
    commit: bool
    role: str
    explanation: str
    numbers: str
    origin: str
    grade: str
    missing: str
    state: states.State
    state_words: str
    happening: happenings.Happening
    examples: tuple[tuple[str, Example], ...]


def _steps(data: ReportData) -> Iterator[_StepView]:
    finding = data.finding
    for step, state in zip(data.run.steps, states_of(data.run), strict=True):
        answer = finding or data.scores
        known = None if answer is None else answer.of(step.index)
        yield _StepView(
            index=step.index,
            label=happenings.in_short(step, 100),
            decisive=finding is not None and step.index == finding.decisive,
            commit=finding is not None and step.index == finding.commit_point,
            role="" if known is None else known.role,
            explanation="" if known is None else known.explanation,
            numbers="" if known is None else _known_numbers(data, known),
            origin=_origin(step),
            grade=step.grade.level.label,
            missing="; ".join(step.grade.missing),
            state=state,
            state_words=_state_words(state),
            happening=happenings.happening(step),
            examples=tuple((_example_words(each), each) for each in data.examples_of(step.index)),
        )


def _known_numbers(data: ReportData, known: StepFinding | StepScore) -> str:
    if isinstance(known, StepFinding):
        return _numbers(known)
    assert data.scores is not None
    crs = f"; CRS as published {wording.score_words(known.published)}" if data.scores.published else ""
    best = f"; best proposal {known.best}" if known.best else ""
    return f"{data.scores.symbol} = {_said(known.value, signed=True)}{crs}{best}"


def states_of(run: Run) -> Iterator[states.State]:
    """Yield every step's state, compared with that of the step before it in its lane."""
    last: dict[str, tuple[int, states.Request]] = {}
    for step, text in zip(run.steps, texts([each.request for each in run.steps]), strict=True):
        if text is None:
            yield states.UNKNOWN
            continue
        now = states.read_request(canonical.decode(text))
        seen_at, before = last.get(step.lane, (None, None))
        yield states.compare(now, before, seen_at=seen_at)
        last[step.lane] = (step.index, now)


def _numbers(step: StepFinding) -> str:
    named = [("v", step.v, False), ("effect", step.effect, True), ("blame", step.blame, True)]
    said = [f"{name} = {_said(value, signed=signed)}" for name, value, signed in named]
    drawn = wording.amount(step.n, "rollout") + (f", {step.missing} without an outcome" if step.missing else "")
    return "; ".join([*said, f"action match {_said(step.match, signed=False)}", drawn])


def _said(value: Interval, *, signed: bool) -> str:
    if not isinstance(value, Estimate):
        return f"undefined ({value.reason})"
    return " ".join(_figure(value, signed=signed))


def _origin(step: Step) -> str:
    parts = [f"agent {one_line(step.agent, 60)}" if step.agent != "agent" else ""]
    parts.append(f"lane {step.lane}" if step.lane != "0" else "")
    if step.usage.prompt_tokens is not None or step.usage.completion_tokens is not None:
        parts.append(f"{step.usage.prompt_tokens or 0:,} tokens sent, {step.usage.completion_tokens or 0:,} answered")
    return " · ".join(part for part in parts if part)


def _state_words(state: states.State) -> str:
    total = wording.amount(state.total, "message")
    if state.seen_at is None:
        return f"{total}, all shown"
    new = sum(each.is_new for each in state.messages)
    earlier = f", {state.unchanged} from before not shown again" if state.unchanged else ""
    return f"{total}; {new} new since step {state.seen_at}{earlier}"


def _example_words(example: Example) -> str:
    y = "without an outcome" if example.outcome is None else f"y = {example.outcome:g}"
    which = "that ended differently" if example.changed else "that ended the same"
    what = example.intervention
    under = f"from step {example.step}" if what == f"resample({example.step})" else f"under {one_line(what, 120)}"
    at = example.diverged_at
    place = "" if at is None else f", beside the original where they first differ: step {at}"
    return f"A rollout {under} {which}: draw {example.draw}, {example.status}, {y}{place}"
