"""The trust file: whose signatures count, for what, and when. The caller gives it; no document brings its own.

::

    {"schema": "butfor.trust/1",
     "keys": [{"id": "ed25519:…", "name": "gate of the ops cluster", "public": "base64", "role": "gate",
               "valid_from": "2026-01-01T00:00:00Z", "valid_until": null, "revoked_at": null}]}
"""

from __future__ import annotations

import dataclasses
import json
import os
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Literal, Self, TypeAlias

from butfor.errors import CorruptRecord, InputError, NotFound
from butfor.gate.signing.signatures import ROLE_OF, ROLES, Kind, Role, Signature, from_text, is_signed, key_id, to_text
from butfor.gate.signing.strict_json import parse_strict

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from butfor.canonical import Json

SCHEMA = "butfor.trust/1"
VARIABLE = "BUTFOR_TRUST"
"""The environment variable with the operator's trust file."""

WhyNot: TypeAlias = Literal["untrusted", "bad_signature", "wrong_role", "revoked", "expired", "not_yet_valid"]
"""Why a signature does not count."""


def operators_trust(given: Path | str | None) -> Path | None:
    """Return the trust file that the operator gives from outside of every policy: as an argument, or BUTFOR_TRUST.

    Raises:
        InputError: BUTFOR_TRUST is there and empty: nobody can tell whether that was meant.
    """
    text = os.environ.get(VARIABLE) if given is None else given
    if text is None:
        return None
    if not str(text).strip():
        raise InputError(f"{VARIABLE} is empty", fix="name a trust file in it, or unset it")
    return Path(text).absolute()


def moment(text: Json, where: str) -> datetime:
    """Read a time as ISO 8601 with its offset.

    Raises:
        InputError: It is not one, or has no offset from UTC.
    """
    try:
        found = datetime.fromisoformat(text)
    except (TypeError, ValueError):
        found = None
    if found is None or found.tzinfo is None:
        raise InputError(f"{text!r} is no time", where=where, fix="write it as 2026-01-31T12:00:00Z")
    return found


def stamp(at: datetime) -> str:
    """Write a time as ISO 8601 in UTC, to the microsecond where it has any.

    Raises:
        InputError: The time has no offset from UTC.
    """
    if at.tzinfo is None:
        raise InputError("a time without its offset from UTC", fix="give an aware datetime")
    return at.astimezone(UTC).replace(tzinfo=None).isoformat() + "Z"


@dataclasses.dataclass(frozen=True, kw_only=True)
class TrustedKey:
    """One key whose signatures count.

    Attributes:
        id: The key's id, which its public bytes determine.
        name: Whose it is, for people.
        public: 32 bytes.
        role: What it may sign.
        valid_from: Its signatures count from this time on.
        valid_until: And before this one; None: without end.
        revoked_at: When it was revoked; None: it was not.
    """

    id: str
    name: str
    public: bytes
    role: Role
    valid_from: datetime
    valid_until: datetime | None = None
    revoked_at: datetime | None = None

    def to_json(self) -> dict[str, Json]:
        """Return plain JSON values."""
        return {
            "id": self.id,
            "name": self.name,
            "public": to_text(self.public),
            "role": self.role,
            "valid_from": stamp(self.valid_from),
            "valid_until": None if self.valid_until is None else stamp(self.valid_until),
            "revoked_at": None if self.revoked_at is None else stamp(self.revoked_at),
        }

    @classmethod
    def from_json(cls, document: Json, where: str = "$") -> Self:
        """Read what `to_json` wrote.

        Raises:
            InputError: A field is missing, surplus or malformed, or the id is not the key's.
        """
        fields = {field.name for field in dataclasses.fields(cls)}
        if not isinstance(document, dict) or set(document) != fields:
            raise InputError(f"expected a key with the fields {', '.join(sorted(fields))}", where=where)
        if document["role"] not in ROLES:
            raise InputError(f"{document['role']!r} is no role", where=f"{where}.role", fix="write gate or approver")
        try:
            public = from_text(document["public"], 32, f"{where}.public")
        except CorruptRecord as error:
            raise InputError(error.what, where=error.where, fix="copy the key as it was printed") from None
        if document["id"] != key_id(public):
            raise InputError("the id is not that of the public key", where=f"{where}.id", fix=f"it is {key_id(public)}")
        until, revoked = document["valid_until"], document["revoked_at"]
        return cls(
            id=document["id"],
            name=str(document["name"]),
            public=public,
            role=document["role"],
            valid_from=moment(document["valid_from"], f"{where}.valid_from"),
            valid_until=None if until is None else moment(until, f"{where}.valid_until"),
            revoked_at=None if revoked is None else moment(revoked, f"{where}.revoked_at"),
        )


@dataclasses.dataclass(frozen=True, kw_only=True)
class Trusted:
    """A signature that counts.

    Attributes:
        key: Who signed.
    """

    key: TrustedKey


@dataclasses.dataclass(frozen=True, kw_only=True)
class Distrust:
    """A signature that does not count.

    Attributes:
        reason: Why, from a closed list.
        sentence: Why, in words.
    """

    reason: WhyNot
    sentence: str


@dataclasses.dataclass(frozen=True, kw_only=True)
class TrustFile:
    """The keys that somebody trusts. An empty one trusts nobody.

    Attributes:
        keys: Each key by its id.
    """

    keys: Mapping[str, TrustedKey]

    @classmethod
    def of(cls, keys: Iterable[TrustedKey]) -> Self:
        """Trust these keys; the last of an id counts."""
        return cls(keys={key.id: key for key in keys})

    @classmethod
    def parse(cls, data: bytes, *, source: str = "trust file") -> Self:
        """Read a trust file's bytes.

        Raises:
            InputError: It is not one; the place is named.
        """
        try:
            keys = _entries(parse_strict(data))
        except InputError as error:
            place = source if error.where is None else f"{source}, {error.where}"
            raise InputError(error.what, where=place, fix=error.fix or "see docs/certificates.md") from None
        return cls.of(keys)

    @classmethod
    def read(cls, path: Path | str) -> Self:
        """Read a trust file.

        Raises:
            NotFound: It cannot be read.
            InputError: It is not one.
        """
        try:
            data = Path(path).read_bytes()
        except OSError as error:
            fix = "make one with `butfor gate keys new --trust FILE`"
            raise NotFound(f"the trust file cannot be read ({error.strerror})", where=str(path), fix=fix) from None
        return cls.parse(data, source=str(path))

    def with_key(self, key: TrustedKey) -> TrustFile:
        """Return a trust file in which this entry stands for its id."""
        return TrustFile(keys={**self.keys, key.id: key})

    def to_text(self) -> str:
        """Write the file as people edit it."""
        document = {"schema": SCHEMA, "keys": [key.to_json() for _, key in sorted(self.keys.items())]}
        return json.dumps(document, indent=2, ensure_ascii=False) + "\n"

    def check(self, *, kind: Kind, payload: bytes, signature: Signature, at: datetime) -> Trusted | Distrust:
        """Say whether a signature counts.

        Args:
            kind: What the document is.
            payload: What was signed.
            signature: The signature, with the id of the key that is said to have made it.
            at: When the document says that it was made. A revoked key counts at no time, since whoever stole it can
                write any time into a document; a key that merely ended counts for its own time.
        """
        key = self.keys.get(signature.key)
        if key is None:
            return Distrust(reason="untrusted", sentence=f"the key {signature.key} is not in the trust file")
        if not is_signed(key.public, payload, signature.value, kind=kind):
            return _not(key, "bad_signature", f"did not sign this as a {kind}")
        if key.role != ROLE_OF[kind]:
            return _not(key, "wrong_role", f"has the role {key.role}; a {kind} takes {ROLE_OF[kind]}")
        if key.revoked_at is not None:
            return _not(key, "revoked", f"was revoked at {stamp(key.revoked_at)}; nothing that it signed counts")
        if at < key.valid_from:
            return _not(key, "not_yet_valid", f"is valid from {stamp(key.valid_from)}; this is of {stamp(at)}")
        if key.valid_until is not None and at >= key.valid_until:
            return _not(key, "expired", f"expired at {stamp(key.valid_until)}; this is of {stamp(at)}")
        return Trusted(key=key)


def _entries(document: Json) -> list[TrustedKey]:
    if not isinstance(document, dict) or set(document) != {"schema", "keys"} or document["schema"] != SCHEMA:
        raise InputError(f"expected {{schema: {SCHEMA}, keys: […]}}")
    if not isinstance(document["keys"], list):
        raise InputError("expected a list of keys", where="$.keys")
    keys = [TrustedKey.from_json(entry, f"$.keys[{i}]") for i, entry in enumerate(document["keys"])]
    if len({key.id for key in keys}) < len(keys):
        raise InputError("a key is there twice", where="$.keys", fix="keep one entry a key")
    return keys


def _not(key: TrustedKey, reason: WhyNot, words: str) -> Distrust:
    return Distrust(reason=reason, sentence=f"the key {key.id} ({key.name}) {words}")
