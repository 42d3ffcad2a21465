"""RFC 8785 bytes, and the values and texts that are refused with their place."""

import json
import math
import struct

import pytest

from butfor.errors import InputError, NotRecordable
from butfor.gate.signing.json_faults import MOST_DEEP, SAFE
from butfor.gate.signing.strict_json import canonical_bytes, digest, number, parse_canonical, parse_strict

# RFC 8785, appendix B: IEEE 754 bits and what ECMAScript writes.
APPENDIX_B = {
    "0000000000000000": "0",
    "8000000000000000": "0",
    "0000000000000001": "5e-324",
    "8000000000000001": "-5e-324",
    "7fefffffffffffff": "1.7976931348623157e+308",
    "ffefffffffffffff": "-1.7976931348623157e+308",
    "4340000000000000": "9007199254740992",
    "c340000000000000": "-9007199254740992",
    "4430000000000000": "295147905179352830000",
    "44b52d02c7e14af5": "9.999999999999997e+22",
    "44b52d02c7e14af6": "1e+23",
    "44b52d02c7e14af7": "1.0000000000000001e+23",
    "444b1ae4d6e2ef4e": "999999999999999700000",
    "444b1ae4d6e2ef4f": "999999999999999900000",
    "444b1ae4d6e2ef50": "1e+21",
    "3eb0c6f7a0b5ed8c": "9.999999999999997e-7",
    "3eb0c6f7a0b5ed8d": "0.000001",
    "41b3de4355555553": "333333333.3333332",
    "41b3de4355555554": "333333333.33333325",
    "41b3de4355555555": "333333333.3333333",
    "41b3de4355555556": "333333333.3333334",
    "41b3de4355555557": "333333333.33333343",
    "becbf647612f3696": "-0.0000033333333333333333",
    "43143ff3c1cb0959": "1424953923781206.2",
}


@pytest.mark.parametrize(("bits", "text"), APPENDIX_B.items())
def test_numbers_are_written_as_in_the_rfcs_appendix(bits, text):
    (value,) = struct.unpack(">d", bytes.fromhex(bits))
    assert number(value) == text


@pytest.mark.parametrize("bits", [bits for bits, text in APPENDIX_B.items() if "." in text or "e" in text])
def test_numbers_of_the_appendix_inside_a_document(bits):
    (value,) = struct.unpack(">d", bytes.fromhex(bits))
    assert canonical_bytes({"a": [value, 'a "1.0,"', value]}) == (
        f'{{"a":[{APPENDIX_B[bits]},"a \\"1.0,\\"",{APPENDIX_B[bits]}]}}'.encode()
    )


def test_the_example_of_section_3_2_2():
    value = {
        "numbers": [333333333.33333329, 1e30, 4.50, 2e-3, 0.000000000000000000000000001],
        "string": '\u20ac$\u000f\nA\'B"\\\\"/',
        "literals": [None, True, False],
    }
    assert canonical_bytes(value) == (
        b'{"literals":[null,true,false],"numbers":[333333333.3333333,1e+30,4.5,0.002,1e-27],'
        b'"string":"\xe2\x82\xac$\\u000f\\nA\'B\\"\\\\\\\\\\"/"}'
    )


def test_the_key_order_of_section_3_2_3():
    value = {
        "\u20ac": "Euro Sign",
        "\r": "Carriage Return",
        "\ufb33": "Hebrew Letter Dalet With Dagesh",
        "1": "One",
        "\U0001f600": "Emoji: Grinning Face",
        "\u0080": "Control",
        "\u00f6": "Latin Small Letter O With Diaeresis",
    }
    written = json.loads(canonical_bytes(value), object_pairs_hook=list)
    assert [text for _, text in written] == [
        "Carriage Return",
        "One",
        "Control",
        "Latin Small Letter O With Diaeresis",
        "Euro Sign",
        "Emoji: Grinning Face",
        "Hebrew Letter Dalet With Dagesh",
    ]


def test_the_key_order_holds_at_every_level_and_among_floats():
    inner = {"\ufb33": 1.0, "\U0001f600": 1e-7}
    assert canonical_bytes([inner, inner]) == '[{"\U0001f600":1e-7,"\ufb33":1},{"\U0001f600":1e-7,"\ufb33":1}]'.encode()


@pytest.mark.parametrize(
    ("value", "path", "word"),
    [
        ({"a": [1, {"id": SAFE + 1}]}, "$.a[1].id", "2^53"),
        ({"a": -SAFE - 1}, "$.a", "2^53"),
        ([1e16], "$[0]", "2^53"),
        (float(2**63), "$", "2^53"),
        ({"a": math.nan}, "$.a", "nan"),
        ([[math.inf]], "$[0][0]", "inf"),
        ({"a": "\ud800"}, "$.a", "surrogate"),
        ({"a": {"\udfff": 1}}, "$.a", "surrogate"),
        ({"a": {1: 2}}, "$.a", "key 1"),
        ({"a": {None: 2}}, "$.a", "key None"),
        ({"a": {1, 2}}, "$.a", "set"),
        ({"a": b"x"}, "$.a", "bytes"),
    ],
)
def test_a_value_that_readers_could_take_differently_is_refused_by_path(value, path, word):
    with pytest.raises(NotRecordable) as refused:
        canonical_bytes(value)
    assert refused.value.where == path
    assert word in str(refused.value)


def nested(depth, leaf):
    for _ in range(depth):
        leaf = [leaf]
    return leaf


def test_depth_is_bounded_by_value_and_by_text():
    assert canonical_bytes(nested(MOST_DEEP, 1)).count(b"[") == MOST_DEEP
    assert parse_strict(canonical_bytes(nested(MOST_DEEP, 1))) == nested(MOST_DEEP, 1)
    for depth in (MOST_DEEP + 1, 100_000):
        with pytest.raises(NotRecordable, match="nested"):
            canonical_bytes(nested(depth, 1))
        with pytest.raises(InputError, match="nested"):
            parse_strict(b"[" * depth + b"1" + b"]" * depth)


def test_a_value_that_contains_itself_is_refused():
    loop: list[object] = []
    loop += [loop, loop]
    with pytest.raises(NotRecordable, match="nested"):
        canonical_bytes(loop)


@pytest.mark.parametrize(
    ("text", "where", "word"),
    [
        (b'{"a": 1, "b": {"c": 2,\n "c": 3}}', "line 2, column 2, $.b.c", "twice"),
        (b'{"a": 9007199254740993}', "line 1, column 7, $.a", "2^53"),
        (b'{"a": 9007199254740993.0}', "line 1, column 7, $.a", "2^53"),
        (b'{"a": -9007199254740992}', "line 1, column 7, $.a", "2^53"),
        (b"1" * 5000, "line 1, column 1, $", "number"),
        (b"[1e400]", "line 1, column 2, $[0]", "inf"),
        (b"[NaN]", "line 1, column 2, $[0]", "value"),
        (b"[-Infinity]", "line 1, column 2, $[0]", "value"),
        (b'["\\ud800"]', "line 1, column 2, $[0]", "surrogate"),
        (b'{"\\udfff": 1}', "line 1, column 2, $", "surrogate"),
        (b'["a\x01"]', "line 1, column 4, $[0]", "control"),
        (b'["\\x"]', "line 1, column 3, $[0]", "escape"),
        (b'["a', "line 1, column 2, $[0]", "unterminated"),
        (b"[1,]", "line 1, column 4, $[1]", "value"),
        (b"[1 2]", "line 1, column 4, $", "comma"),
        (b'{"a" 1}', "line 1, column 6, $.a", "colon"),
        (b"{a: 1}", "line 1, column 2, $", "key"),
        (b"[01]", "line 1, column 3, $", "comma"),
        (b"[] []", "line 1, column 4, $", "follows"),
        (b"", "line 1, column 1, $", "value"),
        (b'"\xff"', "byte 1", "UTF-8"),
        (b"\xef\xbb\xbf{}", "line 1, column 1, $", "value"),
    ],
)
def test_text_that_readers_could_take_differently_is_refused_by_place(text, where, word):
    with pytest.raises(InputError) as refused:
        parse_strict(text)
    assert (refused.value.where, word in str(refused.value)) == (where, True), str(refused.value)


@pytest.mark.parametrize(
    ("text", "place"),
    [(b'{"a": 1}', 5), (b'{"b":1,"a":2}', 2), (b"1.0", 1), (b"[1]\n", 3), (b'"\\u0041"', 1), (b"-0", 0), (b"1E2", 1)],
)
def test_other_bytes_for_the_same_value_are_refused_as_not_canonical(text, place):
    with pytest.raises(InputError, match="not canonical") as refused:
        parse_canonical(text)
    assert refused.value.where == f"byte {place}"


def test_two_64_bit_ids_that_share_a_double_never_share_a_digest():
    one, other = 2**63 - 1, 2**63 - 2
    assert float(one) == float(other)
    for number_ in (one, other):
        with pytest.raises(NotRecordable):
            digest({"order": number_})
        with pytest.raises(InputError):
            parse_strict(b'{"order":%d}' % number_)
    # The advice of the refusal keeps them apart.
    assert digest({"order": str(one)}) != digest({"order": str(other)})
    assert digest({"order": SAFE}) != digest({"order": SAFE - 1})
