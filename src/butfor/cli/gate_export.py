"""`butfor gate export`: one file for an auditor who does not have the store."""

from __future__ import annotations

import json
from pathlib import Path

import click

from butfor.canonical import digest_text
from butfor.cli.options import about
from butfor.errors import InputError, NotFound

_FILE = click.Path(dir_okay=False, path_type=Path)


@click.command("export")
@click.argument("certificate", type=_FILE)
@click.option("--out", type=_FILE, help="the bundle (default: CERTIFICATE with .bundle in the place of its suffix)")
@click.option("--evidence", type=_FILE, help="the evidence, where the store has not kept its rows")
@click.option("--store", type=click.Path(file_okay=False, path_type=Path), help="a store (default: BUTFOR_HOME)")
@click.option("--json", "as_json", is_flag=True, help="print JSON")
def command(certificate: Path, out: Path | None, evidence: Path | None, store: Path | None, *, as_json: bool) -> int:
    """Write CERTIFICATE, its evidence, its graph and its piece of the ledger into one file.

    The file holds no keys: whose signatures count, the auditor says (butfor verify CERTIFICATE --bundle FILE --trust
    KEYS). The rows of the evidence are in it as they are.
    """
    from butfor.gate.certificate.envelope import unseal
    from butfor.gate.verify.gathering import bundle_of
    from butfor.store.location import home

    path = out or certificate.with_suffix(".bundle")
    try:
        data = certificate.read_bytes()
    except OSError as error:
        raise NotFound(f"it cannot be read ({error.strerror})", where=str(certificate), fix="check the path") from None
    with about(certificate):
        unseal(data)
    bundle = bundle_of(data, home=store or home(), evidence=evidence)
    written = bundle.to_bytes()
    try:
        path.write_bytes(written)
    except OSError as error:
        raise InputError(f"the bundle cannot be written ({error.strerror})", where=str(path)) from None
    if as_json:
        said = {"bundle": str(path), "bytes": len(written), "digest": digest_text(written)}
        click.echo(json.dumps({**said, "missing": list(bundle.missing)}, indent=2, ensure_ascii=False))
        return 0
    click.echo(f"{path}: {len(written):,} bytes")
    for words in bundle.missing:
        click.echo(f"  not in it: {words}")
    return 0
