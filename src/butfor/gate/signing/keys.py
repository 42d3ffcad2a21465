"""Private keys, one file each, outside the store and readable by their owner only.

The directory is `BUTFOR_KEYS`, else `$XDG_CONFIG_HOME/butfor/keys`, else `~/.config/butfor/keys`. A file that others
can read is refused before it is read: whoever could read it may have signed anything.
"""

from __future__ import annotations

import dataclasses
import os
import stat
from pathlib import Path
from typing import TYPE_CHECKING, Self

from butfor.errors import CorruptRecord, InputError, NotFound
from butfor.gate.signing.signatures import ROLES, Role, Signer, from_text, to_text
from butfor.gate.signing.strict_json import canonical_bytes, parse_strict
from butfor.gate.signing.trust import TrustedKey, moment

if TYPE_CHECKING:
    from collections.abc import Mapping
    from datetime import datetime

    from butfor.canonical import Json

SCHEMA = "butfor.key/1"
_DIRECTORY_MODE, _FILE_MODE = 0o700, 0o600


@dataclasses.dataclass(frozen=True, kw_only=True)
class Key:
    """A private key with what is known of it. Its `repr` does not show the secret.

    Attributes:
        signer: The key.
        secret: Its 32 bytes.
        name: Whose it is, for people.
        role: What it may sign.
        made_at: Since when it is valid.
        ended_at: When another took its place; None: none did.
        revoked_at: When it was revoked; None: it was not.
    """

    signer: Signer
    secret: bytes = dataclasses.field(repr=False)
    name: str
    role: Role
    made_at: datetime
    ended_at: datetime | None = None
    revoked_at: datetime | None = None

    @classmethod
    def made(cls, secret: bytes, *, name: str, role: Role, at: datetime) -> Self:
        """Make a key of 32 random bytes.

        Raises:
            InputError: They are not 32, the role is unknown, or the name is empty.
        """
        if role not in ROLES:
            raise InputError(f"{role!r} is no role", fix=f"choose one of {', '.join(ROLES)}")
        if not name.strip():
            raise InputError("a key needs a name", fix="say whose it is")
        return cls(signer=Signer(secret), secret=secret, name=name, role=role, made_at=at)

    @property
    def id(self) -> str:
        """The key's id."""
        return self.signer.key_id

    @property
    def may_sign(self) -> bool:
        """Whether it was neither revoked nor replaced."""
        return self.ended_at is None and self.revoked_at is None

    def trusted(self) -> TrustedKey:
        """Return its entry for a trust file: all of it is public."""
        return TrustedKey(
            id=self.id,
            name=self.name,
            public=self.signer.public,
            role=self.role,
            valid_from=self.made_at,
            valid_until=self.ended_at,
            revoked_at=self.revoked_at,
        )

    def to_bytes(self) -> bytes:
        """Write the file, secret included."""
        public = {name: value for name, value in self.trusted().to_json().items() if name not in ("id", "public")}
        return canonical_bytes({"schema": SCHEMA, "secret": to_text(self.secret), **public})

    @classmethod
    def from_bytes(cls, data: bytes, where: str) -> Self:
        """Read what `to_bytes` wrote.

        Raises:
            CorruptRecord: It is no key.
        """
        fields = {"schema", "secret", "name", "role", "valid_from", "valid_until", "revoked_at"}
        try:
            found = parse_strict(data)
            if not isinstance(found, dict) or set(found) != fields or found["schema"] != SCHEMA:
                raise CorruptRecord("this is no key file", where=where, fix="restore it")
            return cls(
                signer=Signer(secret := from_text(found["secret"], 32, "$.secret")),
                secret=secret,
                name=str(found["name"]),
                role=_role(found["role"]),
                made_at=moment(found["valid_from"], "$.valid_from"),
                ended_at=None if found["valid_until"] is None else moment(found["valid_until"], "$.valid_until"),
                revoked_at=None if found["revoked_at"] is None else moment(found["revoked_at"], "$.revoked_at"),
            )
        except InputError as error:
            raise CorruptRecord(error.what, where=f"{where}, {error.where}", fix="restore it") from None


def default_directory(environment: Mapping[str, str] = os.environ) -> Path:
    """Return where private keys are kept."""
    if named := environment.get("BUTFOR_KEYS"):
        return Path(named)
    configuration = environment.get("XDG_CONFIG_HOME") or str(Path.home() / ".config")
    return Path(configuration) / "butfor" / "keys"


def save(directory: Path, key: Key, *, store: Path | None = None) -> Path:
    """Write a key's file, readable by its owner only; a file of the same key is replaced.

    Args:
        directory: Where; made with mode 0700 where it is missing.
        key: The key.
        store: The store's directory: whoever gets a copy of the store must not get the keys with it.

    Raises:
        InputError: The directory is inside the store, open to others, or cannot be written.
    """
    if store is not None and directory.resolve().is_relative_to(store.resolve()):
        raise InputError(
            "private keys do not belong in the store", where=str(directory), fix="set BUTFOR_KEYS elsewhere"
        )
    path = directory / f"{_digits(key.id)}.json"
    draft = path.with_suffix(f".{os.getpid()}.new")
    try:
        directory.mkdir(mode=_DIRECTORY_MODE, parents=True, exist_ok=True)
        _refuse_loose(directory)
        handle = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL, _FILE_MODE)
        with os.fdopen(handle, "wb") as file:
            file.write(key.to_bytes())
            file.flush()
            os.fsync(file.fileno())
        draft.replace(path)
    except OSError as error:
        reason = error.strerror or type(error).__name__
        raise InputError(f"the key cannot be written ({reason})", where=str(path), fix="set BUTFOR_KEYS") from None
    return path


def load_all(directory: Path) -> list[Key]:
    """Return every key of a directory, the oldest first; an absent directory has none.

    Raises:
        InputError: The directory or a file is open to others.
        CorruptRecord: A file is no key.
    """
    if not directory.exists():
        return []
    _refuse_loose(directory)
    return sorted(map(_load, directory.glob("*.json")), key=lambda key: (key.made_at, key.id))


def find(directory: Path, key_id: str) -> Key:
    """Return the key of this id, or of a prefix of it that only one key has.

    Raises:
        NotFound: None or several match.
    """
    wanted = _digits(key_id)
    keys = load_all(directory)
    found = [key for key in keys if wanted and _digits(key.id).startswith(wanted)]
    if len(found) != 1:
        known = ", ".join(key.id for key in keys) or "none"
        what = f"no key {key_id!r}" if not found else f"several keys begin with {key_id!r}"
        raise NotFound(what, where=str(directory), fix=f"the keys are: {known}")
    return found[0]


def signer_for(directory: Path, role: Role, *, key_id: str | None = None) -> Signer:
    """Return the key that signs for a role: the one named, else the newest that may sign.

    Raises:
        NotFound: There is none.
        InputError: The one named has another role, was revoked or replaced; or a file is open to others.
    """
    if key_id is not None:
        key = find(directory, key_id)
        if key.role != role or not key.may_sign:
            why = f"has the role {key.role}" if key.role != role else "was revoked or replaced"
            raise InputError(f"the key {key.id} {why}", where=str(directory), fix=f"name a valid {role} key")
        return key.signer
    usable = [key for key in load_all(directory) if key.role == role and key.may_sign]
    if not usable:
        fix = f"butfor gate keys new --role {role}"
        raise NotFound(f"there is no {role} key that may sign", where=str(directory), fix=fix)
    return usable[-1].signer


def _load(path: Path) -> Key:
    _refuse_loose(path)
    try:
        return Key.from_bytes(path.read_bytes(), str(path))
    except OSError as error:
        raise CorruptRecord(f"the key cannot be read ({error.strerror})", where=str(path)) from None


def _refuse_loose(path: Path) -> None:
    found = path.stat()
    # Who may only list a directory cannot read a file of mode 0600 in it; who may write there can put his own.
    open_to_others, tight = (0o022, "700") if path.is_dir() else (0o077, "600")
    if stat.S_IMODE(found.st_mode) & open_to_others:
        what = "others can put keys here" if path.is_dir() else "others can read this private key"
        raise InputError(what, where=str(path), fix=f"chmod {tight} it, and revoke the key if anybody did")
    if found.st_uid != os.getuid():
        raise InputError("the keys belong to another user", where=str(path), fix="make your own")


def _digits(key_id: str) -> str:
    return key_id.removeprefix("ed25519:")


def _role(value: Json) -> Role:
    for role in ROLES:
        if role == value:
            return role
    raise InputError(f"{value!r} is no role", where="$.role")
