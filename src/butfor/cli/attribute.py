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
@click.option("--method", default="profile", show_default=True, help="how to look for the step")
@click.option("--draws", type=click.IntRange(1), default=64, show_default=True, help="rollouts of each step")
@click.option("--alpha", type=float, default=0.05, show_default=True, help="error level of the whole answer")
@click.option("--margin", type=float, default=0.10, show_default=True, help="δ of the commit point")
@options.agent
@options.outcome
@options.budgeted
@options.as_json
def command(run: str, method: str, draws: int, alpha: float, margin: float, as_json: bool, **rest: Any) -> int:
    """Say which step of RUN caused its outcome, by deciding steps again and letting the rest happen.

    No model call and no tool call is made before the changed step, and no write tool ever runs unless it is allowed.
    """
    from butfor.attribution import Margins, NotReplayable, attribute_run
    from butfor.report import gather_report, print_terminal
    from butfor.store import Store

    margins = Margins(alpha=alpha, commit=margin)
    with Store.open() as store, progress.shown("rollouts") as bar:
        attribution = attribute_run(
            run,
            store=store,
            method=method,
            draws=draws,
            margins=margins,
            question=options.question_of(rest),
            announce=_announce,
            progress=bar,
        )
        data = gather_report(store, attribution.run_id)
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
