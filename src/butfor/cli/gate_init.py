"""`butfor gate init`: write a commented policy to start from."""

from __future__ import annotations

from pathlib import Path

import click

from butfor.cli.options import open_store
from butfor.errors import InputError


@click.command("init")
@click.option("--tool", "tools", multiple=True, metavar="NAME", help="write an entry for this tool; may be repeated")
@click.option("--from-run", "run", metavar="RUN", help="one entry for each tool that a recorded run called")
@click.option("--from-attribution", "attribution", metavar="ID", help="the entry of the tool call that it blames")
@click.option(
    "--out",
    type=click.Path(dir_okay=False, path_type=Path),
    default=Path("gate.yaml"),
    show_default=True,
    help="where to write it; - prints it",
)
def command(tools: tuple[str, ...], run: str | None, attribution: str | None, out: Path) -> int:
    """Write a policy with a comment on every line that you must decide. It observes until you write enforce."""
    from butfor.gate.policy.starter import Draft, drafts_of_attribution, drafts_of_run, starter

    drafts = [Draft(tool=name) for name in tools]
    if run is not None or attribution is not None:
        with open_store() as store:
            drafts += drafts_of_run(store.load_run(run)) if run is not None else []
            drafts += drafts_of_attribution(store, attribution) if attribution is not None else []
    text = starter(drafts or [Draft(tool="my_tool")])
    if str(out) == "-":
        click.echo(text, nl=False)
        return 0
    try:
        with out.open("x", encoding="utf-8") as file:
            file.write(text)
    except FileExistsError:
        raise InputError("there is a policy already", where=str(out), fix="name another file with --out") from None
    except OSError as error:
        raise InputError(f"the policy cannot be written ({error.strerror})", where=str(out)) from None
    click.echo(f"wrote {out}; next: butfor gate lint {out}")
    return 0
