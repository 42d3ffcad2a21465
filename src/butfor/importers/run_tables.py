"""Rows of observability tables (Langfuse observations, LangSmith runs) to spans: one adapter, two sets of names."""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING

from butfor.importers.assembly import assemble, decided_of
from butfor.importers.dialects import anthropic, chat, genai, langchain, responses
from butfor.importers.entries import Decided, Entry, to_chat
from butfor.importers.fields import Fields, listing, mapping, printable
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


@dataclasses.dataclass(frozen=True, kw_only=True)
class Table:
    """The names that a product gives to the columns, each in all its spellings.

    Attributes:
        kinds: Value of the type column to kind.
        known: Columns that say nothing beyond what is placed.
    """

    name: str
    trace: tuple[str, ...]
    parent: tuple[str, ...]
    type: tuple[str, ...]
    start: tuple[str, ...]
    end: tuple[str, ...]
    input: tuple[str, ...]
    output: tuple[str, ...]
    model: tuple[str, ...]
    parameters: tuple[str, ...]
    usage: tuple[str, ...]
    cost: tuple[str, ...]
    session: tuple[str, ...]
    error: tuple[str, ...]
    kinds: dict[str, Kind]
    known: tuple[str, ...]


def read_table(records: Records, tally: Tally, table: Table, scores: Scores) -> Iterator[Run]:
    """Read one run from each trace of a table.

    Args:
        records: The rows.
        tally: Counts.
        table: The columns' names.
        scores: Yields (name, value, detail) of the evaluations that a row holds.
    """

    def rows(record: Record) -> Iterator[tuple[str, dict[str, Json]]]:
        for row in _rows(record.value):
            found = next((row[key] for key in table.trace if isinstance(row.get(key), str) and row[key]), None)
            yield printable(found) if found else "", row

    for trace, held in traces(records, tally, rows):
        if not trace:
            tally.ignored.add("row without a trace id", len(held))
            continue
        spans = [_span(row, record, table, scores) for record, row in held]
        runs = list(assemble(trace, spans, table.name, dialect="rows", digest=records.digest))
        if not runs:
            tally.ignored.add("trace without a model or tool call")
        yield from runs


class Scores:
    """Where a product keeps evaluations; by default nowhere."""

    def of(self, row: dict[str, Json]) -> Iterator[tuple[str, Json, Json]]:
        """Yield (name, value, detail)."""
        del row
        yield from ()


def _rows(value: Json) -> Iterator[dict[str, Json]]:
    """Yield the rows of a record: itself, or the list that an API answer or a trace holds."""
    for key in ("data", "observations", "runs", "scores"):
        inner = mapping(value).get(key)
        if isinstance(inner, list) and inner and all(isinstance(each, dict) for each in inner[:3]):
            if key == "observations" and isinstance(mapping(value).get("id"), str):
                trace = mapping(value)["id"]
                yield from ({"traceId": trace} | each for each in inner if isinstance(each, dict))
                scored = [each for each in listing(mapping(value).get("scores")) if isinstance(each, dict)]
                yield from ({"traceId": trace} | each for each in scored)
            else:
                yield from (each for each in inner if isinstance(each, dict))
            return
    if isinstance(value, dict):
        yield value


def _span(row: dict[str, Json], record: Record, table: Table, scores: Scores) -> Span:
    ignored = Ignored()
    fields = Fields(row, ignored, "row")
    start, end = fields.moment(*table.start), fields.moment(*table.end)
    kind = table.kinds.get((fields.text(*table.type) or "").lower(), Kind.OTHER)
    trace = fields.text(*table.trace) or ""
    span_id = fields.text("id") or ""
    span = Span(
        trace_id=trace,
        span_id=span_id or f"{record.line} {record.part}",
        parent_id=fields.text(*table.parent),
        kind=kind,
        record=record,
        name=fields.text("name") or "",
        clock=(_micros(end or start), _micros(start)),
        started_at=start,
        ended_at=end,
        session=fields.text(*table.session),
        ignored=ignored,
        scores=list(scores.of(row)),
    )
    given, returned = unpacked(fields.first(*table.input)), unpacked(fields.first(*table.output))
    error = fields.first(*table.error)
    metadata = mapping(unpacked(fields.take("metadata"))) | mapping(mapping(fields.take("extra")).get("metadata"))
    invocation = mapping(mapping(row.get("extra")).get("invocation_params"))
    if kind is Kind.MODEL:
        _model(span, given, returned, fields, table, invocation, metadata)
    elif kind is Kind.TOOL:
        _tool(span, given, returned, error)
    else:
        span.agent = span.name if kind is Kind.AGENT else None
        span.given, span.returned = _plain(given), _plain(returned)
    fields.known(*table.known, *table.model, *table.parameters, *table.usage, *table.cost)
    fields.close()
    return span


def _micros(time: datetime | None) -> int:
    return int(time.timestamp() * 1_000_000) if time else 0


def _model(
    span: Span,
    given: Json,
    returned: Json,
    fields: Fields,
    table: Table,
    invocation: dict[str, Json],
    metadata: dict[str, Json],
) -> None:
    asked, tools, body = _asked(given)
    if asked is not None:
        span.messages = to_chat(_entries(asked, span.ignored))
    answered = _answered(returned)
    if answered is not None:
        span.decided = decided_of([_as_decided(answered, span.ignored)])
    parameters = mapping(unpacked(fields.first(*table.parameters))) | invocation
    tools = tools or listing(parameters.get("tools"))
    span.tools = chat.tools(tools) if tools else None
    named = {key.removeprefix("ls_"): value for key, value in metadata.items() if key in _LS_PARAMETERS}
    model = fields.text(*table.model) or named.pop("model_name", None)
    merged = {key: value for key, value in (named | body | parameters).items() if key not in ("tools", "_type", "type")}
    provider = metadata.get("ls_provider")
    span.sampling = sampling_of(
        ({"model": model} if model else {}) | merged,
        Ignored(),
        provider=printable(provider) if isinstance(provider, str) else None,
    )
    usage = unpacked(fields.first(*table.usage))
    counted = usage if isinstance(usage, dict) else fields.value  # LangSmith has one column for each count
    span.usage = usage_of(counted, _cost(unpacked(fields.first(*table.cost))))


_LS_PARAMETERS = ("ls_model_name", "ls_temperature", "ls_max_tokens")


def _cost(cost: Json) -> Json:
    return cost.get("total") if isinstance(cost, dict) else cost


def _asked(given: Json) -> tuple[list[Json] | None, list[Json], dict[str, Json]]:
    """Return (messages, tools, parameters) of whatever an SDK put into the input column."""
    if isinstance(given, str):
        return [{"role": "user", "content": given}], [], {}
    if isinstance(given, list):
        # LangChain's chat models take a batch: a list of conversations, of which there is one.
        inner = given[0] if len(given) == 1 and isinstance(given[0], list) else given
        return list(inner), [], {}
    held = mapping(given)
    for key in ("messages", "input", "prompt", "prompts"):
        if key in held and held[key] is not None:
            body = {name: value for name, value in held.items() if name in _PARAMETERS}
            messages, _, _ = _asked(held[key])
            system = held.get("system")
            lead: list[Json] = [{"role": "system", "content": system}] if system else []
            return lead + (messages or []), listing(held.get("tools")), body
    return ([held], [], {}) if "role" in held else (None, [], {})


_PARAMETERS = frozenset({"model", "temperature", "top_p", "seed", "max_tokens", "max_completion_tokens", "tool_choice"})


def _entries(messages: list[Json], ignored: Ignored) -> list[Entry]:
    """Read messages in whichever dialect they are written."""
    head = messages[:5]
    if any(map(langchain.matches, head)):
        return langchain.entries(messages, ignored)
    if any(map(anthropic.matches, messages)):
        return anthropic.entries(messages, ignored)
    if any(map(responses.matches, messages)):
        return responses.entries(messages, ignored)
    if any(isinstance(mapping(message).get("parts"), list) for message in head):
        return genai.entries(messages, ignored)
    return chat.entries([each if isinstance(each, dict) else {"content": each} for each in messages], ignored)


def _answered(returned: Json) -> Json:
    """Return the message that an output column holds, whatever is around it; None where there is none."""
    if returned is None or isinstance(returned, str):
        return returned
    if isinstance(returned, list):
        return {"output": returned} if any(map(responses.matches, returned)) else (returned[-1] if returned else None)
    held = mapping(returned)
    generations = listing(held.get("generations"))
    if generations:
        first = generations[0][0] if isinstance(generations[0], list) and generations[0] else generations[0]
        return mapping(first).get("message", mapping(first).get("text"))
    choices = listing(held.get("choices"))
    if choices:
        return mapping(choices[0]).get("message")
    messages = listing(held.get("messages"))
    if messages:
        return messages[-1]
    inner = held.get("output", held.get("message"))
    return inner if inner is not None and not isinstance(inner, list) and "role" not in held else held


def _as_decided(answered: Json, ignored: Ignored) -> Entry:
    if not isinstance(answered, dict):
        return chat.entry({"role": "assistant", "content": answered}, ignored)
    if isinstance(answered.get("output"), list):
        decided = [each for each in responses.entries(answered["output"], ignored) if isinstance(each, Decided)]
        return decided[0] if decided else Decided(parts=())
    entries = _entries([{"role": "assistant"} | answered if "content" in answered else answered], ignored)
    return entries[0] if entries else Decided(parts=())


def _tool(span: Span, given: Json, returned: Json, error: Json) -> None:
    held = mapping(given)
    inner = held.get("input") if set(held) == {"input"} else None
    span.arguments = unpacked(inner) if inner is not None else given
    message = returned.get("output", returned) if isinstance(returned, dict) and len(returned) == 1 else returned
    opened = langchain.entries([message], span.ignored)[0] if langchain.matches(message) else None
    if opened is not None and not isinstance(opened, Decided):
        span.result = opened.content
        identity = mapping(mapping(message).get("data")) or mapping(mapping(message).get("kwargs")) or mapping(message)
        call_id = identity.get("tool_call_id")
        span.call_id = printable(call_id) if isinstance(call_id, str) else None
    else:
        span.result = message
    if error:
        span.is_error = True
        span.result = error if span.result is None else span.result


def _plain(value: Json) -> Json:
    """Return the text of an input or output that is one message or one field."""
    held = mapping(value)
    messages = listing(held.get("messages"))
    if messages:
        last = _entries([messages[-1] if len(messages) > 1 else messages[0]], Ignored())
        spoken = mapping(to_chat(last)[0]).get("content") if last else None
        return value if spoken is None else spoken
    return next(iter(held.values())) if len(held) == 1 and isinstance(next(iter(held.values())), str) else value
