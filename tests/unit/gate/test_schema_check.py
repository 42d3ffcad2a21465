"""The checker of schemas: what it knows it checks, and what it does not know it refuses."""

import pytest

from butfor.errors import InputError
from butfor.gate.certificate.schema_check import mismatches

SCHEMA = {
    "type": "object",
    "required": ["a"],
    "additionalProperties": False,
    "properties": {
        "a": {"type": ["integer", "null"], "minimum": 0},
        "b": {"type": "array", "items": {"$ref": "#/$defs/word"}},
        "c": {"anyOf": [{"const": 1}, {"type": "object", "additionalProperties": {"type": "number"}}]},
        "d": {"enum": ["x", 2]},
        "e": {"type": "boolean"},
    },
    "$defs": {"word": {"type": "string", "pattern": "^[a-z]+$"}},
}


@pytest.mark.parametrize(
    ("document", "paths"),
    [
        ({"a": 1, "b": ["x"], "c": {"y": 1.5}, "d": 2, "e": True}, []),
        ({"a": None, "c": 1}, []),
        ({}, ["$.a"]),
        ({"a": True}, ["$.a"]),
        ({"a": -1}, ["$.a"]),
        ({"a": 1.5}, ["$.a"]),
        ({"a": 1, "z": 1}, ["$.z"]),
        ({"a": 1, "b": ["x", "X", 3]}, ["$.b[1]", "$.b[2]"]),
        ({"a": 1, "c": True}, ["$.c"]),
        ({"a": 1, "c": {"y": "1"}}, ["$.c"]),
        ({"a": 1, "d": "y"}, ["$.d"]),
        ({"a": 1, "e": 1}, ["$.e"]),
        ([], ["$"]),
    ],
)
def test_what_does_not_fit_is_named_by_path(document, paths):
    assert [path for path, _ in mismatches(document, SCHEMA)] == paths


def test_a_keyword_that_is_not_checked_is_refused():
    with pytest.raises(InputError, match="maxLength"):
        mismatches("x", {"type": "string", "maxLength": 3})
