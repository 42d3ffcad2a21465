"""`butfor gate log`: read the ledger, sign where it stands."""

from __future__ import annotations

import json
from collections import deque
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from butfor.cli.gate_store import ledger_of
from butfor.errors import NotFound

if TYPE_CHECKING:
    from butfor.gate.ledger.chain import Entry

_json = click.option("--json", "as_json", is_flag=True, help="print JSON")
_file = click.Path(dir_okay=False, path_type=Path)


@click.group("log", invoke_without_command=True)
@click.option("--kind", help="only entries of this kind, such as decision, outcome, bypass or budget")
@click.option("--verdict", help="only decisions with this verdict")
@click.option("--reason", help="only decisions with this reason code")
@click.option("--tool", help="only what is about this tool")
@click.option("--agent", help="only what this agent asked")
@click.option("--since", metavar="TIME", help="not before this time (UTC where no zone is given)")
@click.option("--until", metavar="TIME", help="before this time")
@click.option("--last", type=click.IntRange(1), default=50, show_default=True, help="at most so many, the newest")
@_json
@click.pass_context
def command(
    context: click.Context, /, since: str | None, until: str | None, last: int, *, as_json: bool, **wanted: str | None
) -> int:
    """List what the gate decided, what became of it, and who allowed what, the oldest first.

    Every decision is here, refusals included. `butfor gate verify-log` says whether the list is whole.
    """
    if context.invoked_subcommand is not None:
        return 0
    from butfor.gate.ledger.log import Filter, in_words, selected, time_of, to_json

    begins = None if since is None else time_of(since, "--since")
    ends = None if until is None else time_of(until, "--until")
    with ledger_of() as ledger:
        shown = deque(selected(ledger, Filter(**wanted, since=begins, until=ends)), maxlen=last)
    if as_json:
        _print({"entries": [to_json(entry) for entry in shown]})
        return 0
    for entry in shown:
        click.echo(f"{entry.position:>6}  {entry.at[:19]}Z  {entry.kind:<10}  {in_words(entry)}")
    if not shown:
        click.echo("no entry is like this")
    return 0


@command.command("show")
@click.argument("name", metavar="POSITION|DECISION")
@click.option("--out", type=_file, help="write what is attached, such as the certificate, here")
@_json
def show(name: str, out: Path | None, *, as_json: bool) -> int:
    """Show one entry: by its position, or a decision by its id."""
    from butfor.gate.ledger.log import find, to_json

    with ledger_of() as ledger:
        entry = find(ledger, name)
        attached = ledger.attachment(entry.position)
    if out is not None:
        if attached is None:
            raise NotFound(f"nothing is attached to entry {entry.position}")
        out.write_bytes(attached)
    if as_json:
        _print(to_json(entry))
    else:
        _describe(entry)
    return 0


@command.command("checkpoint")
@click.option("--out", type=_file, help="write it here; keep it where the ledger is not")
@click.option("--key", metavar="ID", help="sign with this gate key (default: the newest)")
def checkpoint(out: Path | None, key: str | None) -> int:
    """Sign where the ledger stands, and print the checkpoint.

    Kept elsewhere, it shows later whether anything up to here was dropped or rewritten. Without one, nobody can see
    that the end of a ledger is missing.
    """
    from butfor.gate.ledger.checkpoints import make_checkpoint
    from butfor.gate.signing.keys import default_directory, signer_for

    signer = signer_for(default_directory(), "gate", key_id=key)
    with ledger_of() as ledger:
        made = make_checkpoint(ledger, signer)
    if out is None:
        click.echo(made.to_bytes().decode())
        return 0
    out.write_bytes(made.to_bytes())
    click.echo(f"entries 1 to {made.position} signed in {out}; keep a copy where the ledger is not")
    return 0


def _describe(entry: Entry) -> None:
    click.echo(f"entry {entry.position}, {entry.kind}, {entry.at}")
    for name in ("subject", "hash", "previous", "attachment"):
        if getattr(entry, name) is not None:
            click.echo(f"  {name:<10}  {getattr(entry, name)}")
    click.echo(json.dumps(dict(entry.payload), indent=2, ensure_ascii=False))


def _print(document: dict[str, Any]) -> None:
    click.echo(json.dumps(document, indent=2, ensure_ascii=False))
