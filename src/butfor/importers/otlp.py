"""OpenTelemetry traces: one decoder for GenAI and OpenInference attributes, whatever version a producer declares."""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING

from butfor.importers import span_genai, span_openinference
from butfor.importers.assembly import assemble
from butfor.importers.fields import Fields, listing, mapping, moment_of_nanos, printable, whole
from butfor.importers.spans import Kind, Span, traces
from butfor.importers.tally import Ignored

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from butfor.canonical import Json
    from butfor.importers.records import Record, Records
    from butfor.importers.tally import Tally
    from butfor.runs import Run

NAME = "otlp"


def matches(value: Json) -> bool:
    """Say whether a record is OTLP, in camelCase or in the snake_case of other protobuf printers."""
    return isinstance(value, dict) and any(
        isinstance(value.get(key), list)
        for key in ("resourceSpans", "resource_spans", "resourceLogs", "resource_logs", "scopeSpans")
    )


def read(records: Records, tally: Tally) -> Iterator[Run]:
    """Read one run from each trace that holds a model or tool call."""
    for trace_id, held in traces(records, tally, _items):
        spans: list[Span] = []
        events: dict[str, list[dict[str, Json]]] = {}
        dialects: dict[str, None] = {}
        held.reverse()
        while held:  # what is decoded is let go: a long trace would be held twice
            record, item = held.pop()
            if item.is_span:
                spans.append(_span(item, record, dialects))
            else:
                events.setdefault(item.span_id, []).append(item.value)
        if not spans:
            tally.ignored.add("log records without their span")
            continue
        _merge_logs(spans, events)
        found = list(
            assemble(
                trace_id,
                spans,
                NAME,
                dialect="+".join(sorted(dialects)) or "no AI attributes",
                digest=records.digest,
            )
        )
        if not found:
            tally.ignored.add("trace without a model or tool call")
        yield from found


@dataclasses.dataclass(frozen=True, slots=True)
class _Item:
    """A span or log record, as it stands in the file."""

    value: dict[str, Json]
    span_id: str
    is_span: bool


def _items(record: Record) -> Iterator[tuple[str, _Item]]:
    """Yield (trace id, span or log record) of a record."""
    value = mapping(record.value)
    groups = [value] if isinstance(value.get("scopeSpans"), list) else _of(value, "resourceSpans", "resource_spans")
    for group in groups:
        for scope in _of(group, "scopeSpans", "scope_spans", "instrumentationLibrarySpans"):
            yield from _identified(_of(scope, "spans"), is_span=True)
    for group in _of(value, "resourceLogs", "resource_logs"):
        for scope in _of(group, "scopeLogs", "scope_logs"):
            yield from _identified(_of(scope, "logRecords", "log_records"), is_span=False)


def _identified(values: Iterable[dict[str, Json]], *, is_span: bool) -> Iterator[tuple[str, _Item]]:
    for value in values:
        trace_id, span_id = _id(value, "traceId", "trace_id"), _id(value, "spanId", "span_id")
        if trace_id or is_span:
            yield trace_id or "(no trace id)", _Item(value, span_id, is_span)


def _of(value: dict[str, Json], *keys: str) -> list[dict[str, Json]]:
    found = next((value[key] for key in keys if key in value), None)
    return [each for each in listing(found) if isinstance(each, dict)]


def _id(value: dict[str, Json], *keys: str) -> str:
    found = next((value[key] for key in keys if value.get(key)), "")
    return printable(found) if isinstance(found, str) else ""


def _span(item: _Item, record: Record, dialects: dict[str, None]) -> Span:
    ignored = Ignored()
    fields = Fields(item.value, ignored, "span")
    start, end = (
        fields.first("startTimeUnixNano", "start_time_unix_nano"),
        fields.first("endTimeUnixNano", "end_time_unix_nano"),
    )
    began, ended = whole(start) or 0, whole(end) or whole(start) or 0
    span = Span(
        trace_id=_id(item.value, "traceId", "trace_id") or "(no trace id)",
        span_id=item.span_id or f"{record.line}:{began}:{ended}",
        parent_id=_id(item.value, "parentSpanId", "parent_span_id") or None,
        kind=Kind.OTHER,
        record=record,
        name=fields.text("name") or "",
        clock=(ended, began),
        started_at=moment_of_nanos(start),
        ended_at=moment_of_nanos(end),
        ignored=ignored,
    )
    status = fields.mapping("status")
    span.is_error = status.get("code") in (2, "2", "STATUS_CODE_ERROR")
    attributes = attributes_of(fields.take("attributes"), ignored)
    for event in listing(fields.take("events")):
        _merge_event(attributes, mapping(event), span)
    fields.known("traceId", "trace_id", "spanId", "span_id", "parentSpanId", "parent_span_id", "kind", "flags")
    fields.known("traceState", "trace_state", "droppedAttributesCount", "droppedEventsCount", "droppedLinksCount")
    fields.close()
    _decode(span, attributes, dialects)
    return span


def _decode(span: Span, attributes: dict[str, Json], dialects: dict[str, None]) -> None:
    """Let each vocabulary that is present say what it knows; the first to have content wins."""
    fields = Fields(attributes, span.ignored, "attribute")
    if span_genai.is_present(attributes):
        dialects["genai"] = None
        span_genai.decode(span, fields)
    if span_openinference.is_present(attributes):
        dialects["openinference"] = None
        span_openinference.decode(span, fields)
    if span.kind is Kind.OTHER and not attributes.keys() & _OURS:
        fields.rest()
        span.ignored.add("span without AI attributes")
    fields.close()


_OURS = frozenset({"input.value", "output.value", "gen_ai.operation.name", "openinference.span.kind"})


def _merge_event(attributes: dict[str, Json], event: dict[str, Json], span: Span) -> None:
    name = event.get("name")
    held = attributes_of(event.get("attributes"), span.ignored)
    if name == "gen_ai.evaluation.result":
        score = held.get("gen_ai.evaluation.score.value", held.get("gen_ai.evaluation.score.label"))
        span.scores.append((str(held.get("gen_ai.evaluation.name", "evaluation")), score, held))
    elif name == "exception":
        span.is_error = True
        attributes.setdefault("exception.message", held.get("exception.message"))
    elif isinstance(name, str) and name.startswith("gen_ai."):
        span_genai.add_event(attributes, name, held)
    else:
        span.ignored.add(f"span event {name if isinstance(name, str) else '(unnamed)'}")


def _merge_logs(spans: list[Span], events: dict[str, list[dict[str, Json]]]) -> None:
    """Give log records that carry messages or evaluations to their spans."""
    for span in spans:
        for log in events.pop(span.span_id, []):
            held = attributes_of(log.get("attributes"), span.ignored)
            name = log.get("eventName", log.get("event_name", held.get("event.name")))
            body = _value(log.get("body"), span.ignored)
            attributes: dict[str, Json] = {}
            if isinstance(name, str) and name.startswith("gen_ai.") and name != "gen_ai.evaluation.result":
                span_genai.add_event(attributes, name, held | (body if isinstance(body, dict) else {}))
                span_genai.complete(span, Fields(attributes, span.ignored, "log attribute"))
            elif name == "gen_ai.evaluation.result":
                score = held.get("gen_ai.evaluation.score.value", held.get("gen_ai.evaluation.score.label"))
                span.scores.append((str(held.get("gen_ai.evaluation.name", "evaluation")), score, held))
            else:
                span.ignored.add("log record")
    for left in events.values():
        spans[0].ignored.add("log records without their span", len(left))


def attributes_of(attributes: Json, ignored: Ignored) -> dict[str, Json]:
    """Read a list of OTLP key-values; a plain object is taken as it is."""
    if isinstance(attributes, dict):
        return attributes
    read: dict[str, Json] = {}
    for attribute in listing(attributes):
        key = attribute.get("key") if isinstance(attribute, dict) else None
        if isinstance(key, str):
            if key in read:
                ignored.add(f"repeated attribute {key}")
            read[key] = _value(attribute.get("value"), ignored)
        else:
            ignored.add("attribute without a key")
    return read


def _value(value: Json, ignored: Ignored) -> Json:
    """Read an OTLP AnyValue; 64-bit integers are decimal text there."""
    if not isinstance(value, dict) or not value:
        return None
    kind, held = next(iter(value.items()))
    if kind in ("intValue", "int_value"):
        return whole(held)
    if kind in ("arrayValue", "array_value"):
        return [_value(each, ignored) for each in listing(mapping(held).get("values"))]
    if kind in ("kvlistValue", "kvlist_value"):
        return attributes_of(listing(mapping(held).get("values")), ignored)
    return held
