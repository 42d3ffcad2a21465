"""`butfor gate budget`: what was spent and what is left; a new epoch."""

from __future__ import annotations

import getpass
import json
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

import click

from butfor.cli.gate_store import ledger_of

if TYPE_CHECKING:
    from butfor.gate.budget.spending import EpochSpent

_json = click.option("--json", "as_json", is_flag=True, help="print JSON")


@click.group("budget", invoke_without_command=True)
@_json
@click.pass_context
def command(context: click.Context, *, as_json: bool) -> int:
    """Show what is spent and left of α, by family, epoch and agent.

    A family is a tool, an outcome and a source of evidence. In an epoch, the chance that any harmful action of it is
    executed is at most α, if the assumptions hold.
    """
    if context.invoked_subcommand is not None:
        return 0
    from butfor.gate.budget.spending import spending

    with ledger_of() as ledger:
        found = spending(ledger)
    if as_json:
        click.echo(json.dumps({"budget": [each.to_json() for each in found]}, indent=2, ensure_ascii=False))
        return 0
    for each in found:
        _tell(each)
    if not found:
        click.echo("nothing was spent yet")
    return 0


@command.command("renew")
@click.argument("family")
@click.argument("file", type=click.Path(dir_okay=False, path_type=Path))
@click.option("--reason", required=True, help="why, for whoever reads the ledger")
@_json
def renew(family: str, file: Path, reason: str, *, as_json: bool) -> int:
    """Begin a new epoch of FAMILY (its digest or the beginning of it) with the evidence described beside FILE.

    Exit code 1 where the evidence shares rows with what was used, or cannot be shown not to: rows seen later (a time
    column) or rows of other names (a unit column) show it.
    """
    from butfor.estimation.evidence import open_evidence
    from butfor.gate.budget.epochs import Extent, Overlap, begin_epoch
    from butfor.gate.budget.spending import family_of

    evidence = open_evidence(file).evidence
    with ledger_of() as ledger:
        known = family_of(ledger, family)
        found = begin_epoch(
            ledger,
            family=known,
            evidence=evidence.digest,
            extent=Extent(window=evidence.window),
            reason=reason,
            by=getpass.getuser(),
        )
    refused = isinstance(found, Overlap)
    if as_json:
        document = {"overlap": found.sentence} if isinstance(found, Overlap) else {"epoch": found.number}
        click.echo(json.dumps(document, indent=2, ensure_ascii=False))
    elif isinstance(found, Overlap):
        click.echo(f"no new epoch (overlap): {found.sentence}")
    else:
        click.echo(
            f"epoch {found.number} of {known.tool} → {known.outcome} began at {datetime.now(UTC):%Y-%m-%d %H:%M}Z"
        )
    return 1 if refused else 0


def _tell(each: EpochSpent) -> None:
    from butfor.gate.budget.spending import share_in_words

    family = each.family
    click.echo(f"{family.tool} → {family.outcome} ({family.lineage}), epoch {each.epoch}  {family.digest[:19]}…")
    click.echo(f"  spent {each.spent:.4g} of {each.alpha:g}, left {each.left:.4g}")
    for share in each.shares:
        asked = f"{share.hypotheses} hypothes{'i' if share.hypotheses == 1 else 'e'}s"
        words = share_in_words(share.agent)
        click.echo(f"    {words}: {asked}, spent {share.spent:.4g} of {share.of:.4g}, left {share.left:.4g}")
