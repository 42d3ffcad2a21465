"""`butfor bench`: run a benchmark, print its table, fail on a failed check."""

from __future__ import annotations

import json
import sys
from typing import Any, TextIO

import click
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from butfor.benchmarks import BENCHMARKS, Report, Settings, check_options, find

WIDE = 240
"""Columns of a table that is not printed on a terminal."""


@click.command("bench")
@click.argument("name")
@click.option("--room", help="for `speed`: which room to time")
@click.option("--quick", is_flag=True, help="end within 60 seconds on two cores")
@click.option("--seed", type=int, default=20261130, show_default=True, help="root of every random draw")
@click.option("--json", "as_json", is_flag=True, help="print {name, settings, rows, checks}")
@click.option("--out", type=click.File("w", encoding="utf-8", lazy=False), help="also write the JSON here")
@click.option("--set", "options", multiple=True, metavar="KEY=VALUE", help="an option of the benchmark's own")
def command(
    name: str, room: str | None, quick: bool, seed: int, as_json: bool, out: TextIO | None, options: tuple[str, ...]
) -> int:
    """Run the benchmark NAME, or `all` of them. Exit code 1 where a check failed."""
    chosen = dict(option.partition("=")[::2] for option in options)
    names = sorted(BENCHMARKS) if name == "all" else [f"{name}:{room}" if room else name]
    settings = Settings(quick=quick, seed=seed, options=chosen)
    found = [find(each) for each in names]
    check_options(names, chosen)
    reports = [benchmark(settings) for benchmark in found]
    documents: Any = [report.to_json() for report in reports]
    text = json.dumps(documents[0] if name != "all" else documents, indent=2, ensure_ascii=False)
    if out:
        out.write(text + "\n")
    if as_json:
        click.echo(text)
    else:
        for report in reports:
            show(report)
    return 0 if all(check.ok for report in reports for check in report.checks) else 1


def show(report: Report) -> None:
    """Print a report as a table, its checks and its notes."""
    # Into a file or a pipe there is no edge to keep to, and cells cut to "fami…" could not be read.
    console = Console(file=sys.stdout, width=None if sys.stdout.isatty() else WIDE)
    settings = "  ".join(f"{name}={value}" for name, value in report.settings.items())
    console.print(f"[bold]{escape(report.name)}[/]  {escape(settings)}")
    if report.rows:
        table = Table(show_edge=False)
        for column in report.rows[0]:
            table.add_column(escape(column))
        for row in report.rows:
            table.add_row(*(cell(row.get(column, "")) for column in report.rows[0]))
        console.print(table)
    for check in report.checks:
        mark = "[green]ok[/]  " if check.ok else "[red]FAIL[/]"
        console.print(f"{mark} {escape(check.name)}: {cell(check.value)} (bound {cell(check.bound)})")
    for note in report.notes:
        console.print(f"[dim]note: {escape(note)}[/]")


def cell(value: object) -> str:
    """Format one value: four significant digits for a float."""
    return f"{value:.4g}" if isinstance(value, float) else escape(str(value))
