"""What `butfor import` prints: what came in, what is missing, what to do next."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from butfor.errors import ButforError
    from butfor.importers import ImportReport
    from butfor.replay.imported import Replayable

_LISTED = 8
_HINTS = {
    "request.messages: content was not captured": "turn on message capture in the instrumentation "
    "(OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT=SPAN_ONLY) and record again",
    "request: no span of the model call": "instrument the model client too, not only the agent framework",
    "tools: no": 'give the tool definitions for replays: --defaults FILE with {"tools": [...]}',
    "request.system": "the system prompt is not in this format; record the run with butfor to replay it",
}


def tell_replayable(made: Replayable) -> None:
    """Say how much of a run can be replayed, and what would not be answered."""
    click.echo(
        f"{made.run.run_id}: replayable, {made.steps} decisions and {made.answers} recorded tool results", err=True
    )
    if made.unanswered:
        names = ", ".join(made.unanswered)
        click.echo(f"  other calls of these are unsupported without a simulator or --tool: {names}", err=True)
    for difference in made.differences:
        click.echo(f"  the replay differs: {difference}", err=True)


def document(reports: Sequence[ImportReport], failures: Sequence[ButforError], ids: Sequence[str]) -> object:
    """Return what --json prints."""
    return {
        "files": [report.to_json() for report in reports],
        "not_imported": [str(error) for error in failures],
        "run_ids": list(ids),
    }


def tell(
    reports: Sequence[ImportReport],
    failures: Sequence[ButforError],
    ids: Sequence[str],
    *,
    stored: bool,
    rehearsed: bool,
) -> None:
    """Print what became of each file, the ids, and what to do next."""
    for report in reports:
        grades = ", ".join(f"{count} {label}" for label, count in report.grades.items())
        click.echo(f"{report.file}: {report.format}, {report.runs} runs, {report.steps} steps ({grades})", err=True)
        _list("missing", report.missing)
        _list("ignored", report.ignored)
        for problem in report.problems[:_LISTED]:
            click.echo(f"  not read: {problem}", err=True)
        if report.problem_count > _LISTED:
            click.echo(f"  not read: {report.problem_count - _LISTED} more", err=True)
    for error in failures:
        click.echo(f"not imported: {error}", err=True)
    if stored:
        for run_id in ids[:_LISTED]:
            click.echo(run_id)
        if len(ids) > _LISTED:
            click.echo(f"… {len(ids) - _LISTED} more: butfor runs", err=True)
    _advise(reports, ids, stored=stored, rehearsed=rehearsed)


def _list(word: str, counts: Mapping[str, int]) -> None:
    for name, count in list(counts.items())[:_LISTED]:
        click.echo(f"  {word}: {name} (×{count})", err=True)
    if len(counts) > _LISTED:
        click.echo(f"  {word}: {len(counts) - _LISTED} more (--json lists them)", err=True)


def _advise(reports: Sequence[ImportReport], ids: Sequence[str], *, stored: bool, rehearsed: bool) -> None:
    """Say what to do next."""
    replayable = any(report.grades.get("exact") or report.grades.get("approximate") for report in reports)
    if stored and replayable and rehearsed and ids:
        click.echo(f"next: butfor attribute {ids[0]} --outcome RULE", err=True)
    elif stored and replayable and ids:
        again = f"butfor import {reports[0].file} --policy MODULE:FUNCTION"
        click.echo(f"next: to find the step that caused a failure, make the run replayable: {again}", err=True)
    elif not replayable:
        click.echo("next: these steps can be read, not replayed; see what is missing", err=True)
    missing = [name for report in reports for name in report.missing]
    for start, hint in _HINTS.items():
        if any(name.startswith(start) for name in missing):
            click.echo(f"hint: {hint}", err=True)
