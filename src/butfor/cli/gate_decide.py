"""`butfor gate decide`: decide about one tool call."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from butfor.cli.options import about
from butfor.errors import InputError

if TYPE_CHECKING:
    from butfor.gate import Action, Ruling

_FILE = click.Path(dir_okay=False, path_type=Path)
policy_option = click.option(
    "--policy", type=_FILE, default=Path("gate.yaml"), show_default=True, help="the policy file"
)
trust_option = click.option(
    "--trust",
    type=_FILE,
    metavar="FILE",
    help="the operator's trust file, in place of the policy's own: an approver in it must have signed the policy "
    "(default: BUTFOR_TRUST)",
)


@click.command(
    "decide",
    epilog="Exit codes: 0 the call may run; 10 REJECT; 11 EXPERIMENT; 12 ABSTAIN; 2 unusable input.",
)
@click.argument("call", default="-")
@policy_option
@trust_option
@click.option("--tool", help="instead of CALL: the tool")
@click.option("--arg", "arguments", multiple=True, metavar="NAME=VALUE", help="with --tool: an argument, JSON or text")
@click.option("--agent", help="who asks")
@click.option("--out", type=_FILE, help="write the certificate here")
@click.option("--request", type=_FILE, help="write the request of an EXPERIMENT verdict here")
@click.option("--json", "as_json", is_flag=True, help="print JSON")
def command(
    call: str,
    policy: Path,
    trust: Path | None,
    tool: str | None,
    arguments: tuple[str, ...],
    agent: str | None,
    out: Path | None,
    request: Path | None,
    as_json: bool,
) -> int:
    """Decide about the tool call in the JSON file CALL, by default standard input.

    CALL is {"tool": "name", "arguments": {}, "agent": "name"}. The decision is signed and recorded before it is
    printed.
    """
    from butfor.gate import Gate

    action = _read(call, tool, arguments, agent)
    with Gate.open(policy, trust=trust) as gate:
        ruling = gate.decide(action)
    return tell(ruling, out=out, request=request, as_json=as_json)


def tell(ruling: Ruling, *, out: Path | None, request: Path | None, as_json: bool) -> int:
    """Print a ruling, write what was asked for, and return the exit code."""
    from butfor.gate import REASONS

    if out is not None and ruling.certificate:
        _write(out, ruling.certificate)
    if request is not None and ruling.request is not None:
        text = json.dumps(ruling.request.to_json(), indent=2, ensure_ascii=False) + "\n"
        _write(request, text.encode())
    if as_json:
        click.echo(json.dumps(ruling.to_json(), indent=2, ensure_ascii=False))
    else:
        _print(ruling, out, request)
    return 0 if ruling.allowed else REASONS[ruling.reason].exit_code


def _print(ruling: Ruling, out: Path | None, request: Path | None) -> None:
    click.echo(ruling.headline())
    for each in ruling.missing:
        click.echo(f"- {each}")
    decision = ruling.decision
    if decision.lower is not None and decision.upper is not None:
        level = "" if decision.alpha is None else f" (each side wrong with chance at most {decision.alpha:.3g})"
        click.echo(f"{decision.bound_on}: between {decision.lower:.4g} and {decision.upper:.4g}{level}")
    if ruling.request is not None:
        size = ruling.request.size
        cap = "" if size.within_cap else f", more than the policy's {ruling.request.most_units} units"
        click.echo(f"a trial needs {size.per_arm} units an arm{cap}: {size.words}")
        for remedy in ruling.request.remedies:
            click.echo(f"or: {remedy}")
    if ruling.approval is not None:
        click.echo(f"used the approval {ruling.approval}")
    place = "not recorded" if ruling.position is None else f"entry {ruling.position} of the ledger"
    click.echo(f"decision {ruling.id}, {place}")
    for path in (out, request if ruling.request is not None else None):
        if path is not None and path.exists():
            click.echo(f"wrote {path}")


def _read(call: str, tool: str | None, arguments: tuple[str, ...], agent: str | None) -> Action:
    from dataclasses import replace

    from butfor.gate import Action

    if tool is not None:
        return Action(tool=tool, arguments=dict(map(_argument, arguments)), agent=agent or "default")
    if arguments:
        raise InputError("--arg goes with --tool", fix="name the tool, or put the arguments into CALL")
    with about(call):
        action = Action.read(_bytes(call))
    return action if agent is None else replace(action, agent=agent)


def _argument(text: str) -> tuple[str, Any]:
    from butfor.gate.signing.strict_json import parse_strict

    name, equals, value = text.partition("=")
    if not equals or not name:
        raise InputError(f"{text!r} is no argument", fix="write NAME=VALUE")
    try:
        return name, parse_strict(value.encode())
    except InputError:
        if value[:1] in '{["' or value.lstrip("-")[:1].isdigit():
            raise  # a number that would be rounded must not become a text by itself
        return name, value


def _bytes(call: str) -> bytes:
    if call == "-":
        return sys.stdin.buffer.read()
    try:
        return Path(call).read_bytes()
    except OSError as error:
        raise InputError(f"the call cannot be read ({error.strerror})", where=call, fix="check the path") from None


def _write(path: Path, data: bytes) -> None:
    try:
        path.write_bytes(data)
    except OSError as error:
        raise InputError(f"the file cannot be written ({error.strerror})", where=str(path)) from None
