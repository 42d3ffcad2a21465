"""Events and answers come through the journal as they were, however the network cut them."""

import json

from hypothesis import given
from hypothesis import strategies as st

from butfor import canonical
from butfor.replay import reading
from butfor.replay.http_messages import Event, EventReader, events_of, streamed_answer, whole_answer, whole_content

scalars = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=20)
values = st.recursive(
    scalars, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3)
)
# Data that is no JSON is one line of text or several; a parsed string would be text again, so it is kept as text.
lines = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\r\n\x00"), max_size=20)
texts = st.lists(lines, min_size=1, max_size=3).map("\n".join).filter(lambda text: not parses(text))
names = st.none() | st.text(st.characters(categories=("L", "N"), include_characters="._"), min_size=1, max_size=12)
events = st.builds(Event, names, values.filter(lambda value: not isinstance(value, str)) | texts)


def parses(text):
    try:
        return not isinstance(json.loads(text), str)
    except ValueError:
        return False


@given(st.lists(events, max_size=5), st.data())
def test_events_do_not_depend_on_how_the_stream_was_cut(sent, data):
    content = b"".join(event.written() for event in sent)
    if data.draw(st.booleans(), label="carriage returns"):
        content = content.replace(b"\n", b"\r\n")
    content = b": a comment\nid: 7\nretry: 10\n\n" + content
    cuts = sorted(data.draw(st.lists(st.integers(0, len(content)), max_size=6), label="cuts"))
    reader = EventReader()
    got = [
        event
        for start, end in zip([0, *cuts], [*cuts, len(content)], strict=True)
        for event in reader.feed(content[start:end])
    ]
    assert got == sent


@given(st.lists(events, max_size=5))
def test_a_kept_stream_is_sent_as_it_came(sent):
    kept = streamed_answer(200, {"content-type": "text/event-stream"}, sent, None)
    assert events_of(canonical.decode(canonical.encode_exact(kept)), streamed=True) == sent


@given(values, st.sampled_from([200, 429, 500]))
def test_a_kept_body_is_sent_with_the_values_that_came(body, status):
    kept = whole_answer(status, {}, json.dumps(body).encode())
    served = canonical.decode(canonical.encode_exact(kept))
    assert whole_answer(status, {}, whole_content(served)) == kept
    assert json.loads(whole_content(served)) == body


@given(st.binary(max_size=40))
def test_a_body_that_is_no_json_is_sent_byte_by_byte(content):
    kept = whole_answer(502, {}, content)
    served = canonical.decode(canonical.encode_exact(kept))
    if "body" not in kept:
        assert whole_content(served) == content


calls = st.lists(
    st.fixed_dictionaries({"name": lines, "arguments": st.dictionaries(lines, scalars, max_size=2)}), max_size=3
)


@given(lines | st.none(), calls)
def test_a_whole_answer_sent_as_a_stream_says_the_same(text, made):
    message = {"role": "assistant", "content": text}
    if made:
        message["tool_calls"] = [
            {"id": f"c{i}", "type": "function", "function": {**call, "arguments": json.dumps(call["arguments"])}}
            for i, call in enumerate(made)
        ]
    body = {
        "id": "x",
        "choices": [{"index": 0, "message": message, "finish_reason": "stop"}],
        "usage": {"prompt_tokens": 3, "completion_tokens": 1},
    }
    whole = {"status": 200, "headers": {}, "body": body}
    sent = events_of(whole, streamed=True)
    assert sent is not None
    streamed = reading.read(streamed_answer(200, {}, sent, None))
    assert (streamed.key, streamed.usage) == (reading.read(whole).key, reading.read(whole).usage)
