"""`butfor gate lint`: explain every mistake of a policy with line and column."""

from __future__ import annotations

import dataclasses
import json
from datetime import UTC, datetime
from pathlib import Path

import click

_POLICY = click.Path(dir_okay=False, path_type=Path)


@click.command("lint")
@click.argument("policy", type=_POLICY, default=Path("gate.yaml"))
@click.option(
    "--trust",
    type=_POLICY,
    metavar="FILE",
    help="the operator's trust file, which the gate will be given (default: BUTFOR_TRUST)",
)
@click.option("--schema", is_flag=True, help="print the JSON Schema of a policy file instead")
@click.option("--json", "as_json", is_flag=True, help="print JSON")
def command(policy: Path, trust: Path | None, schema: bool, as_json: bool) -> int:
    """Explain every mistake of POLICY, and say what its entries will do. Exit code 1 where there is a mistake."""
    if schema:
        from butfor.gate.policy import policy_schema

        click.echo(json.dumps(policy_schema(), indent=2, ensure_ascii=False))
        return 0
    from butfor.gate.policy.lint import lint
    from butfor.gate.policy.reading import read_file
    from butfor.gate.signing.trust import operators_trust

    place, now = policy.resolve(), datetime.now(UTC)
    findings = lint(read_file(policy), place.parent, now=now, name=place.name, trust=operators_trust(trust))
    if as_json:
        click.echo(json.dumps([dataclasses.asdict(each) for each in findings], indent=2, ensure_ascii=False))
    else:
        for each in findings:
            click.echo(f"{policy}:{each.line}:{each.column}: {each.severity}: {each.sentence}")
    mistakes = sum(each.severity == "mistake" for each in findings)
    if not as_json and not mistakes:
        click.echo("no mistakes")
    return 1 if mistakes else 0
