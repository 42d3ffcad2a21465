"""The tool call and the digest that an approval binds to."""

import pytest

from butfor.errors import InputError, NotRecordable
from butfor.gate.action import Action


def test_a_call_is_read_as_it_stands():
    found = Action.read(b'{"arguments": {"service": "web", "n": 1}, "tool": "restart"}')
    assert found == Action(tool="restart", arguments={"service": "web", "n": 1})


def test_the_order_of_arguments_and_who_asks_do_not_change_the_digest():
    one = Action(tool="restart", arguments={"a": 1, "b": [1.5, None]}, agent="x")
    other = Action(tool="restart", arguments={"b": [1.5, None], "a": 1}, agent="y")
    assert one.digest == other.digest
    assert one.digest != Action(tool="restart", arguments={"a": 1, "b": [1.5]}).digest


@pytest.mark.parametrize("number", [2**53, 2**53 + 1, -(2**53), 9223372036854775807])
def test_integers_that_share_a_double_are_refused(number):
    with pytest.raises(NotRecordable, match="id"):
        _ = Action(tool="delete", arguments={"id": number}).digest
    with pytest.raises(InputError):
        Action.read(b'{"tool": "delete", "arguments": {"id": %d}}' % number)


@pytest.mark.parametrize("value", [float("nan"), float("inf"), "\ud800", {1: 2}, object()])
def test_what_has_no_exact_json_is_refused(value):
    with pytest.raises(NotRecordable):
        _ = Action(tool="delete", arguments={"x": value}).digest


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"[]",
        b'{"tool": 1}',
        b'{"tool": "a", "arguments": []}',
        b'{"tool": "a", "tool": "b"}',
        b'{"tool": "a", "extra": 1}',
        b'{"arguments": {}}',
        b'{"tool": "a", "arguments": {"x": NaN}}',
        b'{"tool": "a", "agent": null}',
        b"\xff",
    ],
)
def test_anything_else_is_no_call(data):
    with pytest.raises(InputError):
        Action.read(data)
