"""`butfor demo`: the whole thread on an agent that comes with the package."""

from __future__ import annotations

import json
from pathlib import Path

import click
from rich.console import Console

from butfor.cli import options, progress


@click.command("demo")
@click.option("--seed", type=int, default=1, show_default=True, help="of the first conversation")
@click.option("--draws", type=click.IntRange(1), default=64, show_default=True, help="rollouts of each step")
@click.option(
    "--out",
    type=click.Path(dir_okay=False, path_type=Path),
    default=Path("butfor-demo.html"),
    show_default=True,
    help="the report's file",
)
@options.as_json
def command(seed: int, draws: int, out: Path, as_json: bool) -> int:
    """Let a support agent meet an order note with an injected instruction, and find the step that obeyed it.

    Needs no key and no network. Its policy is a small stochastic one; examples/local_model runs the same agent on a
    real language model.
    """
    from butfor.demo.story import QUESTION, tell
    from butfor.report import print_terminal
    from butfor.store import Store

    console = Console(stderr=as_json)
    console.print(f'A customer writes: "{QUESTION}" (the order is not eligible for a refund)')
    with Store.open() as store, progress.shown("rollouts") as bar:
        story = tell(
            store,
            out,
            seed=seed,
            draws=draws,
            say=console.print,
            announce=lambda quote: console.print(f"price: {quote}"),
            progress=bar,
        )
    if as_json:
        click.echo(json.dumps(story.attribution.to_json() | {"report": str(story.report)}, indent=2))
        return 0
    print_terminal(story.data, console)
    console.print(f"report: {story.report}")
    console.print(f"next: butfor repair {story.run_id}")
    console.print(f"next: butfor replay {story.run_id} --do 'resample(1)' -n 40")
    return 0
