"""`butfor gate keys`: make, list, rotate and revoke the keys that sign."""

from __future__ import annotations

import dataclasses
import json
import os
from datetime import UTC, datetime
from pathlib import Path

import click

from butfor.cli.noting import note
from butfor.errors import InputError, NotFound
from butfor.gate.signing.keys import Key, default_directory, find, load_all, save
from butfor.gate.signing.signatures import ROLES
from butfor.gate.signing.trust import TrustedKey, TrustFile, stamp
from butfor.store.location import home

_directory = click.option(
    "--in", "directory", type=click.Path(path_type=Path), help="where private keys are (default: BUTFOR_KEYS)"
)
_trust = click.option(
    "--trust", "trust", type=click.Path(path_type=Path), metavar="FILE", help="also write it into this trust file"
)
_json = click.option("--json", "as_json", is_flag=True, help="print JSON")


@click.group("keys")
def command() -> None:
    """Keys that sign. Private keys stay in BUTFOR_KEYS (default ~/.config/butfor/keys); a trust file holds public ones.

    A gate key signs certificates and checkpoints; an approver key signs graphs, policies and approvals.
    """


@command.command("new")
@click.option("--role", type=click.Choice(ROLES), required=True, help="what it may sign")
@click.option("--name", required=True, help="whose key it is, for who reads a trust file")
@_directory
@_trust
@_json
def new(role: str, name: str, directory: Path | None, trust: Path | None, *, as_json: bool) -> int:
    """Make a key, and print its entry for a trust file."""
    known = next(each for each in ROLES if each == role)
    key = Key.made(os.urandom(32), name=name, role=known, at=_now())
    path = save(directory or default_directory(), key, store=home())
    _write_trust(trust, key.trusted())
    note("key", key.id, {"event": "new", "role": role, "name": name})
    _tell([key.trusted()], f"the private key is in {path}", as_json=as_json)
    return 0


@command.command("list")
@_directory
@_json
def list_(directory: Path | None, *, as_json: bool) -> int:
    """List the private keys that are here."""
    keys = [key.trusted() for key in load_all(directory or default_directory())]
    _tell(keys, "" if keys else "no keys: make one with `butfor gate keys new`", as_json=as_json)
    return 0


@command.command("rotate")
@click.argument("key_id", metavar="KEY")
@_directory
@_trust
@_json
def rotate(key_id: str, directory: Path | None, trust: Path | None, *, as_json: bool) -> int:
    """Put a new key in the place of KEY. What KEY signed until now still counts."""
    place, now = directory or default_directory(), _now()
    old = find(place, key_id)
    if not old.may_sign:
        raise InputError(f"the key {old.id} was revoked or replaced already", fix="see `butfor gate keys list`")
    made = Key.made(os.urandom(32), name=old.name, role=old.role, at=now)
    # The new key first: a crash between the two leaves two that may sign, and not none.
    save(place, made, store=home())
    ended = dataclasses.replace(old, ended_at=now)
    save(place, ended, store=home())
    _write_trust(trust, made.trusted(), ended.trusted())
    note("key", made.id, {"event": "rotate", "role": old.role, "name": old.name, "ended": old.id})
    _tell([ended.trusted(), made.trusted()], "", as_json=as_json)
    return 0


@command.command("revoke")
@click.argument("key_id", metavar="KEY")
@_directory
@_trust
@_json
def revoke(key_id: str, directory: Path | None, trust: Path | None, *, as_json: bool) -> int:
    """Revoke KEY: nothing that it signed counts any more, whenever it says that it did."""
    place, now = directory or default_directory(), _now()
    try:
        key = find(place, key_id)
    except NotFound:
        # Whoever keeps the trust file may revoke a key whose private part is elsewhere, or stolen.
        entry = _entry_of(trust, key_id)
        if entry is None:
            raise
        revoked = dataclasses.replace(entry, revoked_at=entry.revoked_at or now)
    else:
        ended = dataclasses.replace(key, revoked_at=key.revoked_at or now)
        save(place, ended, store=home())
        revoked = ended.trusted()
    _write_trust(trust, revoked)
    note("key", revoked.id, {"event": "revoke", "role": revoked.role, "name": revoked.name})
    _tell([revoked], "", as_json=as_json)
    return 0


def _now() -> datetime:
    return datetime.now(UTC).replace(microsecond=0)


def _entry_of(trust: Path | None, key_id: str) -> TrustedKey | None:
    return None if trust is None or not trust.exists() else TrustFile.read(trust).keys.get(key_id)


def _write_trust(path: Path | None, *entries: TrustedKey) -> None:
    if path is None:
        return
    file = TrustFile.read(path) if path.exists() else TrustFile.of([])
    for entry in entries:
        file = file.with_key(entry)
    draft = path.with_name(f".{path.name}.new")
    try:
        draft.write_text(file.to_text(), encoding="utf-8")
        draft.replace(path)
    except OSError as error:
        raise InputError(f"the trust file cannot be written ({error.strerror})", where=str(path)) from None


def _tell(keys: list[TrustedKey], after: str, *, as_json: bool) -> None:
    if as_json:
        click.echo(json.dumps([key.to_json() for key in keys], indent=2, ensure_ascii=False))
        return
    for key in keys:
        click.echo(f"{key.id}  {key.role}  {key.name}  from {stamp(key.valid_from)}{_state(key)}")
    if after:
        click.echo(after)


def _state(key: TrustedKey) -> str:
    if key.revoked_at is not None:
        return f"  REVOKED {stamp(key.revoked_at)}"
    return "" if key.valid_until is None else f"  until {stamp(key.valid_until)}"
