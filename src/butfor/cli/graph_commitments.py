"""`butfor graph commit|approve|log`: the versions of a graph that a gate may use."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from butfor.cli.noting import note
from butfor.errors import NotFound
from butfor.gate.commitments import directory as commitments
from butfor.gate.commitments.directory import Statement
from butfor.gate.signing.keys import default_directory, signer_for
from butfor.gate.signing.trust import Trusted, TrustFile, moment
from butfor.graphs import read_file

if TYPE_CHECKING:
    from butfor.estimation.evidence.description import Kind
    from butfor.gate.commitments.directory import Commitment

# Written out, since the room that has them imports NumPy; a test compares.
KINDS: tuple[Kind, ...] = ("observational", "randomised", "mixed", "policy-confounded")

_directory = click.option(
    "--in", "directory", type=click.Path(path_type=Path), default=Path("graphs"), show_default=True,
    help="the folder of commitments, kept in your repository",
)  # fmt: skip
_json = click.option("--json", "as_json", is_flag=True, help="print JSON")


@click.command("commit")
@click.argument("file", type=click.Path(dir_okay=False))
@click.option("--name", required=True, help="what the graph is called")
@click.option("--author", required=True, help="who stands for it")
@click.option("--reason", required=True, help="why this graph, or why this change")
@click.option("--expires", metavar="TIME", help="from when on no gate uses it (default: in 180 days)")
@click.option("--evidence-kind", type=click.Choice(KINDS), help="the evidence that it will be read with")
@click.option(
    "--unconfounded", nargs=3, multiple=True, metavar="T Y REASON",
    help="state why there is no T <-> Y though the agent chose T itself",
)  # fmt: skip
@_directory
@_json
def commit(
    file: str,
    name: str,
    author: str,
    reason: str,
    expires: str | None,
    evidence_kind: str | None,
    unconfounded: tuple[tuple[str, str, str], ...],
    directory: Path,
    *,
    as_json: bool,
) -> int:
    """Write FILE as the next version of a graph. A gate uses it once an approver has signed it."""
    now = datetime.now(UTC).replace(microsecond=0)
    made = commitments.commit(
        directory,
        name,
        read_file(file),
        author=author,
        reason=reason,
        at=now,
        expires_at=now + timedelta(days=180) if expires is None else moment(expires, "--expires"),
        statements=[Statement(treatment=t, outcome=y, reason=why) for t, y, why in unconfounded],
        evidence=next((kind for kind in KINDS if kind == evidence_kind), None),
    )
    note("graph", name, {"event": "commit", **_named(made), "author": author, "reason": reason})
    _tell([made], None, as_json=as_json)
    if not as_json:
        click.echo(f"not yet approved: butfor graph approve {name}")
    return 0


@click.command("approve")
@click.argument("name")
@click.option("--version", type=click.IntRange(1), help="which version (default: the newest)")
@click.option("--key", help="id of the approver key (default: the newest that is here)")
@click.option("--keys", type=click.Path(path_type=Path), help="where private keys are (default: BUTFOR_KEYS)")
@_directory
@_json
def approve(
    name: str, version: int | None, key: str | None, keys: Path | None, directory: Path, *, as_json: bool
) -> int:
    """Sign a version of the graph NAME with an approver key."""
    signer = signer_for(keys or default_directory(), "approver", key_id=key)
    now = datetime.now(UTC).replace(microsecond=0)
    approved = commitments.approve(directory, name, signer=signer, at=now, version=version)
    note("graph", name, {"event": "approve", **_named(approved), "key": signer.key_id})
    _tell([approved], None, as_json=as_json)
    return 0


@click.command("log")
@click.argument("name")
@click.option("--trust", type=click.Path(path_type=Path), metavar="FILE", help="say whose approvals count")
@_directory
@_json
def log(name: str, trust: Path | None, directory: Path, *, as_json: bool) -> int:
    """List the versions of the graph NAME, the newest last. With --trust, exit code 1 where a gate would use none."""
    trusted = None if trust is None else TrustFile.read(trust)
    versions = commitments.history(directory, name)
    if not versions:
        raise NotFound(
            f"no version of the graph {name!r} is committed",
            where=str(directory),
            fix=f"butfor graph commit FILE --name {name}",
        )
    _tell(versions, trusted, as_json=as_json)
    if trusted is None:
        return 0
    found = commitments.committed(directory, name, at=datetime.now(UTC), trust=trusted)
    if isinstance(found, commitments.NotCommitted):
        words, code = f"a gate uses none: {found.sentence}", 1
    else:
        words, code = f"a gate uses version {found.version}", 0
    if not as_json:
        click.echo(words)
    return code


def _named(version: Commitment) -> dict[str, Any]:
    return {"version": version.version, "commitment": version.digest, "graph": version.graph.digest}


def _tell(versions: list[Commitment], trust: TrustFile | None, *, as_json: bool) -> None:
    if as_json:
        documents = [{**each.to_json(), "digest": each.digest, **_approved(each, trust)} for each in versions]
        click.echo(json.dumps(documents, indent=2, ensure_ascii=False))
        return
    for each in versions:
        click.echo(f"{each.name} version {each.version}  {each.at}  {each.author}: {each.reason}")
        click.echo(f"  commitment {each.digest}")
        click.echo(f"  graph      {each.graph.digest}")
        over = ", expired" if each.is_expired(datetime.now(UTC)) else ""
        click.echo(f"  expires    {each.expires_at}{over}")
        for said in each.statements:
            click.echo(f"  states     no {said.treatment} <-> {said.outcome}: {said.reason}")
        for approval in each.approvals:
            click.echo(f"  approved   {approval.at} by {approval.signature.key}")
        if trust is not None and not isinstance(why := each.approver(trust, by=datetime.now(UTC)), Trusted):
            click.echo(f"  {why.sentence}")


def _approved(version: Commitment, trust: TrustFile | None) -> dict[str, Any]:
    return {} if trust is None else {"approved": isinstance(version.approver(trust, by=datetime.now(UTC)), Trusted)}
