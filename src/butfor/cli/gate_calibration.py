"""`butfor gate calibration`: what executed decisions were promised, and what happened."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import click

from butfor.cli.gate_store import ledger_of
from butfor.cli.options import level

if TYPE_CHECKING:
    from butfor.gate.calibration import Calibration, Promise


@click.command("calibration")
@level("--alpha", 0.05, "how often, at most, an interval may miss")
@click.option("--json", "as_json", is_flag=True, help="print JSON")
def command(alpha: float, *, as_json: bool) -> int:
    """Hold executed decisions against their outcomes. Exit code 1 where a promise was broken."""
    from butfor.gate.calibration import calibrate

    with ledger_of() as ledger:
        found = calibrate(ledger, alpha=alpha)
    if as_json:
        click.echo(json.dumps({"calibration": [each.to_json() for each in found]}, indent=2, ensure_ascii=False))
    else:
        _tell(found)
    promises = [promise for each in found for promise in (each.level, each.risk) if promise is not None]
    return 1 if any(promise.standing == "broken" for promise in promises) else 0


def _tell(found: list[Calibration]) -> None:
    if not found:
        click.echo("no executed decision has an outcome yet: butfor gate outcome DECISION VALUE")
    for each in found:
        click.echo(f"{each.tool} → {each.outcome}: {each.executed} executed decisions with outcomes")
        for promise in (each.level, each.risk):
            if promise is not None:
                click.echo(f"  {promise.standing:<7}  {promise.words}: {promise.promised:.4g}; {_happened(promise)}")
        if each.level is None and each.risk is None:
            click.echo(
                "  their certificates bound neither the level nor the risk: nothing was promised of single outcomes"
            )


def _happened(promise: Promise) -> str:
    from butfor.confidence.estimates import Undefined

    found = promise.happened
    if isinstance(found, Undefined):
        return found.reason
    return f"happened {found.point:.4g} ({found.lower:.4g} to {found.upper:.4g}, {found.method})"
