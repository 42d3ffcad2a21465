"""What a caller has beside a certificate: a bundle, rows in a file, the store; and the bundle made of them."""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING

from butfor.errors import CorruptRecord, InputError, NotFound
from butfor.estimation.evidence import Roles, open_evidence, read_file
from butfor.estimation.evidence.manifest import SUFFIX
from butfor.gate.certificate.bundle import Bundle
from butfor.gate.certificate.envelope import taken_apart
from butfor.gate.certificate.extract import read_extract
from butfor.gate.certificate.kept import kept
from butfor.gate.ledger.chain import Ledger
from butfor.gate.ledger.segment import Segment, segment_of
from butfor.gate.signing.strict_json import parse_strict
from butfor.store.location import FILE_NAME

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from butfor.canonical import Json
    from butfor.estimation.columns import Columns
    from butfor.gate.verify.case import Given


@dataclasses.dataclass(frozen=True, kw_only=True, eq=False)
class Kept:
    """What the store has of a decision.

    Attributes:
        segment: The ledger from the decision on.
        certificate: The certificate as it was recorded.
        rows: The rows of its evidence, where they are kept.
    """

    segment: Segment | None = None
    certificate: bytes | None = None
    rows: Columns | None = None


def body_of(certificate: bytes) -> Mapping[str, Json]:
    """Return the body as far as it can be read; empty where it cannot. Nothing in it is believed."""
    try:
        return taken_apart(parse_strict(certificate)).body
    except InputError:
        return {}


def with_bundle(given: Given, bundle: Bundle) -> Given:
    """Add what a bundle holds, where nothing else was given."""
    return dataclasses.replace(
        given,
        rows=bundle.rows if given.rows is None else given.rows,
        no_rows="; ".join(bundle.missing) or given.no_rows,
        segment=bundle.segment if given.segment is None else given.segment,
        original=bundle.certificate if given.original is None else given.original,
    )


def with_store(given: Given, certificate: bytes, home: Path) -> Given:
    """Add what the store has, where nothing else was given."""
    found = from_store(certificate, home)
    return dataclasses.replace(
        given,
        rows=found.rows if given.rows is None else given.rows,
        segment=found.segment if given.segment is None else given.segment,
        original=found.certificate if given.original is None else given.original,
    )


def from_store(certificate: bytes, home: Path) -> Kept:
    """Look a decision up in a store; where there is no store, or not this decision, nothing is found.

    Raises:
        StoreError: The store cannot be used.
    """
    body = body_of(certificate)
    decision, provenance = body.get("decision"), body.get("provenance")
    named = provenance if isinstance(provenance, dict) else {}
    digest = named.get("evidence")
    rows = kept(home, digest) if isinstance(digest, str) and named.get("statistics") is None else None
    name = decision.get("id") if isinstance(decision, dict) else None
    if not isinstance(name, str) or not (home / FILE_NAME).exists():
        return Kept(rows=rows)
    with Ledger.open(home) as ledger:
        try:
            segment = segment_of(ledger, name)
        except NotFound:
            return Kept(rows=rows)
        return Kept(rows=rows, segment=segment, certificate=ledger.attachment(segment.links[0]["position"]))


def read_rows(path: Path, certificate: bytes) -> Columns:
    """Read rows as the certificate says that its evidence was read. Whether they are those, their digest says.

    Args:
        path: An extract (``.rows``), evidence with its description beside it, or a table.
        certificate: The certificate.

    Raises:
        NotFound: There is no such file.
        InputError: It cannot be read, or the certificate does not say how.
        CorruptRecord: It is damaged.
    """
    if path.suffix == ".rows":
        try:
            return read_extract(path.read_bytes(), where=str(path))
        except OSError as error:
            raise NotFound(
                f"the rows cannot be read ({error.strerror})", where=str(path), fix="check the path"
            ) from None
    if path.name.endswith(SUFFIX) or path.with_name(path.name + SUFFIX).exists():
        return open_evidence(path).columns
    provenance = body_of(certificate).get("provenance")
    try:
        assert isinstance(provenance, dict)
        roles = dict(provenance["roles"])
        named = Roles(**{**roles, "covariates": tuple(roles["covariates"]), "text": frozenset(roles["text"])})
        kind = provenance["kind"]
    except (AssertionError, KeyError, TypeError) as error:
        raise InputError(
            f"the certificate does not say how its evidence is read ({error})", fix="leave --evidence out"
        ) from None
    return read_file(path, named, kind=kind).columns


def bundle_of(certificate: bytes, *, home: Path, evidence: Path | None) -> Bundle:
    """Gather what an auditor needs.

    Args:
        certificate: The certificate file.
        home: The store's directory.
        evidence: A file with the evidence, where the store has not kept the rows.

    Raises:
        InputError: The certificate cannot be read, or the evidence is not the one that it names.
        CorruptRecord: The store's rows are damaged.
    """
    found = from_store(certificate, home)
    rows = found.rows if evidence is None else read_rows(evidence, certificate)
    return Bundle.of(certificate, rows=rows, segment=found.segment)


def read_bundle(path: Path) -> Bundle:
    """Read a bundle's file.

    Raises:
        NotFound: It cannot be read.
        CorruptRecord: It is no bundle.
    """
    try:
        return Bundle.from_bytes(path.read_bytes())
    except OSError as error:
        raise NotFound(f"the bundle cannot be read ({error.strerror})", where=str(path), fix="check the path") from None
    except CorruptRecord as error:
        raise CorruptRecord(error.what, where=f"{path}, {error.where}", fix=error.fix) from None
