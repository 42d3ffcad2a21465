"""`butfor gate sign`: sign a policy, as an approver."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

import click

from butfor.cli.noting import note
from butfor.errors import InputError

if TYPE_CHECKING:
    from butfor.gate.policy.signatures import PolicySignature

_FILE = click.Path(dir_okay=False, path_type=Path)


@click.command("sign")
@click.argument("policy", type=_FILE, default=Path("gate.yaml"))
@click.option("--reason", default="", help="why, for whoever reads the signature")
@click.option("--key", metavar="ID", help="id of the approver key (default: the newest that is here)")
@click.option("--keys", type=click.Path(path_type=Path), help="where private keys are (default: BUTFOR_KEYS)")
@click.option(
    "--trust",
    type=_FILE,
    envvar="BUTFOR_TRUST",
    show_envvar=True,
    help="the trust file that the gate is given: a signature that does not count there is refused here",
)
@click.option("--json", "as_json", is_flag=True, help="print JSON")
def command(policy: Path, reason: str, key: str | None, keys: Path | None, trust: Path | None, *, as_json: bool) -> int:
    """Sign POLICY with an approver key, in a file beside it. A policy that is edited is to be signed again.

    A gate asks for it where its operator gives it a trust file of its own: --trust, or BUTFOR_TRUST.
    """
    from butfor.gate.policy.entry import policy_digest
    from butfor.gate.policy.reading import read_policy
    from butfor.gate.policy.signatures import PolicySignature, write_signature
    from butfor.gate.signing.keys import default_directory, signer_for

    read, _ = read_policy(policy)
    digest, signer = policy_digest(read), signer_for(keys or default_directory(), "approver", key_id=key)
    now = datetime.now(UTC).replace(microsecond=0)
    made = PolicySignature.of(digest, signer=signer, at=now, reason=reason)
    if trust is not None:
        _refuse_uncounted(trust, made, now)
    file = write_signature(policy.resolve(), made)
    note("policy", digest, {"event": "sign", "policy": digest, "key": signer.key_id, "reason": reason})
    if as_json:
        said = {"policy": digest, "key": signer.key_id, "reason": reason, "file": str(file)}
        click.echo(json.dumps(said, indent=2, ensure_ascii=False))
    else:
        click.echo(f"{policy} {digest}")
        click.echo(f"signed by {signer.key_id}: {file.name}")
    return 0


def _refuse_uncounted(trust: Path, made: PolicySignature, now: datetime) -> None:
    """Refuse a signature that the gate would not count, before there is a file of it."""
    from butfor.gate.signing.trust import Distrust, TrustFile

    found = TrustFile.read(trust).check(kind="policy", payload=made.payload, signature=made.signature, at=now)
    if isinstance(found, Distrust):
        raise InputError(f"this signature does not count: {found.sentence}", where=str(trust))
