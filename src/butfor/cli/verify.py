"""`butfor verify`: derive a certificate again, offline, and print each check."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING

import click

from butfor.errors import NotFound

if TYPE_CHECKING:
    from butfor.gate.verify import Report

_FILE = click.Path(dir_okay=False, path_type=Path)
_MARKS = {"ok": "ok    ", "failed": "FAILED", "not recomputed": "?     "}
_LEVELS = {
    "rows": "the numbers were derived again from the rows",
    "statistics": "the numbers were derived again from counts and sums; that these are the rows' is attested",
    "attested": "the numbers could not be derived again: they are attested by the signature only",
    "nothing": "the verdict came before any evidence was looked at",
}


@click.command("verify", epilog="Exit codes: 0 no check failed; 1 a check failed; 2 unusable input.")
@click.argument("certificate", type=_FILE)
@click.option("--trust", type=_FILE, envvar="BUTFOR_TRUST", metavar="KEYS", help="trust file: whose signatures count")
@click.option("--evidence", type=_FILE, help="the evidence's rows, or the table that they were read from")
@click.option("--bundle", type=_FILE, help="what `butfor gate export` wrote; CERTIFICATE itself may be one, too")
@click.option("--call", type=_FILE, help="the tool call, to derive its digest again")
@click.option("--policy", type=_FILE, help="the policy file, to derive its digest again")
@click.option("--signed-policy", is_flag=True, help="fail where no trusted approver signed the policy")
@click.option("--store", type=click.Path(file_okay=False, path_type=Path), help="a store (default: BUTFOR_HOME)")
@click.option("--json", "as_json", is_flag=True, help="print JSON")
def command(
    certificate: Path,
    trust: Path | None,
    evidence: Path | None,
    bundle: Path | None,
    call: Path | None,
    policy: Path | None,
    signed_policy: bool,
    store: Path | None,
    *,
    as_json: bool,
) -> int:
    """Derive everything that CERTIFICATE says again: signature, graph, proof, numbers, verdict, ledger.

    A check is ok, FAILED, or "?": it could not be made with what is at hand, and the line says what is missing. Without
    --trust no signature counts, so the check of it fails; a key inside a certificate is never looked at.
    """
    from butfor.gate.certificate.bundle import MAGIC, Bundle
    from butfor.gate.policy.reading import read_policy
    from butfor.gate.signing.trust import TrustFile
    from butfor.gate.verify import Given, verify
    from butfor.gate.verify.gathering import read_bundle, read_rows, with_bundle, with_store
    from butfor.store.location import home

    data = _read(certificate)
    brought = None if bundle is None else read_bundle(bundle)
    if data.startswith(MAGIC):
        brought = brought or Bundle.from_bytes(data)
        data = Bundle.from_bytes(data).certificate
    given = Given(
        trust=None if trust is None else TrustFile.read(trust),
        rows=None if evidence is None else read_rows(evidence, data),
        call=None if call is None else _read(call),
        policy=None if policy is None else read_policy(policy)[0],
        demand_signed_policy=signed_policy,
    )
    given = with_bundle(given, brought) if brought is not None else with_store(given, data, store or home())
    report = verify(data, given)
    _tell(report, as_json=as_json)
    return 0 if report.ok else 1


def _read(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError as error:
        raise NotFound(f"it cannot be read ({error.strerror})", where=str(path), fix="check the path") from None


def _tell(report: Report, *, as_json: bool) -> None:
    if as_json:
        click.echo(json.dumps(report.to_json(), indent=2, ensure_ascii=False))
        return
    click.echo(report.digest)
    for check in report.checks:
        click.echo(f"{_MARKS[check.status]}  {check.name:<10}  {check.sentence}")
    click.echo(_LEVELS[report.level])
    wrong = [check.name for check in report.checks if check.status == "failed"]
    click.echo(f"FAILED: {', '.join(wrong)}" if wrong else "no check failed")
