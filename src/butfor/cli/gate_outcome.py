"""`butfor gate outcome`: tell what became of a decision."""

from __future__ import annotations

import json

import click

from butfor.cli.gate_store import ledger_of


@click.command("outcome", context_settings={"ignore_unknown_options": True})
@click.argument("decision")
@click.argument("value", type=float)
@click.option("--ran/--did-not-run", default=None, help="whether the call was made (default: where the gate let it)")
@click.option("--json", "as_json", is_flag=True, help="print JSON")
def command(decision: str, value: float, ran: bool | None, *, as_json: bool) -> int:
    """Tell that DECISION came to VALUE, in the unit of the outcome column.

    Late is fine, and telling the same twice changes nothing; another value is refused. `butfor gate calibration` holds
    promises against outcomes, `butfor gate rows` makes evidence of them.
    """
    from butfor.gate.outcomes import tell

    with ledger_of() as ledger:
        told = tell(ledger, decision, value, ran=ran)
    if as_json:
        click.echo(json.dumps({"entry": told.entry.position, "new": told.new, **told.entry.payload}, indent=2))
        return 0
    known = "" if told.new else " already"
    ran_words = "ran" if told.entry.payload["ran"] else "did not run"
    click.echo(f"{decision} {ran_words} and came to {value:g}: entry {told.entry.position} of the ledger{known}")
    return 0
