"""Spans of the OpenAI Agents SDK, as a tracing processor exports them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from butfor.importers.assembly import assemble, decided_of
from butfor.importers.dialects import chat, responses
from butfor.importers.entries import Decided, asked, to_chat
from butfor.importers.fields import Fields, mapping, printable
from butfor.importers.parsing import unpacked
from butfor.importers.requests import sampling_of, usage_of
from butfor.importers.spans import Kind, Span, traces
from butfor.importers.tally import Ignored

if TYPE_CHECKING:
    from collections.abc import Iterator
    from datetime import datetime

    from butfor.canonical import Json
    from butfor.importers.records import Record, Records
    from butfor.importers.tally import Tally
    from butfor.runs import Run

NAME = "openai_agents"
_HIDDEN = "request.messages: spans hold a response id only (save RunResult.to_input_list() for the whole)"


def matches(value: Json) -> bool:
    """Say whether a record is a span or trace of the SDK, or a batch of them."""
    if isinstance(value, dict) and isinstance(value.get("data"), list):
        return bool(value["data"]) and matches(value["data"][0])
    if not isinstance(value, dict):
        return False
    return value.get("object") in ("trace.span", "trace") and ("trace_id" in value or "workflow_name" in value)


def read(records: Records, tally: Tally) -> Iterator[Run]:
    """Read one run from each trace."""
    for trace, held in traces(records, tally, _items):
        spans = [_span(item, record) for record, item in held if item.get("object") != "trace"]
        if not spans:
            tally.ignored.add("trace without spans")
            continue
        _drop_turns(spans)
        runs = list(assemble(trace, spans, NAME, dialect="spans", digest=records.digest))
        if not runs:
            tally.ignored.add("trace without a model or tool call")
        yield from runs


def _items(record: Record) -> Iterator[tuple[str, dict[str, Json]]]:
    value = mapping(record.value)
    for item in value["data"] if isinstance(value.get("data"), list) else [value]:
        held = mapping(item)
        trace = held.get("trace_id", held.get("id") if held.get("object") == "trace" else None)
        if isinstance(trace, str):
            yield printable(trace), held


def _span(item: dict[str, Json], record: Record) -> Span:
    ignored = Ignored()
    fields = Fields(item, ignored, "span")
    start, end = fields.moment("started_at"), fields.moment("ended_at")
    data = Fields(fields.take("span_data"), ignored, "span_data")
    kind = data.text("type") or ""
    span = Span(
        trace_id=fields.text("trace_id") or "",
        span_id=fields.text("id") or f"{record.line} {record.part}",
        parent_id=fields.text("parent_id"),
        kind=Kind.OTHER,
        record=record,
        name=data.text("name") or kind,
        clock=(_micros(end or start), _micros(start)),
        started_at=start,
        ended_at=end,
        is_error=fields.take("error") is not None,
        ignored=ignored,
    )
    fields.known("object", "metadata")
    _fill(span, kind, data)
    data.close()
    fields.close()
    return span


def _micros(time: datetime | None) -> int:
    return int(time.timestamp() * 1_000_000) if time else 0


def _fill(span: Span, kind: str, data: Fields) -> None:
    if kind == "agent":
        span.kind, span.agent = Kind.AGENT, span.name
        data.known("tools", "handoffs", "output_type")
    elif kind == "function":
        span.kind = Kind.TOOL
        span.arguments, span.result = unpacked(data.take("input")), data.take("output")
        data.known("mcp_data")
    elif kind in ("generation", "response"):
        _model(span, data)
    elif kind == "custom" and mapping(data.value.get("data")).get("sdk_span_type") == "turn":
        turn = mapping(data.take("data"))
        span.kind, span.missing = Kind.MODEL, (_HIDDEN,)
        span.usage = usage_of(turn.get("usage"))
        agent = turn.get("agent_name")
        span.agent = printable(agent) if isinstance(agent, str) else None
    elif kind == "custom" and mapping(data.value.get("data")).get("sdk_span_type") == "task":
        data.rest()
    else:
        span.ignored.add(f"span of type {kind}")
        data.rest()


def _model(span: Span, data: Fields) -> None:
    span.kind = Kind.MODEL
    asked, answered = data.take("input"), data.take("output")
    if isinstance(asked, list):
        span.messages = to_chat(
            responses.entries(asked, span.ignored)
            if any(map(responses.matches, asked))
            else chat.entries(asked, span.ignored)
        )
    else:
        span.missing = (_HIDDEN,)
    if isinstance(answered, list) and answered:
        entries = (
            responses.entries(answered, span.ignored)
            if any(map(responses.matches, answered))
            else chat.entries([{"role": "assistant"} | mapping(each) for each in answered[:1]], span.ignored)
        )
        span.decided = decided_of([entry for entry in entries if isinstance(entry, Decided)][:1])
    model = data.text("model")
    configuration = mapping(data.take("model_config"))
    span.sampling = sampling_of(({"model": model} if model else {}) | configuration, Ignored())
    span.usage = usage_of(data.take("usage"))
    data.known("response_id")


def _drop_turns(spans: list[Span]) -> None:
    """Let a turn stand for its model call only where no span of the call itself was kept.

    A turn that called tools decided on those calls: they are the children of its span.
    """
    by_id = {span.span_id: span for span in spans}
    calls = {span.parent_id for span in spans if span.kind is Kind.MODEL}
    tools: dict[str, list[Span]] = {}
    for span in sorted(spans, key=lambda each: each.clock[1]):
        if span.kind is Kind.TOOL and span.parent_id is not None:
            tools.setdefault(span.parent_id, []).append(span)
    for span in spans:
        if span.kind is not Kind.MODEL or span.missing != (_HIDDEN,):
            continue
        turn = by_id.get(span.parent_id or "")
        if span.span_id in calls:
            span.kind = Kind.OTHER
        elif span.span_id in tools:
            span.decided = _asked_for(tools[span.span_id])
        elif span.decided is None and turn is not None and turn.missing == (_HIDDEN,):
            span.agent = turn.agent  # a response span has an id only; its turn's tool calls are what it decided
            span.decided = _asked_for(tools[turn.span_id]) if turn.span_id in tools else None


def _asked_for(tools: list[Span]) -> Decided:
    for position, tool in enumerate(tools):
        tool.call_id = tool.call_id or f"{tool.span_id or position}"
    return Decided(parts=tuple(asked(tool.call_id, tool.name, tool.arguments) for tool in tools))
