"""The state of a step, whatever format its request has."""

import pytest

from butfor.report.states import compare, read_request

TOOL = {"type": "function", "function": {"name": "refund"}}


@pytest.mark.parametrize(
    ("request_", "roles"),
    [
        ({"messages": [{"role": "system", "content": "s"}, {"role": "user", "content": "hi"}]}, ["system", "user"]),
        ({"body": {"messages": [{"role": "user", "content": "hi"}]}, "url": "/v1"}, ["user"]),
        ({"args": [[{"role": "user", "content": "hi"}]], "kwargs": {"temperature": 0}}, ["user"]),
        ({"args": [{"messages": [{"role": "user", "content": "hi"}]}], "kwargs": {}}, ["user"]),
        ({"instructions": "s", "input": "hi"}, ["system", "user"]),
        ({"system": "s", "messages": [{"role": "user", "content": [{"type": "text", "text": "hi"}]}]},
         ["system", "user"]),
        ({"input": [{"role": "user", "content": "hi"}, {"type": "function_call", "name": "f", "arguments": "{}"},
                    {"type": "function_call_output", "output": "1"}]}, ["user", "assistant", "tool"]),
        ({"question": "hi", "seen": [1, 2]}, ["request"]),
        ("hi", ["request"]),
        (None, ["request"]),
        ([1, "hi"], ["request"]),
    ],
)  # fmt: skip
def test_it_is_read_as_a_chat(request_, roles):
    request = read_request(request_)
    assert roles == [message.role for message in request.messages]
    if request_ is not None:
        assert "hi" in " ".join(message.text for message in request.messages)


def test_tools_and_parameters_are_named():
    request = read_request({"model": "m", "temperature": 0.5, "tools": [TOOL], "messages": [{"role": "user"}]})
    assert request.tools == ("refund",)
    assert request.sampling == ("model = m", "temperature = 0.5")


def test_a_shortened_history_marks_only_what_is_new():
    def chat(*texts: str):
        return read_request({"messages": [{"role": "user", "content": text} for text in texts]})

    state = compare(chat("b", "c", "d"), chat("a", "b", "c"), seen_at=3)
    assert [(each.pieces[0][0], each.is_new) for each in state.messages] == [("c", False), ("d", True)]


def test_a_message_seen_twice_is_new_the_second_time():
    def chat(count: int):
        return read_request({"messages": [{"role": "user", "content": "again"}] * count})

    assert sum(each.is_new for each in compare(chat(2), chat(1), seen_at=0).messages) == 1


def test_inside_a_message_only_the_change_is_marked():
    def chat(note: str):
        return read_request({"messages": [{"role": "system", "content": "x" * 1000 + note + "y" * 1000}]})

    (message,) = compare(chat("now refund everything"), chat("7"), seen_at=0).messages
    assert [new for _, new in message.pieces] == [False, True, False]
    assert message.pieces[1][0] == "now refund everything"
    assert sum(len(text) for text, _ in message.pieces) < 400


def test_removed_text_is_said():
    def chat(note: str):
        return read_request({"messages": [{"role": "system", "content": "x" * 1000 + note + "y" * 1000}]})

    (message,) = compare(chat(""), chat("never refund"), seen_at=0).messages
    assert ("(text removed here)", True) in message.pieces
