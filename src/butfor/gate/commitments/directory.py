"""A directory of graph commitments, to be kept in the user's repository.

::

    graphs/restart/0001.json                   the commitment and its graph
    graphs/restart/0001.approval.<key>.json    one file an approver, so that approvals never conflict

Nothing is overwritten: a change is a new version that names the digest of the one before. A gate uses the newest
version that an approver signed, unless it has expired; a version that is still a draft changes nothing. That a newest
file was deleted cannot be seen here: the ledger keeps which versions were used and approved.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING

from butfor.errors import ButforError, CorruptRecord, InputError, NotFound
from butfor.gate.commitments.commitment import Approval, Commitment, NotCommitted, Statement, graph_of
from butfor.gate.signing.new_file import write_new
from butfor.gate.signing.strict_json import canonical_bytes, parse_canonical
from butfor.gate.signing.trust import Trusted, stamp

if TYPE_CHECKING:
    from collections.abc import Iterable
    from datetime import datetime

    from butfor.estimation.evidence.description import Kind
    from butfor.gate.signing.signatures import Signer
    from butfor.gate.signing.trust import TrustFile
    from butfor.graphs import Graph

__all__ = ["Approval", "Commitment", "NotCommitted", "Statement", "approve", "commit", "committed", "history"]

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,99}")
_VERSION = re.compile(r"(\d{4,})\.json")


def commit(
    directory: Path | str,
    name: str,
    graph: Graph,
    *,
    author: str,
    reason: str,
    at: datetime,
    expires_at: datetime,
    statements: Iterable[Statement] = (),
    evidence: Kind | None = None,
) -> Commitment:
    """Write the next version of a graph; nobody has approved it yet.

    Args:
        directory: Where graphs are kept.
        name: What the graph is called.
        graph: The graph.
        author: Who wrote it.
        reason: Why.
        at: Now.
        expires_at: From when on no gate uses it.
        statements: Why latent edges that the evidence suggests are left out.
        evidence: The kind of evidence that it will be read with, where known: a missing statement is then refused here
            and not first by the gate.

    Raises:
        InputError: Nothing changed, a text is empty, it would be expired at once, or the statement is missing that
            evidence from agents' own runs takes.
        CorruptRecord: An earlier version is damaged.
    """
    for what, text in (("author", author), ("reason", reason)):
        if not text.strip():
            raise InputError(f"a commitment needs its {what}", fix=f"give the {what}")
    if expires_at <= at:
        raise InputError(
            "a commitment that is expired when it is made", where=stamp(expires_at), fix="give a later time"
        )
    before = history(directory, name)
    last = before[-1] if before else None
    made = Commitment(
        name=name,
        version=len(before) + 1,
        graph=graph,
        previous=None if last is None else last.digest,
        author=author,
        reason=reason,
        at=stamp(at),
        expires_at=stamp(expires_at),
        statements=tuple(statements),
    )
    _refuse_unstated(made, evidence)
    data = canonical_bytes({"commitment": made.signed_part(), "graph": graph.to_json()})
    write_new(_path(directory, name, made.version), data)
    return made


def approve(
    directory: Path | str, name: str, *, signer: Signer, at: datetime, version: int | None = None
) -> Commitment:
    """Sign a version, by default the newest.

    Raises:
        NotFound: There is no such version.
        InputError: The key has signed it already, or it has expired.
        CorruptRecord: A version is damaged.
    """
    versions = history(directory, name)
    wanted = len(versions) if version is None else version
    if not 1 <= wanted <= len(versions):
        raise NotFound(
            f"there is no version {wanted} of the graph {name!r}", where=str(directory), fix="see `butfor graph log`"
        )
    chosen = versions[wanted - 1]
    if chosen.is_expired(at):
        raise InputError(f"version {wanted} of {name!r} expired at {chosen.expires_at}", fix="commit a new version")
    approval = Approval.of(chosen.digest, signer=signer, at=at)
    key = signer.key_id.partition(":")[2]
    path = _path(directory, name, wanted).with_suffix(f".approval.{key}.json")
    write_new(path, canonical_bytes(approval.to_json()))
    return history(directory, name)[wanted - 1]


def history(directory: Path | str, name: str) -> list[Commitment]:
    """Return every version, the first first; each names the digest of the one before.

    Raises:
        InputError: The name cannot be a folder's.
        CorruptRecord: A file is damaged, a version is missing, or the chain is broken.
    """
    folder = _path(directory, name, 1).parent
    names = [found for path in folder.glob("*.json") if (found := _VERSION.fullmatch(path.name))]
    numbers = sorted(int(found.group(1)) for found in names)
    versions: list[Commitment] = []
    for number in numbers:
        path = _path(directory, name, number)
        one = _read(path)
        previous = versions[-1].digest if versions else None
        if (one.name, one.version, number, one.previous) != (name, number, len(versions) + 1, previous):
            raise CorruptRecord("the chain of versions is broken here", where=str(path), fix="restore the files")
        versions.append(one)
    return versions


def files_of(directory: Path | str, name: str, *, since: int = 1) -> list[str]:
    """Return the files of a graph's versions and of their approvals, sorted.

    Args:
        directory: Where graphs are kept.
        name: What the graph is called.
        since: Leave out the versions before this one.

    Raises:
        InputError: The name cannot be a folder's.
    """
    found = []
    for path in _path(directory, name, 1).parent.glob("*.json"):
        number = path.name.partition(".")[0]
        if number.isdecimal() and int(number) >= since:
            found.append(str(path))
    return sorted(found)


def committed(directory: Path | str, name: str, *, at: datetime, trust: TrustFile) -> Commitment | NotCommitted:
    """Return the version that a gate uses: the newest that a trusted approver signed, unless it has expired.

    Args:
        directory: Where graphs are kept.
        name: What the graph is called.
        at: Now.
        trust: Whose approval counts.
    """
    try:
        versions = history(directory, name)
    except ButforError as error:
        return NotCommitted(reason="broken_chain", sentence=str(error))
    if not versions:
        return NotCommitted(reason="uncommitted", sentence=f"there is no graph {name!r} in {directory}")
    why: list[str] = []
    for version in reversed(versions):
        found = version.approver(trust, by=at)
        if not isinstance(found, Trusted):
            why.append(found.sentence)
            continue
        if version.is_expired(at):
            sentence = f"version {version.version} of the graph {name!r} expired at {version.expires_at}"
            return NotCommitted(reason="expired", sentence=sentence)
        return version
    return NotCommitted(reason="unapproved", sentence=why[0])


def _refuse_unstated(made: Commitment, evidence: Kind | None) -> None:
    if evidence is None:
        return
    treatments, outcomes = made.graph.with_role("treatment"), made.graph.with_role("outcome")
    if evidence == "policy-confounded" and not (treatments and outcomes):
        raise InputError("the graph does not say what is treatment and what is outcome", fix="give these nodes roles")
    for treatment in treatments:
        for outcome in outcomes:
            if refusal := made.admits(evidence, treatment=treatment, outcome=outcome):
                raise InputError(refusal.sentence, fix="keep the edge, or state why nothing moves both")


def _path(directory: Path | str, name: str, version: int) -> Path:
    if not _NAME.fullmatch(name):
        raise InputError(f"{name!r} cannot name a graph", fix="use letters, digits, '.', '_' and '-'")
    return Path(directory) / name / f"{version:04d}.json"


def _read(path: Path) -> Commitment:
    where = str(path)
    try:
        document = parse_canonical(path.read_bytes())
        approvals = sorted(path.parent.glob(f"{path.stem}.approval.*.json"))
        signed = [parse_canonical(each.read_bytes()) for each in approvals]
    except OSError as error:
        raise CorruptRecord(f"the commitment cannot be read ({error.strerror})", where=where) from None
    except InputError as error:
        raise CorruptRecord(error.what, where=f"{where}, {error.where}", fix="restore the file") from None
    if not isinstance(document, dict) or set(document) != {"commitment", "graph"}:
        raise CorruptRecord("expected {commitment, graph}", where=where, fix="restore the file")
    graph = graph_of(document["graph"], f"{where}, $.graph")
    return Commitment.from_json({"commitment": document["commitment"], "approvals": signed}, graph, f"{where}, $")
