"""`butfor attribute`: which step caused the outcome."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import click
from rich.console import Console

from butfor.cli import options, progress

if TYPE_CHECKING:
    from butfor.attribution import Quote


@click.command("attribute")
@click.argument("run")
@click.option(
    "--method",
    default="search",
    show_default=True,
    help="search, profile, shapley, shapley-published or responsibility",
)
@click.option(
    "--draws",
    type=click.IntRange(1),
    default=64,
    show_default=True,
    help="profile, responsibility: rollouts of each arm",
)
@click.option("--max-help", type=float, help="search: assume that no step helps by more than this (η)")
@click.option("--rollouts", type=click.IntRange(2), default=2048, show_default=True, help="shapley: rollouts in all")
@click.option("--seed", type=int, default=0, show_default=True, help="shapley: of the orders in which steps are held")
@click.option("--proposals", type=click.Path(dir_okay=False), help='responsibility: JSON file {"step": [actions]}')
@options.level("--alpha", 0.05, "error level of the whole answer")
@options.level("--margin", 0.10, "δ of the commit point")
@options.agent
@options.outcome
@options.budgeted
@options.as_json
def command(
    run: str,
    method: str,
    draws: int,
    max_help: float | None,
    rollouts: int,
    seed: int,
    proposals: str | None,
    alpha: float,
    margin: float,
    as_json: bool,
    **rest: Any,
) -> int:
    """Say which step of RUN caused its outcome, by deciding steps again and letting the rest happen.

    No model call and no tool call is made before the changed step, and no write tool ever runs unless it is allowed.
    """
    from butfor.attribution import Ask, Margins, NotReplayable, attribute_run
    from butfor.report import gather_report, print_terminal

    ask = Ask(
        draws=draws,
        margins=Margins(alpha=alpha, commit=margin),
        max_help=max_help,
        rollouts=rollouts,
        seed=seed,
        proposals=options.read_proposals(proposals),
    )
    with options.open_store() as store, progress.shown("rollouts") as bar:
        attribution = attribute_run(
            run,
            store=store,
            method=method,
            ask=ask,
            question=options.question_of(rest),
            announce=_announce,
            progress=bar,
        )
        data = gather_report(store, attribution.run_id, result_id=attribution.result_id)
    if as_json:
        click.echo(json.dumps(attribution.to_json(), indent=2, ensure_ascii=False))
    else:
        print_terminal(data, Console())
        click.echo(f"next: butfor report {attribution.run_id} --out report.html", err=True)
    if attribution.stopped and "interrupted" in attribution.stopped:
        return 130
    return 3 if isinstance(attribution.answer, NotReplayable) else 0


def _announce(quote: Quote) -> None:
    click.echo(f"price: {quote}", err=True)
