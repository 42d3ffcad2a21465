"""Laws of the JSON text: it loses nothing, it is canonical, and depth does not break it."""

import contextlib
import json
import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from butfor import canonical
from butfor.errors import CorruptRecord, NotRecordable
from tests.property.strategies import json_values, keys, scalars

python_values = st.recursive(
    scalars | st.binary(max_size=5),
    lambda children: (
        st.lists(children, max_size=3)
        | st.lists(children, max_size=3).map(tuple)
        | st.dictionaries(keys | st.integers() | st.booleans(), children, max_size=3)
    ),
    max_leaves=12,
)


def same(a: object, b: object) -> bool:
    return repr(a) == repr(b)  # tells 1 from True, -0.0 from 0.0 and keeps key order; NaN equals itself


@given(json_values)
def test_encode_round_trips_any_json_value(value):
    assert same(canonical.decode(canonical.encode(value)), value)


@given(python_values)
def test_encode_exact_round_trips_tuples_bytes_and_odd_keys(value):
    assert same(canonical.decode(canonical.encode_exact(value)), value)


@given(json_values)
def test_text_is_ascii_and_strict_json(value):
    text = canonical.encode(value)
    assert text.isascii()
    json.loads(text, parse_constant=lambda name: pytest.fail(f"{name} is not JSON"))


@given(st.dictionaries(keys, json_values, min_size=2, max_size=5))
def test_canonical_ignores_key_order_and_encode_keeps_it(value):
    turned = dict(reversed(value.items()))
    assert canonical.digest(turned) == canonical.digest(value)
    assert list(canonical.decode(canonical.encode(turned))) == list(turned)


@given(json_values, json_values)
def test_a_difference_is_found_exactly_where_texts_differ(a, b):
    assert (canonical.first_difference(a, b) is None) == (canonical.canonical(a) == canonical.canonical(b))


@given(st.text(max_size=40) | st.binary(max_size=40))
def test_decoding_anything_gives_a_value_or_one_error(text):
    with contextlib.suppress(CorruptRecord):
        canonical.decode(text)


@pytest.mark.parametrize(("opening", "closing"), [("[", "]"), ('{"a":', "}")])
def test_two_hundred_thousand_levels_of_nesting_survive(opening, closing):
    value: object = None
    for _ in range(200_000):
        value = [value] if opening == "[" else {"a": value}
    text = canonical.encode(value)
    assert text == opening * 200_000 + "null" + closing * 200_000
    assert canonical.encode(canonical.decode(text)) == text
    unravel(value)


def unravel(value: object) -> None:
    """Take a deep value apart from outside, so that its destruction does not recurse."""
    while isinstance(value, list | dict):
        value = value.pop() if isinstance(value, list) else value.popitem()[1]


@pytest.mark.parametrize(
    "text",
    ['{"$int":"zz"}', '{"$float":"x"}', '{"$bytes":"*"}', '{"$map":[1]}', '{"$esc":1}', '{"$tuple":1}', "[" * 5000],
)
def test_a_malformed_form_is_named(text):
    with pytest.raises(CorruptRecord):
        canonical.decode(text)


def test_what_has_no_json_form_is_refused_by_type():
    with pytest.raises(NotRecordable, match=r"builtins\.object has no JSON form"):
        canonical.encode([object()])


def test_numbers_keep_their_type():
    assert canonical.encode([1, 1.0, True, -0.0, 10**5000 > 0]) == "[1,1.0,true,-0.0,true]"
    assert canonical.decode(canonical.encode(10**5000)) == 10**5000
    assert math.isnan(canonical.decode(canonical.encode(math.nan)))
