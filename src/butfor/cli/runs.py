"""`butfor runs`: list the runs in the store, or show one of them."""

from __future__ import annotations

import dataclasses
import json
import sys
from typing import TYPE_CHECKING, Any

import click
from rich.console import Console
from rich.table import Table
from rich.text import Text

from butfor.cli import options
from butfor.repairs.ledger import BOOKKEEPING
from butfor.report import print_run
from butfor.report.commands import commands_of
from butfor.report.notes import notes_of
from butfor.report.visible import one_line, visible

if TYPE_CHECKING:
    from collections.abc import Sequence

    from butfor.runs import Run, Step
    from butfor.store import ArmSummary, ResultRecord, RunSummary, StoredRollout


@click.command("runs")
@click.argument("run", required=False)
@click.option("--limit", type=click.IntRange(1), help="show at most this many, the last stored first")
@click.option("--rollouts", is_flag=True, help="with RUN: also list its rollouts, one a line")
@options.as_json
def command(run: str | None, limit: int | None, rollouts: bool, as_json: bool) -> int:
    """List the runs in the store, or show RUN (an id or its beginning): steps, grade, and what is missing."""
    if run is None and not options.is_there():
        click.echo("[]") if as_json else _console().print(f"no store yet; {options.START}")
        return 0
    with options.open_store() as store:
        if run is None:
            listed = store.list_runs(limit)
            click.echo(json.dumps([_row(each) for each in listed], indent=2)) if as_json else _show_list(listed)
            return 0
        found = store.load_run(run)
        arms = store.list_arms(found.run_id)
        results = [each for each in store.list_results(found.run_id) if each.kind not in BOOKKEEPING]
        listed_rollouts = [
            each for arm in arms if rollouts for each in store.load_rollouts(found.run_id, arm.fingerprint, arm.arm)
        ]
    if as_json:
        more = {"rollouts": [_rollout_document(each) for each in listed_rollouts]} if rollouts else {}
        click.echo(json.dumps(_document(found, arms, results) | more, indent=2))
        return 0
    _show_run(found, arms, results)
    for each in listed_rollouts:
        y = "none" if each.outcome is None else f"{each.outcome:g}"
        click.echo(f"{each.rollout_id}  {visible(each.arm)} draw {each.draw}, {each.status}, y = {y}")
    return 0


def _row(summary: RunSummary) -> dict[str, Any]:
    grade = None if summary.grade is None else summary.grade.label
    return dataclasses.asdict(summary) | {"grade": grade}


def _show_list(listed: Sequence[RunSummary]) -> None:
    console = _console()
    if not listed:
        console.print("no runs yet; record one: butfor record --agent module:function --input FILE")
        return
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0))
    table.add_column("run", min_width=22, overflow="fold")
    for name in ("recorded", "steps", "y", "grade"):
        table.add_column(name, no_wrap=True)
    table.add_column("agent", no_wrap=True, overflow="ellipsis")
    for each in listed:
        table.add_row(*(Text(cell) for cell in _cells(each)))
    console.print(table)


def _cells(each: RunSummary) -> list[str]:
    grade = each.grade.label if each.grade is not None else ""
    return [
        one_line(each.run_id, 80),
        (each.recorded_at or "")[:16].replace("T", " "),
        "" if each.steps is None else str(each.steps),
        "" if each.outcome is None else f"{each.outcome:g}",
        grade if each.complete else "unfinished",
        one_line(each.agent or "", 60),
    ]


def _document(run: Run, arms: Sequence[ArmSummary], results: Sequence[ResultRecord]) -> dict[str, Any]:
    grade = run.overall_grade
    return {
        "run_id": run.run_id,
        "agent": run.provenance.agent,
        "format": run.provenance.format,
        "grade": grade.level.label,
        "missing": list(grade.missing),
        "outcome": None if run.outcome is None else {"value": run.outcome.value, "rule": run.outcome.rule},
        "steps": [_step_document(step) for step in run.steps],
        "arms": [dataclasses.asdict(each) | {"oldest": each.oldest.isoformat()} for each in arms],
        "results": [{"result_id": each.result_id, "kind": each.kind} for each in results],
    }


def _rollout_document(each: StoredRollout) -> dict[str, Any]:
    names = ("rollout_id", "arm", "draw", "status", "outcome")
    return {name: getattr(each, name) for name in names}


def _step_document(step: Step) -> dict[str, Any]:
    return {
        "step": step.index,
        "agent": step.agent,
        "lane": step.lane,
        "calls": [call.name for call in step.tool_calls],
        "grade": step.grade.level.label,
        "missing": list(step.grade.missing),
    }


def _show_run(run: Run, arms: Sequence[ArmSummary], results: Sequence[ResultRecord]) -> None:
    missing = tuple(
        f"Step {step.index} is graded {step.grade.level.label}: {'; '.join(step.grade.missing)}."
        for step in run.steps
        if step.grade.missing
    )
    console = _console()
    print_run(run, console, notes=(*notes_of(run, None, None), *missing))
    console.print()
    for arm in arms:
        console.print(Text(f"{arm.rollouts} rollouts of {visible(arm.arm)} (fingerprint {arm.fingerprint[:19]}…)"))
    for result in results:
        console.print(Text(f"answer {result.result_id} ({result.kind})"))
    console.print(Text(f"$ {visible(commands_of(run)[1 if results else 0])}"))


def _console() -> Console:
    return Console(file=sys.stdout, highlight=False)
