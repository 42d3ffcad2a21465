"""One file for an auditor who does not have the store: certificate, evidence, graph, a piece of the ledger, versions.

A ZIP archive that any tool opens, its parts stored and dated alike, so that the same content is the same bytes::

    manifest.json      what is in it: digest of each part, level of the evidence, versions
    certificate.json   the certificate, byte for byte
    graph.json         the graph that it is about
    evidence.rows      the rows (`butfor.gate.certificate.extract`), where there are at most a million; statistics are
                       in the certificate itself
    ledger.json        from the decision to the next signed checkpoint

There is no trust file in it: whose keys count, the auditor says.
"""

from __future__ import annotations

import dataclasses
import io
import zipfile
from typing import TYPE_CHECKING, Self

from butfor.canonical import digest_text
from butfor.errors import CorruptRecord, InputError
from butfor.estimation.evidence.row_digest import row_digest
from butfor.gate.certificate.body import versions
from butfor.gate.certificate.envelope import unseal
from butfor.gate.certificate.extract import MOST_ROWS, read_extract, write_extract
from butfor.gate.ledger.segment import Segment
from butfor.gate.signing.strict_json import canonical_bytes, parse_canonical

if TYPE_CHECKING:
    from collections.abc import Mapping

    from butfor.canonical import Json
    from butfor.estimation.columns import Columns

SCHEMA = "butfor.bundle/1"
_MANIFEST, _CERTIFICATE, _GRAPH = "manifest.json", "certificate.json", "graph.json"
_ROWS, _LEDGER = "evidence.rows", "ledger.json"
_NAMES = (_MANIFEST, _CERTIFICATE, _GRAPH, _ROWS, _LEDGER)
_FIRST_DATE = (1980, 1, 1, 0, 0, 0)
MAGIC = b"PK\x03\x04"
"""What a bundle begins with, and no certificate does."""


@dataclasses.dataclass(frozen=True, kw_only=True, eq=False)
class Bundle:
    """What an auditor gets.

    Attributes:
        certificate: The certificate file.
        rows: The evidence's rows; None where they are not in it.
        segment: A piece of the ledger; None where it is not in it.
        versions: What it was exported with.
        missing: What is not in it, and why, in words.
    """

    certificate: bytes
    rows: Columns | None
    segment: Segment | None
    versions: Mapping[str, str]
    missing: tuple[str, ...]

    @classmethod
    def of(cls, certificate: bytes, *, rows: Columns | None, segment: Segment | None, most: int = MOST_ROWS) -> Self:
        """Gather a bundle, with what is missing in it told.

        Args:
            certificate: The certificate file.
            rows: The evidence's rows, where they are at hand.
            segment: The ledger from the decision on, where it is at hand.
            most: More rows than these are left out.

        Raises:
            InputError: The file is no certificate, or the rows are not those that it names.
        """
        provenance = unseal(certificate).body.get("provenance") or {}
        named, missing = provenance.get("evidence"), []
        if rows is not None and row_digest(rows) != named:
            raise InputError("the rows are not the evidence of this certificate", fix="give the evidence that it names")
        if rows is not None and rows.n > most:
            missing.append(f"the evidence has {rows.n:,} rows, more than {most:,}: it is named by its digest only")
            rows = None
        elif rows is None and named is not None and provenance.get("statistics") is None:
            missing.append("the rows of the evidence were not at hand: it is named by its digest only")
        if segment is None:
            missing.append("no ledger was at hand")
        elif segment.checkpoint is None:
            missing.append("no checkpoint was signed since the decision")
        return cls(certificate=certificate, rows=rows, segment=segment, versions=versions(), missing=tuple(missing))

    def to_bytes(self) -> bytes:
        """Write the file; the same content is the same bytes."""
        parts = {_CERTIFICATE: self.certificate}
        graph = unseal(self.certificate).body.get("graph")
        if graph is not None:
            parts[_GRAPH] = canonical_bytes(graph["document"])
        if self.rows is not None:
            parts[_ROWS] = write_extract(self.rows)
        if self.segment is not None:
            parts[_LEDGER] = canonical_bytes(self.segment.to_json())
        manifest = canonical_bytes(
            {
                "schema": SCHEMA,
                "parts": {name: digest_text(data) for name, data in parts.items()},
                "versions": dict(self.versions),
                "missing": list(self.missing),
            }
        )
        file = io.BytesIO()
        with zipfile.ZipFile(file, "w", zipfile.ZIP_STORED) as archive:
            for name, data in {_MANIFEST: manifest, **parts}.items():
                entry = zipfile.ZipInfo(name, _FIRST_DATE)
                entry.create_system = 3  # otherwise it tells the exporter's operating system
                entry.external_attr = 0o644 << 16
                archive.writestr(entry, data)
        return file.getvalue()

    @classmethod
    def from_bytes(cls, data: bytes) -> Self:
        """Read a bundle; each part must have the digest that the manifest names.

        Raises:
            CorruptRecord: It is no bundle, or a part is missing, surplus or changed.
        """
        parts = _unpacked(data)
        manifest = _json(parts, _MANIFEST)
        fields = {"schema", "parts", "versions", "missing"}
        if not isinstance(manifest, dict) or set(manifest) != fields or manifest["schema"] != SCHEMA:
            raise CorruptRecord("this is no bundle", where=_MANIFEST, fix="export it again")
        found = {name: digest_text(part) for name, part in parts.items() if name != _MANIFEST}
        if found != manifest["parts"]:
            wrong = sorted(
                name for name in {*found, *manifest["parts"]} if found.get(name) != manifest["parts"].get(name)
            )
            raise CorruptRecord(f"{' and '.join(wrong)} is not what the manifest names", where="bundle")
        if _CERTIFICATE not in parts:
            raise CorruptRecord("there is no certificate in it", where="bundle", fix="export it again")
        return cls(
            certificate=parts[_CERTIFICATE],
            rows=read_extract(parts[_ROWS], where=_ROWS) if _ROWS in parts else None,
            segment=Segment.from_json(_json(parts, _LEDGER)) if _LEDGER in parts else None,
            versions=manifest["versions"],
            missing=tuple(manifest["missing"]),
        )


def _unpacked(data: bytes) -> dict[str, bytes]:
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            names = archive.namelist()
            known = len(set(names)) == len(names) and set(names) <= set(_NAMES)
            # Stored parts only: a compressed one could unpack to anything.
            if not known or any(each.compress_type != zipfile.ZIP_STORED for each in archive.infolist()):
                raise CorruptRecord("the archive holds what a bundle does not", where="bundle", fix="export it again")
            return {name: archive.read(name) for name in names}
    except (zipfile.BadZipFile, OSError, ValueError, NotImplementedError, RuntimeError, EOFError) as error:
        raise CorruptRecord(f"this is no bundle ({error})", where="bundle", fix="export it again") from None


def _json(parts: Mapping[str, bytes], name: str) -> Json:
    try:
        return parse_canonical(parts.get(name, b""))
    except InputError as error:
        raise CorruptRecord(error.what, where=f"{name}, {error.where}", fix="export it again") from None
