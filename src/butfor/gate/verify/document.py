"""Checks of the file itself: bytes, form, schema, signature, and which field was changed."""

from __future__ import annotations

from typing import TYPE_CHECKING

from butfor.errors import InputError
from butfor.gate.certificate.envelope import taken_apart
from butfor.gate.certificate.schema_check import mismatches
from butfor.gate.certificate.schemas import CERTIFICATE
from butfor.gate.signing.strict_json import parse_canonical, parse_strict
from butfor.gate.signing.trust import Trusted, stamp
from butfor.gate.verify.checks import failed, ok
from butfor.gate.verify.comparing import differences, told

if TYPE_CHECKING:
    from butfor.canonical import Json
    from butfor.gate.certificate.envelope import Sealed
    from butfor.gate.verify.case import Case
    from butfor.gate.verify.checks import Check

_SHOWN = 5


def check_bytes(data: bytes) -> tuple[Check, Json]:
    """Read the file; what is not canonical may still be JSON, so that what was changed can be named."""
    try:
        return ok("bytes", f"{len(data):,} canonical bytes"), parse_canonical(data)
    except InputError as error:
        check = failed("bytes", f"{error.what} ({error.where})")
    try:
        return check, parse_strict(data)
    except InputError:
        return check, None


def check_form(document: Json) -> tuple[Check, Sealed | None]:
    """Take the file apart."""
    try:
        return ok("form", "body, field digests, signature"), taken_apart(document)
    except InputError as error:
        return failed("form", f"{error.what} ({error.where})", str(error.where)), None


def check_schema(case: Case) -> Check:
    """Hold the body against the published schema."""
    wrong = mismatches(dict(case.body), CERTIFICATE)
    if not wrong:
        return ok("schema", str(case.body["schema"]))
    words = "; ".join(f"{path}: {what}" for path, what in wrong[:_SHOWN])
    return failed("schema", words, *(path for path, _ in wrong))


def check_signature(case: Case) -> Check:
    """Ask the caller's trust file, never a key inside the certificate."""
    sealed, trust = case.sealed, case.given.trust
    if trust is None:
        return failed("signature", f"no trust file was given, so the key {sealed.signature.key} counts for nothing")
    try:
        at = case.at
    except (InputError, KeyError, TypeError):
        return failed("signature", "the certificate does not say when it was made", "$.decision.at")
    found = trust.check(kind="certificate", payload=sealed.payload, signature=sealed.signature, at=at)
    if isinstance(found, Trusted):
        return ok("signature", f"{found.key.id} ({found.key.name}) signed the list of field digests at {stamp(at)}")
    if found.reason == "bad_signature":
        more = "the signature, or the list of field digests that it covers, was changed"
        return failed("signature", f"{found.sentence}: {more}", "signature")
    return failed("signature", f"{found.reason.replace('_', ' ')}: {found.sentence}")


def check_fields(case: Case) -> Check:
    """Name each field that is not what the list of digests says; the original, where it is at hand, tells the value."""
    names = case.sealed.changed()
    changes = _changes(case)
    if not names and not changes:
        return ok("fields", f"{len(case.sealed.fields)} fields as signed")
    words = [told(path, stated, found) for path, stated, found in changes[:_SHOWN]]
    paths = tuple(path for path, _, _ in changes) or tuple(f"$.{name}" for name in names)
    if not words:
        words = [f"what was signed as {' and '.join(names)} was another value"]
    return failed("fields", "; ".join(words), *paths)


def _changes(case: Case) -> list[tuple[str, Json, Json]]:
    original = case.given.original
    if original is None or original == case.data:
        return []
    try:
        document = taken_apart(parse_canonical(original))
    except InputError:
        return []
    found = [*differences(dict(case.body), dict(document.body), agree=0)]
    found += differences(dict(case.sealed.fields), dict(document.fields), "fields", agree=0)
    one, other = case.sealed.signature.to_json(), document.signature.to_json()
    return [*found, *differences(one, other, "signature", agree=0)]
