"""`butfor gate verify-log`: is the ledger whole?"""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING

import click

from butfor.cli.gate_store import ledger_of

if TYPE_CHECKING:
    from butfor.gate.ledger.checks import LogReport

_file = click.Path(dir_okay=False, path_type=Path)


@click.command("verify-log")
@click.option("--since", type=_file, metavar="CHECKPOINT", help="a checkpoint that was kept elsewhere")
@click.option("--trust", type=_file, metavar="FILE", help="whose checkpoints count; without, no signature is looked at")
@click.option("--json", "as_json", is_flag=True, help="print JSON")
def command(since: Path | None, trust: Path | None, *, as_json: bool) -> int:
    """Derive every hash of the ledger again. Exit code 1 where something was changed, dropped or moved.

    Without --since, entries missing at the end, or a ledger made anew as a whole, cannot be seen, and the output says
    so.
    """
    from butfor.gate.ledger.checkpoints import Checkpoint
    from butfor.gate.ledger.checks import verify_log
    from butfor.gate.signing.trust import TrustFile

    known = None if since is None else Checkpoint.read(since)
    keys = None if trust is None else TrustFile.read(trust)
    with ledger_of() as ledger:
        report = verify_log(ledger, since=known, trust=keys)
    if as_json:
        click.echo(json.dumps(report.to_json(), indent=2, ensure_ascii=False))
    else:
        _tell(report)
    return 0 if report.ok else 1


def _tell(report: LogReport) -> None:
    click.echo(f"{report.entries} entries, head {report.head}")
    for each in report.findings:
        click.echo(f"  {each.fault:<15}  {each.sentence}")
    if report.ok:
        click.echo("every entry is what its hash says, and continues the one before")
        if report.since is not None:
            click.echo(f"entries 1 to {report.since} are those that were signed")
    for sentence in report.not_checked:
        click.echo(f"not checked: {sentence}")
