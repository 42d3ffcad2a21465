"""A certificate file is its canonical bytes, and says itself which of its fields was changed."""

import pytest

from butfor.errors import InputError, NotRecordable
from butfor.gate.certificate.envelope import seal, taken_apart, unseal
from butfor.gate.signing.strict_json import canonical_bytes, parse_strict
from butfor.gate.signing.trust import Distrust, Trusted
from tests.unit.gate.keys import GATE, NOW, TRUST

BODY = {"schema": "butfor.certificate/1", "estimate": {"lower": 0.25, "upper": 1.0}, "says": ["a", "\U0001f600"]}


def trusted(sealed) -> bool:
    found = TRUST.check(kind="certificate", payload=sealed.payload, signature=sealed.signature, at=NOW)
    assert isinstance(found, Trusted | Distrust)
    return isinstance(found, Trusted)


def test_a_sealed_body_comes_back_and_is_signed():
    data = seal(BODY, GATE)
    sealed = unseal(data)
    assert sealed.body == BODY
    assert sealed.changed() == []
    assert trusted(sealed)
    assert data == canonical_bytes(parse_strict(data))


def test_sealing_twice_gives_the_same_bytes():
    assert seal(BODY, GATE) == seal(dict(reversed(BODY.items())), GATE)


@pytest.mark.parametrize("name", list(BODY))
def test_a_changed_field_is_named_while_the_list_stays_authentic(name):
    document = parse_strict(seal(BODY, GATE))
    document["body"][name] = "other"
    sealed = taken_apart(document)
    assert sealed.changed() == [name]
    assert trusted(sealed)


def test_missing_and_surplus_fields_are_named():
    document = parse_strict(seal(BODY, GATE))
    del document["body"]["says"]
    document["body"]["more"] = 1
    assert taken_apart(document).changed() == ["more", "says"]


def test_a_body_changed_together_with_its_digest_breaks_the_signature():
    document = parse_strict(seal(BODY, GATE))
    other = parse_strict(seal({**BODY, "says": []}, GATE))
    document["body"], document["fields"] = other["body"], other["fields"]
    sealed = taken_apart(document)
    assert sealed.changed() == []
    assert not trusted(sealed)


@pytest.mark.parametrize("part", ["body", "fields", "signature"])
def test_a_file_with_a_part_missing_or_malformed_is_refused(part):
    document = parse_strict(seal(BODY, GATE))
    without = {name: value for name, value in document.items() if name != part}
    malformed: list[object] = [{**document, part: [1]}, without, {**document, "x": 1}, []]
    for wrong in malformed:
        with pytest.raises(InputError):
            unseal(canonical_bytes(wrong))


def test_a_key_in_the_file_is_no_part_of_it():
    document = parse_strict(seal(BODY, GATE))
    document["signature"]["public"] = "AAAA"
    with pytest.raises(InputError, match="signature"):
        unseal(canonical_bytes(document))


def test_another_layout_of_the_same_json_is_refused():
    data = seal(BODY, GATE)
    for other in (data + b"\n", data.replace(b'":', b'": ', 1), data.replace(b"\xf0\x9f\x98\x80", b"\\ud83d\\ude00")):
        assert parse_strict(other) == parse_strict(data)
        with pytest.raises(InputError, match="not canonical"):
            unseal(other)


def test_a_body_with_a_number_that_json_cannot_keep_is_refused_by_path():
    with pytest.raises(NotRecordable):
        seal({**BODY, "estimate": {"lower": float("nan")}}, GATE)
