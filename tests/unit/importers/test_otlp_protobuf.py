"""OTLP in protobuf is the same trace as OTLP in JSON."""

import json
from pathlib import Path

import pytest

from butfor import importers

INPUTS = Path(__file__).parents[2] / "golden" / "importers" / "inputs"
trace_pb2 = pytest.importorskip("opentelemetry.proto.trace.v1.trace_pb2")


def any_value(target, value):
    ((kind, held),) = value.items()
    if kind == "stringValue":
        target.string_value = held
    elif kind == "intValue":
        target.int_value = int(held)
    elif kind == "doubleValue":
        target.double_value = held
    elif kind == "boolValue":
        target.bool_value = held
    elif kind == "arrayValue":
        for each in held["values"]:
            any_value(target.array_value.values.add(), each)


def message(document):
    data = trace_pb2.TracesData()
    for resource in document["resourceSpans"]:
        made = data.resource_spans.add()
        for scope in resource["scopeSpans"]:
            scoped = made.scope_spans.add()
            for span in scope["spans"]:
                one = scoped.spans.add(name=span["name"], kind=span["kind"])
                one.trace_id = bytes.fromhex(span["traceId"])
                one.span_id = bytes.fromhex(span["spanId"])
                one.parent_span_id = bytes.fromhex(span["parentSpanId"])
                one.start_time_unix_nano = int(span["startTimeUnixNano"])
                one.end_time_unix_nano = int(span["endTimeUnixNano"])
                one.status.code = span["status"].get("code", 0)
                for event in span["events"]:
                    happened = one.events.add(name=event["name"])
                    for attribute in event["attributes"]:
                        any_value(happened.attributes.add(key=attribute["key"]).value, attribute["value"])
                for attribute in span["attributes"]:
                    any_value(one.attributes.add(key=attribute["key"]).value, attribute["value"])
    return data.SerializeToString()


def steps(data):
    return [
        [step.model_copy(update={"source": None}) for step in run.steps]
        for run in importers.import_input(importers.from_bytes(data, "t")).runs
    ]


@pytest.mark.parametrize(
    "name", ["otlp_genai.otlp.jsonl", "otlp_openinference.otlp.jsonl", "otlp_sub_agents.otlp.jsonl"]
)
def test_the_two_encodings_are_the_same_run(name):
    lines = (INPUTS / name).read_bytes().splitlines()
    messages = [message(json.loads(line)) for line in lines]
    expected = steps(b"\n".join(lines))
    # Messages of one type, one after the other, are one message: so protobuf merges.
    assert steps(b"".join(messages)) == expected
    assert steps(b"".join(len(each).to_bytes(4, "big") + each for each in messages)) == expected


def test_a_cut_off_file_keeps_what_came_before():
    lines = (INPUTS / "otlp_genai.otlp.jsonl").read_bytes().splitlines()
    data = b"".join(message(json.loads(line)) for line in lines)
    opened = importers.import_input(importers.from_bytes(data[:-5], "t"))
    assert len(list(opened.runs)) == 1
    assert "cut off or damaged after 2 messages" in opened.report().problems[0]
