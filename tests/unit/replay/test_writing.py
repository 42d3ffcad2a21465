"""An action stands for the recorded answer in that answer's own format, and reads back as what it is."""

import pytest

from butfor.errors import InputError
from butfor.replay.reading import read
from butfor.replay.writing import write_action

CALL = {"tool": "check", "arguments": {"order": "1042"}}
ANTHROPIC = {
    "id": "msg_1",
    "type": "message",
    "role": "assistant",
    "content": [{"type": "tool_use", "id": "toolu_1", "name": "refund", "input": {"order": "1042"}}],
    "stop_reason": "tool_use",
    "usage": {"input_tokens": 3, "output_tokens": 4},
}
RESPONSES = {
    "id": "resp_1",
    "object": "response",
    "output": [{"type": "function_call", "call_id": "c1", "name": "refund", "arguments": "{}"}],
    "usage": {"input_tokens": 3, "output_tokens": 4},
}
CHAT = {"choices": [{"index": 0, "message": {"role": "assistant", "content": "x"}, "finish_reason": "stop"}]}
MESSAGE = {"role": "assistant", "content": "x"}
FORMATS = [
    ANTHROPIC,
    RESPONSES,
    CHAT,
    MESSAGE,
    *({"status": 200, "body": each} for each in (ANTHROPIC, RESPONSES, CHAT)),
]


@pytest.mark.parametrize("recorded", FORMATS)
@pytest.mark.parametrize("action", ["It is not eligible.", CALL, ["So:", CALL, CALL]])
def test_an_action_reads_back_from_every_format(recorded, action):
    written = read(write_action(recorded, action))
    parts = action if isinstance(action, list) else [action]
    assert written.known
    assert (written.text or "") == "".join(part for part in parts if isinstance(part, str))
    assert [(call.name, call.arguments) for call in written.calls] == [
        (part["tool"], part["arguments"]) for part in parts if isinstance(part, dict)
    ]
    assert len({call.call_id for call in written.calls}) == len(written.calls)


@pytest.mark.parametrize("recorded", [ANTHROPIC, RESPONSES, CHAT])
def test_the_answer_stays_in_its_format(recorded):
    written = write_action(recorded, CALL)
    assert set(recorded) <= set(written)
    assert written.get("role") == recorded.get("role")


def test_a_reason_to_stop_fits_what_was_decided():
    assert write_action(ANTHROPIC, "No.")["stop_reason"] == "end_turn"
    assert write_action(ANTHROPIC, CALL)["stop_reason"] == "tool_use"


def test_a_format_of_the_agents_own_is_refused():
    with pytest.raises(InputError, match="format of the agent's own"):
        write_action({"mine": 1}, CALL)


def test_an_agent_whose_own_format_is_the_short_one_is_given_it():
    assert write_action({"tool": "refund", "arguments": {}}, CALL) == CALL
