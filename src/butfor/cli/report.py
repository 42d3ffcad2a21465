"""`butfor report`: what is known about a run, on the terminal and as one HTML file."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import click
from rich.console import Console

from butfor.cli import options
from butfor.errors import InputError


@click.command("report")
@click.argument("run")
@click.option("--out", type=click.Path(path_type=Path), metavar="FILE", help="write the HTML page here; - for stdout")
@click.option("--result", "result_id", metavar="ID", help="which answer; the last one by default")
@click.option(
    "--rollout", "rollout_ids", multiple=True, metavar="ID", help="also show this rollout beside the run (repeatable)"
)
@options.as_json
def command(run: str, out: Path | None, result_id: str | None, rollout_ids: tuple[str, ...], as_json: bool) -> int:
    """Show the run RUN (an id or its beginning) and the last answer about it.

    With --out the same is written as one HTML file that needs no network and no script.
    """
    from butfor.report import gather_report, print_terminal, render_html

    with options.open_store() as store:
        data = gather_report(store, run, result_id=result_id, rollout_ids=rollout_ids)
    if out is not None and str(out) == "-":
        click.echo(render_html(data))
        return 0
    if out is not None:
        _write(out, render_html(data))
    if as_json:
        click.echo(json.dumps(data.to_json(), indent=2))
    elif out is None:
        print_terminal(data, Console(file=sys.stdout))
    if out is not None:
        click.echo(f"wrote {out.resolve()}", err=True)
    return 0


def _write(out: Path, page: str) -> None:
    try:
        out.write_text(page, encoding="utf-8")
    except OSError as error:
        raise InputError(
            f"cannot write the report ({error.strerror})", where=str(out), fix="give a file in a folder that exists"
        ) from None
