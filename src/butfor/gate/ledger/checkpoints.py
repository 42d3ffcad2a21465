"""Signed checkpoints: what the ledger's head was, said by the gate's key, kept where the ledger is not.

A chain of hashes shows what was changed in it. It cannot show that its end is missing, nor that all of it was made anew
by somebody who may write the file. A checkpoint kept elsewhere shows both, for everything up to its position.
"""

from __future__ import annotations

import dataclasses
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Self

from butfor.errors import CorruptRecord, InputError, NotFound
from butfor.gate.signing.signatures import Signature
from butfor.gate.signing.strict_json import canonical_bytes, parse_canonical

if TYPE_CHECKING:
    from pathlib import Path

    from butfor.canonical import Json
    from butfor.gate.ledger.chain import Ledger
    from butfor.gate.signing.signatures import Signer
    from butfor.gate.signing.trust import Distrust, Trusted, TrustFile

SCHEMA = "butfor.checkpoint/1"
_FIX = "use the file as `butfor gate log checkpoint` wrote it"


@dataclasses.dataclass(frozen=True, kw_only=True)
class Checkpoint:
    """The head of a ledger at a time, signed.

    Attributes:
        position: Position of the last entry.
        hash: Its hash.
        at: When, ISO 8601 in UTC.
        signature: The gate's signature of the other three.
    """

    position: int
    hash: str
    at: str
    signature: Signature

    @property
    def payload(self) -> bytes:
        """What is signed."""
        return _payload(self.position, self.hash, self.at)

    def to_json(self) -> dict[str, Json]:
        """Return plain JSON values."""
        return {**_body(self.position, self.hash, self.at), "signature": self.signature.to_json()}

    def to_bytes(self) -> bytes:
        """Return the checkpoint's file, which is these canonical bytes."""
        return canonical_bytes(self.to_json())

    @classmethod
    def from_json(cls, document: Json, where: str = "$") -> Self:
        """Read what `to_json` wrote; whether its signature counts, `trusted` says.

        Raises:
            InputError: A part is missing, surplus or malformed.
        """
        if not isinstance(document, dict) or set(document) != {"schema", "position", "hash", "at", "signature"}:
            raise InputError("this is no checkpoint", where=where, fix=_FIX)
        position, digest, at = document["position"], document["hash"], document["at"]
        if document["schema"] != SCHEMA or type(position) is not int or position < 1 or not _is_text(digest, at):
            raise InputError("this is no checkpoint of a kind that is known", where=where, fix=_FIX)
        try:
            signature = Signature.from_json(document["signature"], f"{where}.signature")
        except CorruptRecord as error:
            raise InputError(error.what, where=error.where, fix=_FIX) from None
        return cls(position=position, hash=digest, at=at, signature=signature)

    @classmethod
    def read(cls, path: Path) -> Self:
        """Read a checkpoint's file.

        Raises:
            NotFound: It cannot be read.
            InputError: It is not one.
        """
        try:
            data = path.read_bytes()
        except OSError as error:
            raise NotFound(f"the checkpoint cannot be read ({error.strerror})", where=str(path)) from None
        try:
            return cls.from_json(parse_canonical(data))
        except InputError as error:
            raise InputError(error.what, where=f"{path}, {error.where}", fix=error.fix or _FIX) from None

    def trusted(self, trust: TrustFile) -> Trusted | Distrust:
        """Say whether the signature counts."""
        at = datetime.fromisoformat(self.at).astimezone(UTC)
        return trust.check(kind="checkpoint", payload=self.payload, signature=self.signature, at=at)


def make_checkpoint(ledger: Ledger, signer: Signer) -> Checkpoint:
    """Sign the ledger's head. The checkpoint is itself an entry; what protects is a copy kept elsewhere.

    Raises:
        InputError: The ledger is empty.
        StoreError: It could not be written.
    """
    with ledger.appending() as pending:
        head = pending.head()
        if not head.position:
            raise InputError("the ledger is empty", fix="there is nothing to sign before the first decision")
        at = pending.now.isoformat(timespec="microseconds")
        signature = signer.signature(_payload(head.position, head.hash, at), kind="checkpoint")
        made = Checkpoint(position=head.position, hash=head.hash, at=at, signature=signature)
        pending.add("checkpoint", made.to_json())
        return made


def _body(position: int, digest: str, at: str) -> dict[str, Json]:
    return {"schema": SCHEMA, "position": position, "hash": digest, "at": at}


def _payload(position: int, digest: str, at: str) -> bytes:
    return canonical_bytes(_body(position, digest, at))


def _is_text(digest: Json, at: Json) -> bool:
    if not isinstance(digest, str) or not isinstance(at, str):
        return False
    try:
        return datetime.fromisoformat(at).tzinfo is not None
    except ValueError:
        return False
