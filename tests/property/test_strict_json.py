"""What can be signed is written as the RFC's reference writer does, and read back unchanged."""

import json
import math
import struct

import rfc8785
from hypothesis import example, given
from hypothesis import strategies as st

from butfor.errors import InputError, NotRecordable
from butfor.gate.signing.json_faults import SAFE
from butfor.gate.signing.strict_json import canonical_bytes, digest, number, parse_canonical, parse_strict
from tests.property.strategies import json_values

doubles = st.floats(allow_nan=False, allow_infinity=False) | st.integers(0, 2**64 - 1).map(
    lambda bits: struct.unpack(">d", struct.pack(">Q", bits))[0]
).filter(math.isfinite)
written_whole = st.floats(-1e21, 1e21, exclude_min=True, exclude_max=True).filter(lambda value: abs(value) > SAFE)
texts = st.text(st.characters(exclude_categories=["Cs"]) | st.sampled_from('\\"\x01\x02\x03:,.0e+-123\ufb33\U0001f600'))
signable = st.recursive(
    st.none() | st.booleans() | st.integers(-SAFE, SAFE) | doubles.filter(lambda x: not SAFE < abs(x) < 1e21) | texts,
    lambda inside: st.lists(inside, max_size=5) | st.dictionaries(texts, inside, max_size=5),
    max_leaves=30,
)


@given(signable)
@example({'"1.0,': 1.0, "\\": [-0.0, 1e-7], '\\"': "1e+5,"})
def test_bytes_are_those_of_the_reference_writer(value):
    assert canonical_bytes(value) == rfc8785.dumps(value)


@given(signable)
def test_what_is_written_is_read_back_and_is_canonical(value):
    data = canonical_bytes(value)
    assert parse_canonical(data) == value
    assert parse_strict(json.dumps(value, indent=1).encode()) == value
    assert canonical_bytes(parse_strict(json.dumps(value).encode())) == data


@given(doubles)
def test_a_number_reads_back_as_the_same_double(value):
    assert float(number(value)) == value
    assert float(number(value)) == float(rfc8785.dumps(value))
    assert number(value).encode() == rfc8785.dumps(value)


@given(written_whole)
def test_a_double_that_would_be_written_as_an_unsafe_integer_is_refused(value):
    for wrong in (value, [{"a": value}]):
        try:
            canonical_bytes(wrong)
        except NotRecordable:
            continue
        raise AssertionError(value)


@given(json_values)
def test_any_value_is_either_written_as_by_the_reference_or_refused_by_path(value):
    try:
        data = canonical_bytes(value)
    except NotRecordable as refused:
        place = refused.where
    else:
        assert data == rfc8785.dumps(value)
        assert parse_canonical(data) == value
        return
    assert place is not None
    assert place.startswith("$")


@given(st.binary(max_size=40) | st.text(st.sampled_from('{}[]",:\\u0e.-19tfn '), max_size=30).map(str.encode))
def test_any_bytes_are_read_or_refused_with_a_place(data):
    try:
        value = parse_strict(data)
    except InputError as refused:
        place = refused.where
    else:
        assert canonical_bytes(value) == rfc8785.dumps(value)
        assert json.loads(data) == value
        return
    assert place


@given(st.integers(), st.integers())
@example(2**63 - 1, 2**63 - 2)
@example(SAFE, SAFE + 2)
def test_different_ids_never_share_a_digest(one, other):
    found = []
    for value in (one, other):
        try:
            found.append(digest({"id": value}))
        except NotRecordable:
            assert abs(value) > SAFE
    assert len(set(found)) == len(found) or one == other
