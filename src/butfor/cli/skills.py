"""`butfor skills`: what goes wrong where, over many runs."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING

import click
from rich.console import Console
from rich.table import Table
from rich.text import Text

from butfor.cli import options

if TYPE_CHECKING:
    from butfor.repairs.skills import Skills


@click.command("skills")
@click.option("--runs", "selection", metavar="FILTER", default="all", show_default=True, help="as butfor repair --all")
@options.level("--radius", 0.6, "steps nearer than this are near (cosine distance)")
@click.option("--least", type=click.IntRange(2), default=3, show_default=True, help="near steps that make a group")
@click.option("--seed", type=int, default=0, show_default=True, help="of the subsamples that show stability")
@click.option("--curriculum", type=click.Path(dir_okay=False, path_type=Path), help="write the steps, easiest first")
@options.as_json
def command(selection: str, radius: float, least: int, seed: int, curriculum: Path | None, as_json: bool) -> int:
    """Group the steps that caused failures, and say what goes wrong where.

    A step counts that an attribution names or that a validated repair mends. Groups are found by what the step does
    and what it saw; how stable they are, and the share of steps in no group, is said with them.
    """
    from butfor.repairs.many import Selection
    from butfor.repairs.skills import causal_steps, skills_of, write_curriculum

    chosen = Selection.parse(selection)
    with options.open_store() as store:
        steps = causal_steps(store, [each.run_id for each in store.list_runs() if chosen.takes(each)])
    skills = skills_of(steps, radius=radius, least=least, seed=seed)
    rows = None if curriculum is None else write_curriculum(skills, curriculum)
    if as_json:
        click.echo(json.dumps(skills.to_json(), indent=2))
    else:
        _show(skills)
        if rows is not None:
            click.echo(f"{curriculum}: {rows} steps, the easiest first")
    return 0


def _show(skills: Skills) -> None:
    from butfor.report.visible import one_line

    console = Console(highlight=False)
    console.print(Text(skills.sentence))
    table = Table(box=None, pad_edge=False, header_style="bold")
    for heading in ("steps", "runs", "mended", "where", "stable"):
        table.add_column(heading, justify="right", no_wrap=True)
    table.add_column("what goes wrong", overflow="fold")
    for each in skills.skills:
        low, _, high = each.where
        place = f"{low:.0%}" if low == high else f"{low:.0%}-{high:.0%}"
        counts = (str(len(each.members)), str(each.runs), str(each.mended), place, f"{each.stability:.2f}")
        table.add_row(*counts, Text(one_line(each.name, 200)))
        for i in each.members[:2]:
            step = skills.steps[i]
            table.add_row(
                "", "", "", "", "", Text(one_line(f"{step.run_id} step {step.step}: {step.action}", 160), "dim")
            )
    if skills.unclustered:
        table.add_row(str(len(skills.unclustered)), "", "", "", "", Text("in no group", style="dim"))
    if skills.skills or skills.unclustered:
        console.print(table)
    console.print(
        Text("where: position in the run, 0% its first step, 100% its last. stable: below 0.6 do not trust.", "dim")
    )
