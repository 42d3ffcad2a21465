"""One trace of spans to one run."""

from __future__ import annotations

import bisect
import dataclasses
from typing import TYPE_CHECKING

from butfor import canonical
from butfor.importers.building import Draft, RunBuilder, source_of, task_of
from butfor.importers.dialects import chat
from butfor.importers.entries import Decided, Entry, Given, Returned, asked, said
from butfor.importers.fields import kept
from butfor.importers.labels import outcome_of
from butfor.importers.requests import tools_of
from butfor.importers.spans import Kind, Span
from butfor.importers.tally import Ignored
from butfor.importers.trace import Trace
from butfor.runs import Outcome, RequestChain, Run, ToolCall

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from butfor.canonical import Json

NO_MODEL_SPAN = "request: no span of the model call"
# A call without an id is looked for in so many decisions before the tool ran (parallel agents interleave).
_LOOK_BACK = 16


def assemble(run_id: str, spans: list[Span], format_name: str, *, dialect: str, digest: str | None) -> Iterator[Run]:
    """Yield the run of a trace, none where nothing in it was decided.

    Args:
        run_id: The run's name.
        spans: The spans of the trace, in any order.
        format_name: The importer.
        dialect: The vocabulary that the spans were written in.
        digest: Tagged SHA-256 of the file.
    """
    trace = Trace(spans)
    builder = RunBuilder(format_name, spans[0].record)
    for span in trace.spans:
        builder.ignored.update(span.ignored)
    builder.ignored.update(trace.ignored)
    _Feed(builder, trace).run()
    if not len(builder):
        return
    yield builder.build(
        run_id,
        task=_task(trace),
        output=next((span.returned for span in trace.roots if span.returned is not None), None),
        outcome=_outcome(trace, builder.ignored),
        tools=tools_of([tool for span in trace.models for tool in span.tools or []], builder.ignored),
        agents=trace.agents(),
        dialect=dialect,
        digest=digest,
        extra=_named(spans),
    )


def _named(spans: list[Span]) -> dict[str, Json]:
    sessions = {span.session for span in spans if span.session}
    names = {"trace_id": spans[0].trace_id}
    return names | ({"session_id": min(sessions)} if len(sessions) == 1 else {})


@dataclasses.dataclass(kw_only=True, slots=True)
class _Line:
    """The history of one agent so far: its newest request and step."""

    messages: list[Json]
    step: int


class _Feed:
    """Hands a trace's decisions to a builder in order, each with the results of its calls."""

    def __init__(self, builder: RunBuilder, trace: Trace) -> None:
        self._builder = builder
        self._trace = trace
        self._chain = RequestChain()
        self._lines: dict[tuple[str, str], _Line] = {}
        self._results: dict[str, list[tuple[Span, str | None]]] = {}
        self._uses_tools = bool(trace.tools) or any(_calls(span) for span in trace.models)

    def run(self) -> None:
        """Feed everything."""
        alone = self._match_tools()
        decisions = sorted([*self._trace.models, *alone], key=lambda span: (span.clock, span.span_id))
        for span in decisions:
            if span.kind is Kind.MODEL:
                self._decide(span)
            else:
                self._tool_alone(span)
        if decisions and not self._trace.models:
            self._last_words()

    def _match_tools(self) -> list[Span]:
        """Give each tool span to the decision that asked for it; return those that none asked for."""
        models = self._trace.models
        ends = [span.clock[0] for span in models]
        asked_by: dict[str, Span] = {}
        for span in models:
            asked_by.update((call.call_id, span) for call in _calls(span) if call.call_id)
        claimed: set[tuple[str, int]] = set()
        alone: list[Span] = []
        for tool in sorted(self._trace.tools, key=lambda span: (span.clock[1], span.span_id)):
            found = asked_by.get(tool.call_id or "")
            if found is not None:
                self._results.setdefault(found.span_id, []).append((tool, tool.call_id))
                continue
            before = bisect.bisect_right(ends, tool.clock[1])
            candidates = models[max(0, before - _LOOK_BACK) : before]
            match = _asking(candidates, tool, claimed)
            if match is None:
                alone.append(tool)
            else:
                self._results.setdefault(match[0].span_id, []).append((tool, match[1]))
        return alone

    def _decide(self, span: Span) -> None:
        builder, (agent, lane) = self._builder, self._trace.place(span)
        line = self._lines.get((agent, lane))
        shared = _shared(line.messages, span.messages) if line and span.messages is not None else 0
        if line is not None and span.messages is not None:
            self._show(chat.entries(span.messages[shared:], Ignored()), line.step)
        follows = line.step if line is not None and shared == len(line.messages) else None
        step = builder.decide(
            Draft(
                parts=list(span.decided.parts) if span.decided else [],
                request=self._request(span, f"{agent}/{lane}"),
                agent=agent,
                lane=lane,
                sampling=span.sampling,
                usage=span.usage,
                started_at=span.started_at,
                ended_at=span.ended_at,
                missing=self._missing(span),
                content_missing=span.content_missing or span.messages is None or span.decided is None,
                follows=follows,
                source=source_of(span.record, f"span {span.span_id}"),
                extra={} if span.agent in (None, agent) else {"agent": span.agent},
            )
        )
        for tool, call_id in self._results.get(span.span_id, []):
            self._observe(tool, call_id or None, step)
        if span.messages is not None:
            self._lines[agent, lane] = _Line(messages=span.messages, step=step)

    def _show(self, fresh: list[Entry], before: int) -> None:
        """Place what a request holds beyond the one before it: tool results, and what the environment said."""
        builder = self._builder
        for entry in fresh:
            if isinstance(entry, Returned):
                if not builder.is_answered(entry.call_id):
                    builder.observe(entry, at=before)
                builder.uses([entry.call_id] if entry.call_id else [], len(builder))
            elif isinstance(entry, Given):
                builder.show(entry, at=before)

    def _request(self, span: Span, line: str) -> Json:
        if span.messages is None:
            self._chain.skip()
            return None
        return self._chain.add_text(canonical.encode(span.request or _body(span)), line=line)

    def _missing(self, span: Span) -> tuple[str, ...]:
        missing = list(span.missing)
        if span.messages is None and not any(name.startswith("request.messages") for name in missing):
            missing.append("request.messages: content was not captured")
        if span.decided is None:
            missing.append("action: the model's answer was not captured")
        if span.tools is None and self._uses_tools and not (span.request or {}).get("tools"):
            missing.append("tools: no definitions recorded")
        if span.sampling.model is None:
            missing.append("sampling.model: not recorded")
        if span.sampling.temperature is None:
            missing.append("sampling.temperature: not recorded")
        return tuple(dict.fromkeys(missing))

    def _observe(self, tool: Span, call_id: str | None, step: int) -> None:
        if tool.result is None and not tool.is_error:
            self._builder.ignored.add("tool span without a result")
            return
        self._builder.observe(
            Returned(call_id=call_id, content=tool.result, name=tool.name, is_error=tool.is_error), at=step
        )

    def _tool_alone(self, tool: Span) -> None:
        """Make a step of a tool call whose decision has no span."""
        agent, lane = self._trace.place(tool)
        self._chain.skip()
        call = asked(tool.call_id, tool.name, tool.arguments if tool.arguments is not None else {})
        step = self._builder.decide(
            Draft(
                parts=[call],
                agent=agent,
                lane=lane,
                started_at=tool.started_at,
                ended_at=tool.ended_at,
                missing=(NO_MODEL_SPAN,),
                content_missing=True,
                source=source_of(tool.record, f"span {tool.span_id}"),
            )
        )
        made = self._builder.last
        calls = [part for part in made.parts if isinstance(part, ToolCall)] if made else []
        self._observe(tool, calls[0].call_id if calls else None, step)

    def _last_words(self) -> None:
        """Make a step of what an agent returned, where no model span says how it came to that."""
        for span in reversed(self._trace.spans):
            if span.kind is Kind.AGENT and span.returned is not None:
                agent, lane = self._trace.place(span)
                self._builder.decide(
                    Draft(
                        parts=said(span.returned),
                        agent=agent,
                        lane=lane,
                        ended_at=span.ended_at,
                        missing=(NO_MODEL_SPAN,),
                        content_missing=True,
                        source=source_of(span.record, f"span {span.span_id}"),
                    )
                )
                return


def _calls(span: Span) -> list[ToolCall]:
    return [part for part in span.decided.parts if isinstance(part, ToolCall)] if span.decided else []


def _asking(models: list[Span], tool: Span, claimed: set[tuple[str, int]]) -> tuple[Span, str] | None:
    """Find the newest unclaimed call with the tool's name, one with equal arguments first."""
    arguments = kept(tool.arguments)
    for same_arguments in (True, False):
        for model in reversed(models):
            for position, call in enumerate(_calls(model)):
                taken = (model.span_id, position) in claimed
                if taken or call.name != tool.name or (same_arguments and call.arguments != arguments):
                    continue
                claimed.add((model.span_id, position))
                return model, call.call_id
    return None


def _shared(before: list[Json], after: list[Json]) -> int:
    """Count the leading messages that two requests share."""
    if after[: len(before)] == before:
        return len(before)
    count = 0
    for left, right in zip(before, after, strict=False):
        if left != right:
            break
        count += 1
    return count


def _body(span: Span) -> dict[str, Json]:
    """Write a request that any Chat Completions endpoint accepts from what the span recorded."""
    sampling = span.sampling
    known = {
        "model": sampling.model,
        "messages": span.messages,
        "tools": [{"type": "function", "function": tool} for tool in span.tools or []] or None,
        "temperature": sampling.temperature,
        "top_p": sampling.top_p,
        "seed": sampling.seed,
        "max_tokens": sampling.max_tokens,
    }
    return {name: value for name, value in known.items() if value is not None}


def _task(trace: Trace) -> Json:
    for span in trace.models:
        if span.messages:
            task = task_of(chat.entries(span.messages, Ignored()))
            if task is not None:
                return task
    return next((span.given for span in [*trace.roots, *trace.spans] if span.given is not None), None)


def _outcome(trace: Trace, ignored: Ignored) -> Outcome | None:
    """Return the outcome from the first evaluation on a scale of 0 to 1; the others are counted."""
    found: Outcome | None = None
    for span in trace.spans:
        for name, value, detail in span.scores:
            if found is None:
                found = outcome_of(value, name, ignored, detail)
            else:
                ignored.add(f"further score {name}")
    return found


def decided_of(entries: Sequence[Entry]) -> Decided | None:
    """Join what a model answered into one decision; None where it answered nothing."""
    parts = tuple(part for entry in entries if isinstance(entry, Decided) for part in entry.parts)
    return Decided(parts=parts) if parts or entries else None
