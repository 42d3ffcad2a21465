"""`butfor gate rows`: decisions with outcomes as evidence."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from pathlib import Path

import click

from butfor.cli.gate_store import ledger_of


@click.command("rows")
@click.option("--tool", required=True, help="the tool whose decisions become rows")
@click.option("--out", required=True, type=click.Path(dir_okay=False, path_type=Path), help="a .parquet or .jsonl")
@click.option("--json", "as_json", is_flag=True, help="print JSON")
def command(tool: str, out: Path, *, as_json: bool) -> int:
    """Make evidence of decisions whose outcome is known: one row each, with the description beside it.

    Policy-confounded: the agent chose what to ask, and the gate what ran. Rows that a gate's rule selected fail
    positivity for that rule, and say so in gate_probability.
    """
    from butfor.estimation.evidence import Roles, read_file, save_evidence, write_rows
    from butfor.gate.selected_rows import NOTE, gate_rows, selected

    with ledger_of() as ledger:
        found = gate_rows(ledger, tool=tool)
    write_rows(found.table, out)
    roles = Roles(
        treatment=found.treatment,
        outcome=found.outcome,
        covariates=found.covariates,
        unit="decision",
        clusters="agent",
        time="told_at",
    )
    table = read_file(out, roles, kind="policy-confounded", now=datetime.now(UTC), note=NOTE)
    saved = save_evidence(table, out)
    chosen = selected(found.table)
    if as_json:
        document = {**table.evidence.to_json(), "gate_selected": chosen, "left_out": dict(found.left_out)}
        click.echo(json.dumps(document, indent=2, ensure_ascii=False))
        return 0
    click.echo(f"{table.evidence.rows} rows in {out}, described in {saved}")
    click.echo(f"{chosen} were selected by a gate's rule, and fail positivity for it")
    for why, n in found.left_out.items():
        click.echo(f"left out: {n} {why}")
    return 0
