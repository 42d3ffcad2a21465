"""Inspect logs: one run from each sample, from its events where they were kept, else from its messages."""

from __future__ import annotations

from typing import TYPE_CHECKING

from butfor import canonical
from butfor.importers.assembly import assemble, decided_of
from butfor.importers.building import RunBuilder, task_of
from butfor.importers.dialects import chat
from butfor.importers.entries import to_chat
from butfor.importers.fields import Fields, kept, listing, mapping, moment
from butfor.importers.growing import GrowingRequest
from butfor.importers.labels import outcome_of
from butfor.importers.requests import sampling_of, usage_of
from butfor.importers.spans import Kind, Span
from butfor.importers.tally import Ignored
from butfor.importers.transcripts import CHAT, add_transcript

if TYPE_CHECKING:
    from collections.abc import Iterator

    from butfor.canonical import Json
    from butfor.importers.records import Record, Records
    from butfor.importers.tally import Tally
    from butfor.runs import Outcome, Run

NAME = "inspect"
# A pool reference names a range; a hostile one repeats a large range without end.
_EXPANDED = 1_000_000


def matches(value: Json) -> bool:
    """Say whether a record is an evaluation log."""
    return isinstance(value, dict) and isinstance(value.get("eval"), dict) and "task" in value["eval"]


def read(records: Records, tally: Tally) -> Iterator[Run]:
    """Read the samples of a log."""
    for record in records.each(tally.problem):
        log = mapping(record.value)
        if not matches(log):
            tally.ignored.add("record of another kind")
            continue
        samples = listing(log.get("samples"))
        if not samples:
            tally.ignored.add("log without samples (started with --no-log-samples?)")
        for position, sample in enumerate(samples):
            if isinstance(sample, dict):
                yield from _sample(sample, log, record, tally, records.digest)
            else:
                tally.problem(record.malformed("a sample is not an object", f"samples[{position}]"))


def _sample(
    sample: dict[str, Json], log: dict[str, Json], record: Record, tally: Tally, digest: str | None
) -> Iterator[Run]:
    evaluation = mapping(log.get("eval"))
    names = [str(value)[:80] for value in (evaluation.get("task"), sample.get("id"), sample.get("epoch"))]
    identity = sample.get("uuid") or canonical.digest(sample).split(":")[-1][:16]
    run_id = "-".join([*names, str(identity)[:40]])
    ignored = Ignored()
    outcome = _outcome(sample, log, ignored)
    spans = _spans(sample, evaluation, record, ignored)
    runs = list(assemble(run_id, spans, NAME, dialect="events", digest=digest)) if spans else []
    if not runs:
        runs = list(_from_messages(sample, evaluation, record, run_id, digest))
    if not runs:
        tally.ignored.add("sample without a model call")
    known = {"target": sample.get("target"), "scores": sample.get("scores"), "metadata": sample.get("metadata")}
    known["error"] = sample.get("error")
    extra = {key: value for key, value in known.items() if value}
    for run in runs:
        held = run.provenance.ignored | {
            name: count + run.provenance.ignored.get(name, 0) for name, count in ignored.items()
        }
        yield run.model_copy(
            update={
                "outcome": outcome,
                "task": kept(sample["input"]) if "input" in sample else run.task,
                "extra": kept(extra),
                "provenance": run.provenance.model_copy(update={"ignored": held}),
            }
        )


def _outcome(sample: dict[str, Json], log: dict[str, Json], ignored: Ignored) -> Outcome | None:
    """Return the outcome from the scorer that the log calls its headline, else the first on a scale of 0 to 1."""
    scores = mapping(sample.get("scores"))
    headline = mapping(mapping(log.get("results")).get("headline")).get("score")
    order = sorted(scores, key=lambda name: name != headline)
    found: Outcome | None = None
    for name in order:
        score = mapping(scores[name])
        if found is None:
            found = outcome_of(score.get("value"), name, ignored, score.get("explanation"))
        else:
            ignored.add(f"further score {name}")
    return found


def _spans(sample: dict[str, Json], evaluation: dict[str, Json], record: Record, ignored: Ignored) -> list[Span]:
    attachments = mapping(sample.get("attachments"))
    pool = listing(mapping(sample.get("events_data")).get("messages"))
    spans: list[Span] = []
    scoring = _Scoring()
    for position, value in enumerate(listing(sample.get("events"))):
        event = mapping(value)
        kind = event.get("event")
        if scoring.holds(event):
            if kind in ("model", "tool"):
                ignored.add(f"{kind} call of a scorer")
            continue
        span = Span(
            trace_id=str(evaluation.get("run_id", "")),
            span_id=str(event.get("uuid") or f"event {position}"),
            parent_id=event.get("span_id") if isinstance(event.get("span_id"), str) else None,
            kind=Kind.OTHER,
            record=record,
            clock=(position, position),
            started_at=moment(event.get("timestamp")),
            ended_at=moment(event.get("completed")),
        )
        if kind == "model":
            _model(span, event, attachments, pool, ignored)
        elif kind == "tool":
            _tool(span, event, attachments, ignored)
        elif kind == "span_begin":
            span.span_id = str(event.get("id") or span.span_id)
            parent = event.get("parent_id")
            span.parent_id = parent if isinstance(parent, str) else None
            if event.get("type") == "agent":
                span.kind, span.agent = Kind.AGENT, str(event.get("name") or "agent")
        else:
            if kind not in ("span_end", "sample_init", "state", "store", "score", "step"):
                ignored.add(f"event {kind}")
            continue
        spans.append(span)
    return spans if any(span.kind is Kind.MODEL for span in spans) else []


class _Scoring:
    """Knows which events are a scorer's: a judge's model call is no decision of the agent."""

    def __init__(self) -> None:
        self._spans: set[str] = set()
        self._steps: list[bool] = []

    def holds(self, event: dict[str, Json]) -> bool:
        """Say whether an event belongs to a scorer; events must come in order."""
        kind, scores = event.get("event"), event.get("type") in ("scorer", "scorers")
        inside = str(event.get("parent_id" if kind == "span_begin" else "span_id")) in self._spans
        if kind == "span_begin" and (scores or inside):
            self._spans.add(str(event.get("id")))
        if kind == "step" and event.get("action") == "begin":  # logs before the spans of 2025
            self._steps.append(scores)
        elif kind == "step" and self._steps:
            return self._steps.pop()
        return inside or any(self._steps)


def _model(
    span: Span, event: dict[str, Json], attachments: dict[str, Json], pool: list[Json], ignored: Ignored
) -> None:
    fields = Fields(event, ignored, "model event")
    span.kind = Kind.MODEL
    messages = fields.listing("input") or _expanded(fields.listing("input_refs"), pool)
    messages = _attached(messages, attachments)
    if messages:
        span.messages = to_chat(chat.entries(messages, ignored))
    span.tools = chat.tools(fields.take("tools"))
    config = {key: value for key, value in fields.mapping("config").items() if value is not None}
    model = fields.text("model")
    span.sampling = sampling_of(({"model": model} if model else {}) | config, Ignored())
    output = mapping(_attached(fields.take("output"), attachments))
    choices = listing(output.get("choices"))
    if choices:
        span.decided = decided_of([chat.entry(mapping(choices[0]).get("message"), ignored)])
    span.usage = usage_of(output.get("usage"))
    if event.get("error"):
        span.missing = ("action: the model call failed",)
    fields.known("event", "uuid", "span_id", "timestamp", "completed", "working_start", "working_time", "tool_choice")
    fields.known("pending", "role", "call", "retries", "cache", "traceback", "error")
    fields.close()


def _tool(span: Span, event: dict[str, Json], attachments: dict[str, Json], ignored: Ignored) -> None:
    fields = Fields(event, ignored, "tool event")
    span.kind = Kind.TOOL
    span.name = fields.text("function") or ""
    span.call_id = fields.text("id")
    span.arguments = _attached(fields.take("arguments"), attachments)
    span.result = _attached(fields.take("result"), attachments)
    error = fields.take("error")
    if error:
        span.is_error = True
        span.result = mapping(error).get("message", error) if span.result in (None, "") else span.result
    fields.known("event", "uuid", "span_id", "timestamp", "completed", "working_start", "working_time", "type")
    fields.known("message_id", "events", "view", "pending", "agent", "failed", "truncated", "agent_span_id")
    fields.close()


def _expanded(ranges: list[Json], pool: list[Json]) -> list[Json]:
    """Return the messages that ranges of a sample's pool name."""
    messages: list[Json] = []
    for each in ranges:
        ends = listing(each)
        if len(ends) == 2 and all(isinstance(end, int) for end in ends) and len(messages) < _EXPANDED:
            messages += pool[max(0, ends[0]) : max(0, ends[1])]
    return messages


def _attached(value: Json, attachments: dict[str, Json]) -> Json:
    """Put large texts back where the log refers to them by hash."""
    if not attachments:
        return value
    if isinstance(value, str):
        return (
            attachments.get(value.removeprefix("attachment://"), value) if value.startswith("attachment://") else value
        )
    if isinstance(value, list):
        return [_attached(each, attachments) for each in value]
    if isinstance(value, dict):
        return {key: _attached(each, attachments) for key, each in value.items()}
    return value


def _from_messages(
    sample: dict[str, Json], evaluation: dict[str, Json], record: Record, run_id: str, digest: str | None
) -> Iterator[Run]:
    builder = RunBuilder(NAME, record)
    raw = _attached(listing(sample.get("messages")), mapping(sample.get("attachments")))
    messages = to_chat(chat.entries(raw, builder.ignored))
    model = evaluation.get("model")
    config = {
        key: value for key, value in mapping(evaluation.get("model_generate_config")).items() if value is not None
    }
    body = ({"model": model} if model else {}) | config
    missing = ["request: rebuilt from the transcript", "tools: no definitions without model events"]
    missing += [] if "temperature" in config else ["sampling.temperature: not in the file"]
    entries = add_transcript(
        builder,
        messages,
        CHAT,
        GrowingRequest(body | {"messages": []}),
        record=record,
        sampling=sampling_of(body, Ignored()),
        missing=tuple(missing),
    )
    if len(builder):
        yield builder.build(run_id, task=task_of(entries), dialect="messages", digest=digest)
