"""Laws of importing: nothing foreign breaks it, order does not matter, and what went in can be written again."""

import contextlib
import json
from pathlib import Path

import atif
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from butfor import canonical, importers, runs
from butfor.errors import ButforError
from butfor.importers import msgpack
from butfor.importers.growing import GrowingRequest
from butfor.importers.parsing import DEPTH, parse
from butfor.runs.requests import texts
from tests.property.strategies import json_values, text

INPUTS = Path(__file__).parents[1] / "golden" / "importers" / "inputs"
GOLDEN = {path.name: path.read_bytes() for path in sorted(INPUTS.iterdir())}
JSON_TYPES: st.SearchStrategy[canonical.Json] = st.sampled_from(
    [None, True, 0, -1, 1e308, "", "x", "[", "{}", [], {}, [[]], [None], {"role": 1}, "2026"]
)
SHUFFLED = [name for name in GOLDEN if name.startswith("otlp") and b"\n" in GOLDEN[name].strip()]
SHUFFLED += ["claude_code.jsonl", "langfuse_export.jsonl", "langsmith_runs.jsonl", "openai_agents_generation.jsonl"]
relaxed = settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow])


def read(data: bytes, name: str = "trace") -> list[runs.Run]:
    """Import; any error but ours is a fault."""
    with contextlib.suppress(ButforError):
        return list(importers.import_input(importers.from_bytes(data, name)).runs)
    return []


def check(imported: list[runs.Run]) -> None:
    """Whatever was imported is whole."""
    for run in imported:
        assert runs.from_text(runs.to_text(run)) == run
        list(texts([step.request for step in run.steps]))
        canonical.encode(importers.to_atif(run))


def replaced(value, path, new):
    """Return a copy with the node that a list of numbers leads to replaced; None deletes it."""
    if not path or not isinstance(value, list | dict) or not value:
        return new
    keys = list(value) if isinstance(value, dict) else list(range(len(value)))
    key = keys[path[0] % len(keys)]
    copy = dict(value) if isinstance(value, dict) else list(value)
    if len(path) == 1 and new is None:
        copy.pop(key)
    else:
        copy[key] = replaced(copy[key], path[1:], new)
    return copy


def records(data: bytes) -> list[canonical.Json]:
    """Return the JSON values of a golden input: its lines, or the document."""
    try:
        return [json.loads(data)]
    except ValueError:
        return [json.loads(line) for line in data.splitlines()]


mutated = st.tuples(
    st.sampled_from(sorted(GOLDEN)),
    st.lists(
        st.tuples(st.lists(st.integers(0, 30), min_size=1, max_size=9), JSON_TYPES | json_values),
        min_size=1,
        max_size=3,
    ),
)


def mutate(name: str, mutations: list[tuple[list[int], canonical.Json]]) -> bytes:
    """Return a golden input with other values in some places."""
    values: canonical.Json = records(GOLDEN[name])
    for path, new in mutations:
        values = replaced(values, path, new)
    lines = values if isinstance(values, list) else [values]
    return "\n".join(map(json.dumps, lines)).encode("utf-8", "surrogatepass")


@relaxed
@given(mutated)
def test_a_trace_with_any_value_anywhere_gives_runs_or_one_error(mutation):
    check(read(mutate(*mutation)))


@pytest.mark.slow
@settings(relaxed, max_examples=5000)
@given(mutated)
def test_thousands_of_mutated_traces_give_runs_or_one_error(mutation):
    check(read(mutate(*mutation)))


@relaxed
@given(st.sampled_from(sorted(GOLDEN)), st.data())
def test_a_trace_with_broken_bytes_gives_runs_or_one_error(name, data):
    raw = bytearray(GOLDEN[name])
    for position in data.draw(st.lists(st.integers(0, len(raw) - 1), max_size=4)):
        raw[position] = data.draw(st.integers(0, 255))
    end = data.draw(st.integers(0, len(raw)))
    check(read(bytes(raw[:end])))


@relaxed
@given(json_values)
def test_any_json_value_gives_runs_or_one_error(value):
    check(read(json.dumps(value).encode()))


@relaxed
@given(
    st.binary(max_size=60)
    | st.binary(max_size=60).map(lambda tail: b"\x28\xb5\x2f\xfd" + tail)
    | st.binary(max_size=60).map(lambda tail: b"PK\x03\x04" + tail)
    | st.binary(max_size=60).map(lambda tail: b"\n" + tail)
)
def test_any_bytes_give_runs_or_one_error(data):
    check(read(data))


@given(
    st.sampled_from(SHUFFLED),
    st.randoms(use_true_random=False),
    st.booleans(),
)
def test_the_order_of_lines_does_not_matter_and_repeats_are_counted(name, random, repeat):
    lines = GOLDEN[name].splitlines()
    shuffled = lines + lines[:1] if repeat else list(lines)
    random.shuffle(shuffled)
    (run,), (again,) = read(b"\n".join(lines)), read(b"\n".join(shuffled))

    def bare(each: runs.Run) -> list[runs.Step]:
        return [step.model_copy(update={"source": None}) for step in each.steps]

    assert bare(run) == bare(again)
    assert run.outcome == again.outcome


@given(
    st.lists(json_values, max_size=6),
    st.dictionaries(st.sampled_from(["model", "tools", "z", "a"]), json_values),
    st.sampled_from([0, 1, 2]),
)
def test_a_growing_request_is_the_whole_request(messages, body, at):
    keys = list(body)
    ordered = {key: body[key] for key in keys[:at]} | {"messages": []} | {key: body[key] for key in keys[at:]}
    growing = GrowingRequest(ordered)
    stored = []
    for step, message in enumerate(messages):
        stored.append(growing.at(step))
        growing.extend([message])
    expected = [canonical.encode(ordered | {"messages": messages[:step]}) for step in range(len(messages))]
    assert list(texts(stored)) == expected


@given(st.integers(0, 2 * DEPTH), st.integers(0, 3), st.sampled_from(["[]", "{}"]))
def test_depth_is_judged_by_nesting_alone(depth, wide, kind):
    opening, closing = ("[", "]") if kind == "[]" else ('{"a":', "}")
    padding = ",".join(["[]"] * 300 * wide)
    inner = opening * depth + ('"[[["' if wide else "1") + closing * depth
    whole = f"[{inner}{',' if padding else ''}{padding}]".encode()
    if depth + 1 > DEPTH:
        with pytest.raises(ValueError, match="deeper"):
            parse(whole)
    else:
        assert parse(whole) == json.loads(whole)


@given(st.binary(max_size=80))
def test_any_bytes_are_messagepack_or_a_value_error(data):
    with contextlib.suppress(ValueError):
        canonical.encode(msgpack.unpack(data))


# --- ATIF

extras = st.none() | st.dictionaries(text, json_values.filter(lambda value: value == value), max_size=2)
words = st.text(max_size=8)
names = st.text(min_size=1, max_size=6)
moments = st.none() | st.sampled_from(["2026-01-02T03:04:05Z", "2026-01-02T03:04:05.5+02:00", "2026-01-02"])
content = words | st.lists(
    st.builds(lambda value: {"type": "text", "text": value}, words)
    | st.just({"type": "image", "source": {"media_type": "image/png", "path": "a.png"}}),
    max_size=2,
)
metrics = st.fixed_dictionaries(
    {},
    optional={
        "prompt_tokens": st.integers(0, 9),
        "cost_usd": st.floats(0, 1),
        "logprobs": st.lists(st.floats(-9, 0), max_size=2),
    },
)


@st.composite
def steps_of(draw, number: int):
    source = draw(st.sampled_from(["system", "user", "agent", "agent"]))
    step = {"step_id": number, "source": source, "message": draw(content)}
    optional = {"timestamp": draw(moments), "extra": draw(extras)}
    if source == "agent":
        calls = draw(st.lists(st.tuples(names, names), max_size=3, unique_by=lambda pair: pair[0]))
        optional["tool_calls"] = [
            {"tool_call_id": call, "function_name": name, "arguments": draw(st.dictionaries(words, words, max_size=2))}
            for call, name in calls
        ] or None
        results = [{"source_call_id": call, "content": draw(content)} for call, _ in calls if draw(st.booleans())]
        optional |= {"observation": {"results": results} if results else None, "metrics": draw(st.none() | metrics)}
        optional |= {"reasoning_content": draw(st.none() | words), "model_name": draw(st.none() | names)}
    return step | {key: value for key, value in optional.items() if value is not None or draw(st.booleans())}


@st.composite
def trajectories(draw, level: int = 0):
    """ATIF documents with sub-agents, explicit nulls and empty texts."""
    steps = [draw(steps_of(number)) for number in range(1, draw(st.integers(1, 5)) + 1)]
    steps.append({"step_id": len(steps) + 1, "source": "agent", "message": "end"})
    document = {
        "schema_version": draw(st.sampled_from(["ATIF-v1.5", "ATIF-v1.8"])),
        "agent": {"name": draw(names), "version": "1", "model_name": draw(st.none() | names)},
        "steps": steps,
        "extra": draw(extras),
    }
    if level < 2:
        subs = draw(st.lists(trajectories(level + 1), max_size=2))
        if subs:
            document["subagent_trajectories"] = [
                sub | {"trajectory_id": f"{level}-{position}"} for position, sub in enumerate(subs)
            ]
    return document


@relaxed
@given(trajectories())
def test_a_trajectory_is_written_again_as_it_was(document):
    atif.Trajectory.model_validate(document)
    (run,) = importers.import_input(importers.from_bytes(json.dumps(document).encode(), "t.json")).runs
    check([run])
    assert canonical.canonical(importers.to_atif(run)) == canonical.canonical(document)


@pytest.mark.parametrize("name", sorted(GOLDEN))
def test_every_format_exports_valid_atif(name):
    for run in read(GOLDEN[name], name):
        document = importers.to_atif(run)
        atif.Trajectory.model_validate(document)
        if name.startswith("atif"):
            assert document == json.loads(GOLDEN[name])
        again = read(json.dumps(document).encode())
        assert [len(each.steps) for each in again] == [len(run.steps)]
        assert again[0].outcome is None or again[0].outcome.value == getattr(run.outcome, "value", None)


# --- Redaction

secrets = st.sampled_from(
    [
        "sk-proj-abcdefghijklmnop1234",
        "someone.else+tag@mail.example.org",
        "ghp_abcdefghijklmnopqrstuvwxyz012345",
        "AKIAABCDEFGHIJKLMNOP",
        "xoxb-123456789012-abcdef",
        "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxIn0.abc_def-ghi",
    ]
)


@relaxed
@given(st.lists(secrets, min_size=1, max_size=3), st.binary(min_size=1, max_size=8))
def test_a_secret_survives_nowhere_and_keeps_its_name(found, key):
    messages = [
        {"role": "user", "content": f"use {found[0]}, please", "name": "u"},
        {
            "role": "assistant",
            "content": None,
            "tool_calls": [
                {
                    "id": "c",
                    "type": "function",
                    "function": {"name": "login", "arguments": json.dumps({"password": "hunter2", "as": found[-1]})},
                }
            ],
        },
        {"role": "tool", "tool_call_id": "c", "content": json.dumps({found[0]: 1, "api_key": ["k1", {"x": "k2"}]})},
        {"role": "assistant", "content": found[0]},
    ]
    opening = importers.Opening(cleaned=importers.redactor(key))
    source = importers.from_bytes(json.dumps(messages).encode(), "t.json")
    (run,) = importers.import_input(source, opening=opening).runs
    document = runs.to_text(run)
    for secret in (*found, "hunter2", "k1", "k2"):
        assert secret not in document
    name = run.output.get()
    assert name.startswith("[")
    assert run.task.get() == f"use {name}, please"
    again = importers.redactor(key)
    assert again(again(messages)) == again(messages)
