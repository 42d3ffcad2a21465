"""Private keys are outside the store, their owner's only, and the newest that may sign does."""

import dataclasses
import stat
from datetime import timedelta

import pytest

from butfor.errors import CorruptRecord, InputError, NotFound
from butfor.gate.signing.keys import Key, default_directory, find, load_all, save, signer_for
from tests.unit.gate.keys import NOW


def made(n=1, role="gate", at=NOW):
    return Key.made(bytes([n]) * 32, name=f"key {n}", role=role, at=at)


def test_a_key_is_kept_for_its_owner_only_and_read_back(tmp_path):
    place = tmp_path / "new" / "keys"
    path = save(place, made())
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert stat.S_IMODE(place.stat().st_mode) & 0o022 == 0
    assert [each.to_bytes() for each in load_all(place)] == [made().to_bytes()]
    assert [each.name for each in place.iterdir()] == [path.name]


@pytest.mark.parametrize("mode", [0o604, 0o640, 0o660, 0o644])
def test_a_key_that_others_can_read_is_refused(tmp_path, mode):
    path = save(tmp_path / "keys", made())
    path.chmod(mode)
    with pytest.raises(InputError, match="chmod 600"):
        load_all(tmp_path / "keys")


@pytest.mark.parametrize("mode", [0o720, 0o702, 0o777])
def test_a_directory_where_others_can_put_keys_is_refused(tmp_path, mode):
    save(tmp_path / "keys", made())
    (tmp_path / "keys").chmod(mode)
    for action in (lambda: load_all(tmp_path / "keys"), lambda: save(tmp_path / "keys", made(2))):
        with pytest.raises(InputError, match="chmod 700"):
            action()


def test_private_keys_are_not_put_in_the_store(tmp_path):
    with pytest.raises(InputError, match="store"):
        save(tmp_path / "store" / "keys", made(), store=tmp_path / "store")
    assert not (tmp_path / "store").exists()


def test_the_secret_is_in_no_repr():
    key = made()
    assert "secret" not in repr(key)
    assert str(key.secret) not in repr(key)


def test_the_newest_key_of_the_role_that_may_sign_does(tmp_path):
    with pytest.raises(NotFound, match="keys new"):
        signer_for(tmp_path, "gate")
    old, new, revoked = made(1), made(2, at=NOW + timedelta(1)), made(3, at=NOW + timedelta(2))
    for key in (old, new, dataclasses.replace(revoked, revoked_at=NOW), made(4, role="approver", at=NOW)):
        save(tmp_path, key)
    assert signer_for(tmp_path, "gate").key_id == new.id
    assert signer_for(tmp_path, "gate", key_id=old.id).key_id == old.id
    with pytest.raises(InputError, match="revoked"):
        signer_for(tmp_path, "gate", key_id=revoked.id)
    with pytest.raises(InputError, match="role"):
        signer_for(tmp_path, "approver", key_id=old.id)


def test_a_key_is_found_by_a_prefix_that_only_it_has(tmp_path):
    save(tmp_path, made())
    assert find(tmp_path, made().id[:14]).id == made().id
    for wanted in ("ed25519:zz", "", "ed25519:"):
        with pytest.raises(NotFound, match="no key"):
            find(tmp_path, wanted)


def test_a_damaged_key_file_is_named(tmp_path):
    path = save(tmp_path, made())
    for data in (b"{}", b"nothing", path.read_bytes().replace(b'"gate"', b'"king"')):
        path.write_bytes(data)
        with pytest.raises(CorruptRecord) as refused:
            load_all(tmp_path)
        assert path.name in str(refused.value.where)


def test_the_directory_follows_the_environment(tmp_path):
    assert default_directory({"BUTFOR_KEYS": str(tmp_path)}) == tmp_path
    assert default_directory({"XDG_CONFIG_HOME": str(tmp_path)}) == tmp_path / "butfor" / "keys"
    assert default_directory({}).parts[-3:] == (".config", "butfor", "keys")


def test_a_key_needs_a_name_and_a_known_role():
    with pytest.raises(InputError, match="name"):
        Key.made(bytes(32), name=" ", role="gate", at=NOW)
    with pytest.raises(InputError, match="role"):
        Key.made(bytes(32), name="x", role="king", at=NOW)  # type: ignore[arg-type]
