"""`butfor record`: run an agent once, for real, and keep everything that a replay needs."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import click

from butfor.cli import options

if TYPE_CHECKING:
    from butfor.replay import Recorded


@click.command("record")
@click.option("--agent", required=True, metavar="MODULE:FUNCTION", help="the agent, f(input) -> output")
@click.option("--input", "input_name", required=True, metavar="FILE", help="its input as JSON; - for standard input")
@options.outcome
@click.option("--verify/--no-verify", default=True, show_default=True, help="replay untouched afterwards")
@click.option("--ambient", is_flag=True, help="also record time.time, random, numpy.random and uuid.uuid4")
@options.as_json
def command(agent: str, input_name: str, outcome: str | None, verify: bool, ambient: bool, as_json: bool) -> int:
    """Run an agent once, for real, and record it.

    The agent's tools act as they always do. Afterwards the run is replayed untouched, with every model and tool call
    served from the recording; code outside the boundaries (files, network, globals) runs again then.
    """
    from butfor.outcomes import find_outcome
    from butfor.replay import find_agent, record_run
    from butfor.store import Store

    score = find_outcome(outcome) if outcome is not None else None
    task = options.read_input(input_name)
    find_agent(agent)
    if verify:
        click.echo("recording; code outside the boundaries will run again to verify (--no-verify skips it)", err=True)
    with Store.open() as store:
        recorded = record_run(agent, task, store=store, score=score, verify=verify, ambient=ambient)
        store.save_spec(recorded.run.run_id, json.dumps({"agent": agent, "outcome": outcome}))
    run = recorded.run
    document = {
        "run_id": run.run_id,
        "steps": len(run.steps),
        "status": recorded.ending.status,
        "error": recorded.ending.error,
        "outcome": run.outcome.value if run.outcome else None,
        "grade": run.overall_grade.level.label,
        "differences": list(recorded.differences),
    }
    if as_json:
        click.echo(json.dumps(document, indent=2))
        return 0
    click.echo(run.run_id)
    steps = "1 step" if len(run.steps) == 1 else f"{len(run.steps)} steps"
    click.echo(f"{steps}, {recorded.ending.status}, graded {run.overall_grade.level.label}", err=True)
    if recorded.ending.error:
        click.echo(f"the agent raised {recorded.ending.error}", err=True)
    if run.outcome:
        click.echo(f"outcome {run.outcome.value:g} ({run.outcome.rule}; 1 = bad)", err=True)
    for difference in recorded.differences:
        click.echo(f"graded approximate: {difference}", err=True)
    click.echo(f"next: butfor attribute {run.run_id}{_missing(recorded)}", err=True)
    return 0


def _missing(recorded: Recorded) -> str:
    """Name the option that an attribution of this run cannot do without."""
    if recorded.run.outcome is not None:
        return ""
    return " --outcome 'failed()'" if recorded.ending.error else " --outcome RULE"
