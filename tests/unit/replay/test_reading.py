"""Two answers are the same action only where all that they say is the same, ids, times and token counts aside."""

import pytest

from butfor.replay.reading import read


def chat(**message):
    return {"choices": [{"index": 0, "message": {"role": "assistant", "content": None, **message}}]}


def responses(*items):
    return {"output": list(items)}


def anthropic(*blocks):
    return {"role": "assistant", "content": list(blocks)}


def streamed(*deltas):
    return [{"choices": [{"index": 0, "delta": delta}]} for delta in deltas]


def custom(text):
    return {"tool_calls": [{"id": "c1", "type": "custom", "custom": {"name": "grep", "input": text}}]}


IMAGE = {"type": "image_url", "image_url": {"url": "data:image/png;base64,AA=="}}
OTHER = {"type": "image_url", "image_url": {"url": "data:image/png;base64,BB=="}}


@pytest.mark.parametrize(
    ("one", "another"),
    [
        (chat(refusal="I may not."), chat(refusal="I will not.")),
        (chat(function_call={"name": "f", "arguments": "{}"}), chat(function_call={"name": "g", "arguments": "{}"})),
        (chat(**custom("a")), chat(**custom("b"))),
        (chat(content=[IMAGE]), chat(content=[OTHER])),
        (chat(audio={"id": "a1", "data": "AA=="}), chat(audio={"id": "a1", "data": "BB=="})),
        ({"choices": [*chat()["choices"], {"index": 1}]}, {"choices": [*chat()["choices"], {"index": 2}]}),
        (
            responses({"type": "message", "content": [{"type": "refusal", "refusal": "no"}]}),
            responses({"type": "message", "content": [{"type": "refusal", "refusal": "never"}]}),
        ),
        (
            responses({"type": "custom_tool_call", "call_id": "1", "name": "grep", "input": "a"}),
            responses({"type": "custom_tool_call", "call_id": "1", "name": "grep", "input": "b"}),
        ),
        (
            responses({"type": "web_search_call", "id": "1", "action": {"query": "a"}}),
            responses({"type": "web_search_call", "id": "1", "action": {"query": "b"}}),
        ),
        (
            anthropic({"type": "server_tool_use", "id": "1", "name": "web_search", "input": {"query": "a"}}),
            anthropic({"type": "server_tool_use", "id": "1", "name": "web_search", "input": {"query": "b"}}),
        ),
        (streamed({"refusal": "no"}), streamed({"refusal": "never"})),
        (
            streamed({"function_call": {"name": "f", "arguments": "{"}}, {"function_call": {"arguments": "}"}}),
            streamed({"function_call": {"name": "g", "arguments": "{"}}, {"function_call": {"arguments": "}"}}),
        ),
        (
            streamed({"tool_calls": [{"index": 0, "id": "1", "custom": {"name": "grep", "input": "a"}}]}),
            streamed({"tool_calls": [{"index": 0, "id": "1", "custom": {"name": "grep", "input": "b"}}]}),
        ),
        (
            [{"choices": [{"index": 0, "delta": {"content": "a"}}, {"index": 1, "delta": {"content": "b"}}]}],
            [{"choices": [{"index": 0, "delta": {"content": "a"}}, {"index": 1, "delta": {"content": "c"}}]}],
        ),
    ],
)
def test_answers_that_differ_are_different_actions(one, another):
    assert read(one).known
    assert read(one).key != read(another).key
    assert read(one).key == read(one).key


def test_what_a_provider_numbers_anew_is_no_difference():
    def searched(name):
        return responses({"type": "web_search_call", "id": name, "status": "completed", "action": {"query": "a"}})

    assert read(searched("ws_1")).key == read(searched("ws_2")).key


def test_thoughts_are_no_part_of_the_action():
    def thinking(thought):
        return responses({"type": "reasoning", "id": "rs_1", "summary": [{"type": "summary_text", "text": thought}]})

    assert read(thinking("hm")).reasoning == "hm"
    assert read(thinking("hm")).key == read(thinking("aha")).key


def test_a_custom_tool_is_a_call_of_its_name():
    (call,) = read(chat(**custom("a"))).calls
    assert (call.name, call.arguments) == ("grep", "a")


def test_a_stream_and_the_whole_answer_are_one_action():
    pieces = streamed(
        {"role": "assistant", "content": "So: "},
        {"content": "done."},
        {"tool_calls": [{"index": 0, "id": "c1", "function": {"name": "f", "arguments": '{"a"'}}]},
        {"tool_calls": [{"index": 0, "function": {"arguments": ": 1}"}}]},
    )
    call = {"id": "c9", "function": {"name": "f", "arguments": '{"a": 1}'}}
    assert read(pieces).key == read(chat(content="So: done.", tool_calls=[call])).key


@pytest.mark.parametrize(
    "damaged",
    [
        chat(content=[{"type": "text", "text": None}, 3]),
        chat(tool_calls="none"),
        {"choices": [None]},
        {"choices": [{"message": {}}], "usage": 3},
        responses(None, 7, {"type": "message", "content": 5}),
        anthropic("text", {"type": "text", "text": None}),
        [{"choices": [None, {"delta": None}]}, {"choices": "x"}],
        streamed({"tool_calls": [{"function": None}], "content": None}),
    ],
)
def test_a_damaged_answer_is_read_as_far_as_it_goes(damaged):
    assert read(damaged).key
