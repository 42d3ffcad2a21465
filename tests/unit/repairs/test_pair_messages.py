"""Requests and actions as chat messages, from every dialect that is recorded."""

import pytest

from butfor.repairs.pairs import answer_message, prompt_of
from butfor.repairs.pairs.messages import NotWritable

CALLED = {
    "role": "assistant",
    "content": "",
    "tool_calls": [{"id": "c1", "type": "function", "function": {"name": "look", "arguments": '{"x": 1}'}}],
}
RETURNED = {"role": "tool", "content": "found", "tool_call_id": "c1"}
HISTORY = [{"role": "system", "content": "S"}, {"role": "user", "content": "Q"}, CALLED, RETURNED]
SCHEMA = {"type": "object", "properties": {"x": {"type": "integer"}}}
TOOL = {"type": "function", "function": {"name": "look", "description": "looks", "parameters": SCHEMA}}

CHAT = {"messages": HISTORY, "tools": [TOOL], "parallel_tool_calls": False}
ANTHROPIC = {
    "system": [{"type": "text", "text": "S"}],
    "messages": [
        {"role": "user", "content": "Q"},
        {"role": "assistant", "content": [{"type": "tool_use", "id": "c1", "name": "look", "input": {"x": 1}}]},
        {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "c1", "content": "found"}]},
    ],
    "tools": [{"name": "look", "description": "looks", "input_schema": SCHEMA}],
}
RESPONSES = {
    "instructions": "S",
    "input": [
        {"role": "user", "content": [{"type": "input_text", "text": "Q"}]},
        {"type": "reasoning", "summary": []},
        {"type": "function_call", "call_id": "c1", "name": "look", "arguments": '{"x": 1}'},
        {"type": "function_call_output", "call_id": "c1", "output": "found"},
    ],
    "tools": [{"type": "function", "name": "look", "description": "looks", "parameters": SCHEMA}],
}


@pytest.mark.parametrize(
    "asked",
    [CHAT, {"body": CHAT}, {"kwargs": CHAT}, ANTHROPIC, RESPONSES],
    ids=["chat", "http", "sdk", "blocks", "items"],
)
def test_every_dialect_gives_the_same_messages(asked):
    prompt = prompt_of(asked)
    assert list(prompt.messages) == HISTORY
    assert list(prompt.tools) == [TOOL]
    assert prompt.opening == "Q"


def test_the_arguments_stay_the_text_that_was_recorded():
    odd = {"messages": [HISTORY[1], CALLED | {"tool_calls": [_called('{ "x" :1}')]}]}
    assert prompt_of(odd).messages[1]["tool_calls"][0]["function"]["arguments"] == '{ "x" :1}'


def _called(arguments):
    return {"id": "c1", "type": "function", "function": {"name": "look", "arguments": arguments}}


def test_parallel_calls_are_as_the_request_says():
    assert prompt_of(CHAT).parallel is False
    assert prompt_of(ANTHROPIC).parallel is None


@pytest.mark.parametrize(
    ("asked", "why"),
    [
        (None, "not known"),
        ({"history": ["x"]}, "form of the agent's own"),
        ({"messages": [{"role": "user", "content": [{"type": "image_url", "image_url": {}}]}]}, "other than text"),
        ({"messages": [{"content": "Q"}]}, "known role"),
        ({"messages": [{"role": "assistant", "tool_calls": [{"nothing": 1}]}]}, "malformed"),
        ({"messages": [{"role": "system", "content": "S"}]}, "no message of a user"),
        ({"input": [{"type": "computer_call"}]}, "computer_call"),
        ({"messages": [HISTORY[1]], "tools": [{"type": "retrieval"}]}, "no function"),
    ],
)
def test_what_has_no_chat_form_says_why(asked, why):
    with pytest.raises(NotWritable, match=why):
        prompt_of(asked)


def test_both_answers_of_a_step_name_their_calls_alike():
    recorded = {"choices": [{"message": CALLED}]}
    assert answer_message(recorded, step=3) == answer_message({"tool": "look", "arguments": {"x": 1}}, step=3)
    assert answer_message(recorded, step=3)["tool_calls"][0]["id"] == "call_3_0"


def test_text_and_calls_are_one_message():
    message = answer_message(["First this.", {"tool": "look", "arguments": {"x": 1}}], step=0)
    assert message["content"] == "First this."
    assert len(message["tool_calls"]) == 1


@pytest.mark.parametrize("action", [{"own": "form"}, "  ", 7])
def test_an_action_without_a_chat_form_says_so(action):
    with pytest.raises(NotWritable):
        answer_message(action, step=0)
