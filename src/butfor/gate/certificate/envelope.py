"""The certificate file: its bytes are the canonical bytes of body, field digests and signature.

::

    {"body": {…}, "fields": {"action": "sha256:…", …}, "signature": {"algorithm", "key", "value"}}

The signature covers the list of the body's field digests, and through it the body. So where one field was changed, the
list is still authentic and names it; where the list was changed, the signature says so.
"""

from __future__ import annotations

import dataclasses
import functools
from typing import TYPE_CHECKING

from butfor.canonical import digest_text
from butfor.errors import CorruptRecord, InputError
from butfor.gate.signing.signatures import Signature, Signer
from butfor.gate.signing.strict_json import canonical_bytes, parse_canonical

if TYPE_CHECKING:
    from collections.abc import Mapping

    from butfor.canonical import Json

PARTS = ("body", "fields", "signature")


@dataclasses.dataclass(frozen=True, kw_only=True, slots=True)
class Piece:
    """One field of a body, written.

    Attributes:
        data: Its canonical bytes.
        digest: Their digest.
    """

    data: bytes
    digest: str


@dataclasses.dataclass(frozen=True, kw_only=True)
class Sealed:
    """A certificate file, taken apart and not yet believed.

    Attributes:
        body: What the gate says.
        fields: Digest of each top-level field of the body, as signed.
        signature: The gate's signature of `payload`.
    """

    body: Mapping[str, Json]
    fields: Mapping[str, Json]
    signature: Signature

    @property
    def payload(self) -> bytes:
        """What was signed."""
        return canonical_bytes(dict(self.fields))

    def changed(self) -> list[str]:
        """Name the fields of the body that are not what the list of digests says, sorted."""
        found = {name: digest_text(canonical_bytes(value)) for name, value in self.body.items()}
        return sorted(name for name in {*found, *self.fields} if found.get(name) != self.fields.get(name))


def written(value: Json) -> Piece:
    """Write one field of a body.

    Raises:
        NotRecordable: It holds what strict JSON refuses.
    """
    data = canonical_bytes(value)
    return Piece(data=data, digest=digest_text(data))


def seal(body: Mapping[str, Json], signer: Signer, *, pieces: Mapping[str, Piece] | None = None) -> bytes:
    """Return the bytes of the certificate file.

    Args:
        body: The fields.
        signer: Who signs.
        pieces: Further fields of the body that are written already: of ten fields of a decision that is asked for
            again, eight are the same bytes.

    Raises:
        NotRecordable: The body holds what strict JSON refuses.
    """
    # Each field is written once, and the file put together from the pieces.
    all_pieces = {**(pieces or {}), **{name: written(value) for name, value in body.items()}}
    ordered = {name: all_pieces[name] for name in sorted(all_pieces, key=_utf16)}
    fields = canonical_bytes({name: piece.digest for name, piece in ordered.items()})
    signature = canonical_bytes(signer.signature(fields, kind="certificate").to_json())
    inside = b",".join(_quoted(name) + piece.data for name, piece in ordered.items())
    return b'{"body":{' + inside + b'},"fields":' + fields + b',"signature":' + signature + b"}"


def unseal(data: bytes) -> Sealed:
    """Take a certificate file apart; what is in it is not believed by that.

    Raises:
        InputError: It is not JSON, not canonical, or not a certificate file.
    """
    return taken_apart(parse_canonical(data))


def taken_apart(document: Json) -> Sealed:
    """Take a parsed certificate file apart, canonical or not.

    Raises:
        InputError: A part is missing, surplus or malformed.
    """
    if not isinstance(document, dict) or set(document) != set(PARTS):
        raise InputError("this is no certificate file", where="$", fix=f"its parts are {', '.join(PARTS)}")
    for name in ("body", "fields"):
        if not isinstance(document[name], dict):
            raise InputError("expected an object", where=f"$.{name}", fix="use the file as it was written")
    try:
        signature = Signature.from_json(document["signature"])
    except CorruptRecord as error:
        raise InputError(error.what, where=error.where, fix="use the file as it was written") from None
    return Sealed(body=document["body"], fields=document["fields"], signature=signature)


@functools.lru_cache(maxsize=64)
def _quoted(name: str) -> bytes:
    return canonical_bytes(name) + b":"


@functools.lru_cache(maxsize=64)
def _utf16(name: str) -> bytes:
    return name.encode("utf-16-be", "surrogatepass")
