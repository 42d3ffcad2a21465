"""Ed25519 signatures, each for one kind of document only.

What is signed is a tag of the kind, a zero byte and the payload; no tag holds a zero byte, so a signature of one kind
never passes for another. `cryptography` is imported when a signature is first made or looked at.
"""

from __future__ import annotations

import base64
import binascii
import dataclasses
from hashlib import sha256
from typing import TYPE_CHECKING, Literal, Self, TypeAlias, get_args

from butfor.errors import CorruptRecord, InputError

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

    from butfor.canonical import Json

Kind: TypeAlias = Literal["certificate", "checkpoint", "graph", "policy", "bypass", "approval"]
"""What a signature is for."""
Role: TypeAlias = Literal["gate", "approver"]
"""A gate signs what it decided; an approver signs what a gate may rely on."""

ROLES: tuple[Role, ...] = get_args(Role)
ROLE_OF: dict[Kind, Role] = {
    "certificate": "gate",
    "checkpoint": "gate",
    "graph": "approver",
    "policy": "approver",
    "bypass": "approver",
    "approval": "approver",
}
"""The role that a key needs to sign each kind."""

ALGORITHM = "Ed25519"
_ID_DIGITS = 32  # 128 bits: nobody finds a second key of the same id


def key_id(public: bytes) -> str:
    """Name a public key: ``ed25519:`` and the first 32 hexadecimal digits of its SHA-256."""
    return f"ed25519:{sha256(public).hexdigest()[:_ID_DIGITS]}"


def to_text(data: bytes) -> str:
    """Write bytes as base64."""
    return base64.b64encode(data).decode()


def from_text(text: Json, length: int, where: str) -> bytes:
    """Read base64 that is the only one of its bytes: a changed spare bit is refused.

    Raises:
        CorruptRecord: It is not base64, not of this length, or not how `to_text` writes it.
    """
    try:
        data = base64.b64decode(text, validate=True) if isinstance(text, str) else b""
    except (binascii.Error, ValueError):
        data = b""
    if len(data) != length or to_text(data) != text:
        raise CorruptRecord(f"expected {length} bytes as base64", where=where)
    return data


@dataclasses.dataclass(frozen=True, kw_only=True)
class Signature:
    """A signature and who is said to have made it.

    Attributes:
        key: Id of the key.
        value: 64 bytes.
    """

    key: str
    value: bytes

    def to_json(self) -> dict[str, Json]:
        """Return plain JSON values."""
        return {"algorithm": ALGORITHM, "key": self.key, "value": to_text(self.value)}

    @classmethod
    def from_json(cls, document: Json, where: str = "$.signature") -> Self:
        """Read what `to_json` wrote.

        Raises:
            CorruptRecord: A field is missing, surplus or malformed, or the algorithm is another.
        """
        if not isinstance(document, dict) or set(document) != {"algorithm", "key", "value"}:
            raise CorruptRecord("expected a signature {algorithm, key, value}", where=where)
        if document["algorithm"] != ALGORITHM:
            raise CorruptRecord(f"the algorithm is not {ALGORITHM}", where=f"{where}.algorithm")
        if not isinstance(document["key"], str):
            raise CorruptRecord("expected the id of a key", where=f"{where}.key")
        return cls(key=document["key"], value=from_text(document["value"], 64, f"{where}.value"))


class Signer:
    """A private key that signs. Its `repr` shows the id only.

    Args:
        secret: The 32 bytes of the private key.

    Raises:
        InputError: It is not 32 bytes.
    """

    def __init__(self, secret: bytes) -> None:
        from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

        if len(secret) != 32:
            raise InputError("an Ed25519 private key has 32 bytes", fix="make one with `butfor gate keys new`")
        self._key: Ed25519PrivateKey = Ed25519PrivateKey.from_private_bytes(secret)
        self.public: bytes = self._key.public_key().public_bytes_raw()
        self.key_id: str = key_id(self.public)

    def __repr__(self) -> str:
        return f"Signer({self.key_id})"

    def sign(self, payload: bytes, *, kind: Kind) -> bytes:
        """Sign a payload as a document of one kind; the same input gives the same 64 bytes."""
        return self._key.sign(_tagged(kind, payload))

    def signature(self, payload: bytes, *, kind: Kind) -> Signature:
        """Sign a payload, and say who did."""
        return Signature(key=self.key_id, value=self.sign(payload, kind=kind))


def is_signed(public: bytes, payload: bytes, value: bytes, *, kind: Kind) -> bool:
    """Say whether the key of these 32 bytes signed this payload as a document of this kind."""
    from cryptography.exceptions import InvalidSignature
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey

    try:
        Ed25519PublicKey.from_public_bytes(public).verify(value, _tagged(kind, payload))
    except (InvalidSignature, ValueError):
        return False
    return True


def _tagged(kind: Kind, payload: bytes) -> bytes:
    if kind not in ROLE_OF:
        raise InputError(f"{kind!r} is no kind of signed document", fix=f"choose one of {', '.join(ROLE_OF)}")
    return f"butfor.{kind}/1\0".encode() + payload
