"""`butfor gate approve` and `butfor gate bypass`: allow one exact call, for a while and so many times."""

from __future__ import annotations

import json
import sys
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

import click

from butfor.cli.options import about
from butfor.errors import InputError, NotFound

if TYPE_CHECKING:
    from butfor.gate.action import Action
    from butfor.gate.approvals import Permit, PermitKind

_APPROVE = """Approve the exact tool call in the JSON file CALL (- for standard input), as an approver.

Where a policy entry says "approval: required", a call that is proven runs once it is approved; each time uses the
approval once. A call that is not proven stays refused. An approval holds for this call only, argument by argument, for
a while and for so many times.
"""
_BYPASS = """Let the exact tool call in the JSON file CALL (- for standard input) run whatever the gate says.

For emergencies: signed by an approver, for this call only, for a while and for so many times. The certificate keeps
saying what the gate found, and the ledger that the call was let through.
"""


def permit_command(name: str, kind: PermitKind, words: str) -> click.Command:
    """Make the command that grants permits of a kind."""

    @click.command(name, help=words)
    @click.argument("call")
    @click.option("--reason", required=True, help="why, for whoever reads the ledger")
    @click.option("--for", "lasting", default="1h", show_default=True, help="how long it holds: 15m, 2h, 1d")
    @click.option("--uses", type=click.IntRange(1, 1000), default=1, show_default=True, help="how often")
    @click.option("--withdraw", is_flag=True, help="take back what was granted for this call")
    @click.option("--key", metavar="ID", help="sign with this approver key (default: the newest)")
    @click.option(
        "--trust",
        type=click.Path(dir_okay=False, path_type=Path),
        default=Path("trust.json"),
        envvar="BUTFOR_TRUST",
        show_default=True,
        show_envvar=True,
        help="the trust file that the gate uses: a signature that does not count there is refused here",
    )
    @click.option("--json", "as_json", is_flag=True, help="print JSON")
    def command(
        call: str, reason: str, lasting: str, uses: int, key: str | None, trust: Path, *, withdraw: bool, as_json: bool
    ) -> int:
        from butfor.gate.approvals import NotPermitted, Permit, Terms, grant
        from butfor.gate.approvals import lasting as times
        from butfor.gate.ledger.chain import Ledger
        from butfor.gate.policy.durations import seconds
        from butfor.gate.signing.keys import default_directory, signer_for
        from butfor.gate.signing.trust import TrustFile

        action, keys = _call(call), TrustFile.read(trust)
        begins, ends = times(datetime.now(UTC), seconds(lasting))
        terms = Terms(
            kind=kind,
            call=action.digest,
            tool=action.tool,
            reason=reason,
            uses=0 if withdraw else uses,
            valid_from=begins,
            valid_until=ends,
        )
        permit = Permit.sign(terms, signer_for(default_directory(), "approver", key_id=key))
        with Ledger.open() as ledger:
            granted = grant(ledger, permit, keys)
        if isinstance(granted, NotPermitted):
            raise InputError(f"nothing was granted: {granted.sentence}", where=str(trust))
        _tell(action, permit, granted.position, as_json=as_json)
        return 0

    return command


def _call(name: str) -> Action:
    from butfor.gate.action import Action

    try:
        data = sys.stdin.buffer.read() if name == "-" else Path(name).read_bytes()
    except OSError as error:
        raise NotFound(f"cannot read the call ({error.strerror})", where=name, fix="give a JSON file, or -") from None
    with about(name):
        return Action.read(data)


def _tell(action: Action, permit: Permit, position: int, *, as_json: bool) -> None:
    if as_json:
        click.echo(json.dumps({"entry": position, **permit.terms.to_json()}, indent=2, ensure_ascii=False))
        return
    terms = permit.terms
    arguments = json.dumps(dict(action.arguments), ensure_ascii=False)
    click.echo(f"{action.tool} {arguments}")
    click.echo(terms.call)
    if terms.uses:
        click.echo(f"{terms.kind} for {terms.uses} use{'s' * (terms.uses != 1)} until {terms.to_json()['valid_until']}")
    else:
        click.echo(f"every {terms.kind} of this call is withdrawn")
    click.echo(f"entry {position} of the ledger, signed by {permit.signature.key}")


command = permit_command("approve", "approval", _APPROVE)
bypass = permit_command("bypass", "bypass", _BYPASS)
