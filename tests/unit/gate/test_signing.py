"""A signature counts for its key, its payload and its kind, and the trust file says whose and when."""

import base64
from datetime import timedelta

import pytest

from butfor.errors import CorruptRecord, InputError, NotFound
from butfor.gate.signing.signatures import ROLE_OF, Kind, Signature, Signer, is_signed, key_id
from butfor.gate.signing.trust import Distrust, Trusted, TrustFile, moment, stamp
from tests.unit.gate.keys import APPROVER, END, GATE, NOW, START, STRANGER, TRUST, entry

KINDS: list[Kind] = list(ROLE_OF)


def test_the_first_vector_of_rfc_8032_gives_the_key_that_the_rfc_prints():
    signer = Signer(bytes.fromhex("9d61b19deffd5a60ba844af492ec2cc44449c5697b326919703bac031cae7f60"))
    assert signer.public.hex() == "d75a980182b10ab7d54bfed3c964073a0ee172f3daa62325af021a68f707511a"


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("other", KINDS)
def test_a_signature_of_one_kind_never_passes_for_another(kind: Kind, other: Kind):
    value = GATE.sign(b"x", kind=kind)
    assert is_signed(GATE.public, b"x", value, kind=other) == (kind == other)


def test_a_tag_never_runs_into_the_payload():
    # Were the tag not ended, "graph" with the payload "s…" could be signed as another kind "graphs".
    for kind in KINDS:
        value = GATE.sign(b"\0x", kind=kind)
        assert not is_signed(GATE.public, b"x", value, kind=kind)


def test_an_unknown_kind_is_refused():
    with pytest.raises(InputError, match="no kind"):
        GATE.sign(b"x", kind="letter")  # type: ignore[arg-type]


def test_a_key_is_named_by_its_public_bytes_and_its_secret_is_not_shown():
    assert GATE.key_id == key_id(GATE.public)
    assert repr(GATE) == f"Signer({GATE.key_id})"
    with pytest.raises(InputError, match="32 bytes"):
        Signer(b"short")


def test_a_signature_is_read_back_and_a_changed_spare_bit_of_its_text_is_refused():
    document = GATE.signature(b"x", kind="graph").to_json()
    assert Signature.from_json(document).to_json() == document
    # The last digit before the padding carries four bits that decoding throws away.
    alphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/"
    spare = alphabet[alphabet.index(document["value"][-3]) ^ 1]
    changed = document["value"][:-3] + spare + "=="
    assert base64.b64decode(changed) == base64.b64decode(document["value"])
    with pytest.raises(CorruptRecord, match="base64"):
        Signature.from_json({**document, "value": changed})


@pytest.mark.parametrize("changes", [{"algorithm": "RSA"}, {"value": 3}, {"value": "AAAA"}, {"key": None}, {"more": 1}])
def test_a_malformed_signature_is_refused(changes):
    with pytest.raises(CorruptRecord):
        Signature.from_json({**GATE.signature(b"x", kind="graph").to_json(), **changes})


def checked(trust: TrustFile, signer: Signer, kind: Kind = "certificate", at=NOW, payload=b"x") -> str:
    found = trust.check(kind=kind, payload=payload, signature=signer.signature(b"x", kind=kind), at=at)
    if isinstance(found, Trusted):
        return "trusted"
    assert isinstance(found, Distrust)
    assert signer.key_id in found.sentence
    return found.reason


def test_each_way_not_to_be_trusted_has_its_name():
    assert checked(TRUST, GATE) == "trusted"
    assert checked(TRUST, APPROVER, "graph") == "trusted"
    assert checked(TRUST, STRANGER) == "untrusted"
    assert checked(TRUST, GATE, payload=b"y") == "bad_signature"
    assert checked(TRUST, GATE, "graph") == "wrong_role"
    assert checked(TRUST, APPROVER, "checkpoint") == "wrong_role"
    assert checked(TRUST, GATE, at=START - timedelta(seconds=1)) == "not_yet_valid"
    assert checked(TRUST, GATE, at=END) == "expired"
    assert checked(TrustFile.of([]), GATE) == "untrusted"


def test_a_revoked_key_counts_at_no_time_since_its_thief_can_write_any():
    trust = TrustFile.of([entry(GATE, "gate", revoked_at=NOW)])
    assert {checked(trust, GATE, at=NOW + timedelta(days=days)) for days in (-60, 0, 60)} == {"revoked"}


def test_a_key_without_an_end_counts_ever_after():
    trust = TrustFile.of([entry(GATE, "gate", valid_until=None)])
    assert checked(trust, GATE, at=END + timedelta(days=9999)) == "trusted"


def test_a_trust_file_is_read_back(tmp_path):
    path = tmp_path / "trust.json"
    path.write_text(TRUST.to_text())
    assert TrustFile.read(path) == TRUST
    with pytest.raises(NotFound, match="cannot be read"):
        TrustFile.read(tmp_path / "none.json")


@pytest.mark.parametrize(
    ("old", "new", "word"),
    [
        ('"role": "gate"', '"role": "king"', "role"),
        ('"butfor.trust/1"', '"butfor.trust/2"', "schema"),
        (START.strftime("%Y-%m-%dT%H:%M:%SZ"), "2026-01-01T00:00:00", "no time"),
        ('"name"', '"title"', "fields"),
        (GATE.key_id, STRANGER.key_id, "not that of the public key"),
        ('"keys": [', '"keys": [], "keys": [', "twice"),
        ('"public": "', '"public": "A', "base64"),
        ("[", "", "expected"),
    ],
)
def test_a_mistake_in_a_trust_file_is_named_with_its_place(old, new, word):
    text = TRUST.to_text()
    assert old in text
    with pytest.raises(InputError, match=word) as refused:
        TrustFile.parse(text.replace(old, new).encode(), source="trust.json")
    assert refused.value.where is not None
    assert refused.value.where.startswith("trust.json")


def test_times_have_an_offset_and_are_written_in_utc():
    assert stamp(moment("2026-01-01T01:00:00.5+01:00", "$")) == "2026-01-01T00:00:00.500000Z"
    with pytest.raises(InputError, match="offset"):
        stamp(NOW.replace(tzinfo=None))
