"""Chat Completions, Responses and Anthropic Messages: transcripts, request bodies, and logs of requests and answers."""

from __future__ import annotations

from typing import TYPE_CHECKING

from butfor import canonical
from butfor.importers.building import Draft, RunBuilder, source_of, task_of
from butfor.importers.dialects import anthropic, chat, responses
from butfor.importers.entries import Decided, Entry, Given, Returned
from butfor.importers.exchanges import Exchange, exchange_of, is_message, parts_of
from butfor.importers.fields import Fields, listing, mapping
from butfor.importers.growing import GrowingRequest
from butfor.importers.labels import first_outcome
from butfor.importers.records import Record
from butfor.importers.requests import name_in, sampling_of, tools_of, usage_of
from butfor.importers.tally import Ignored
from butfor.importers.transcripts import Dialect, add_transcript
from butfor.runs import RequestChain, Run

if TYPE_CHECKING:
    from collections.abc import Iterator

    from butfor.canonical import Json
    from butfor.importers.records import Records
    from butfor.importers.tally import Tally

NAME = "messages"
_TRANSCRIPT = "request: rebuilt from the transcript"
_HIDDEN = "request.history: on the provider's side (previous_response_id)"


def matches(value: Json) -> bool:
    """Say whether a record is a conversation or an exchange in one of the three dialects."""
    if isinstance(value, list):
        return bool(value) and all(is_message(each) for each in value[:3])
    return is_message(value) or parts_of(value) is not None


def read(records: Records, tally: Tally) -> Iterator[Run]:
    """Read conversations; records that continue the one before belong to its run."""
    current: _Conversation | None = None
    for record in _conversations(records, tally):
        exchange = exchange_of(record, tally.ignored)
        if exchange is None:
            tally.ignored.add("record of another kind")
            continue
        if current is None or not current.continued_by(exchange):
            if current is not None:
                yield from current.close(records.digest)
            current = _Conversation(exchange)
        current.add(exchange)
    if current is not None:
        yield from current.close(records.digest)


def _conversations(records: Records, tally: Tally) -> Iterator[Record]:
    """Join a file of one message a line into one conversation."""
    loose: list[Json] = []
    first: Record | None = None
    for record in records.each(tally.problem):
        if is_message(record.value) and not isinstance(record.value.get("messages"), list):
            first = first or record
            loose.append(record.value)
        else:
            yield record
    if first is not None:
        yield Record(value=loose, file=first.file, line=first.line, part=first.part)


class _Conversation:
    """The run that a sequence of exchanges builds."""

    def __init__(self, first: Exchange) -> None:
        self._first = first
        self._builder = RunBuilder(NAME, first.record)
        self._chain = RequestChain()
        self._seen: list[Json] = []
        self._entries: list[Entry] = []
        self._answered = False
        self._tools: list[Json] = []
        self._missing: tuple[str, ...] = ()

    def continued_by(self, exchange: Exchange) -> bool:
        """Say whether a request begins with everything that this conversation has seen."""
        count = len(self._seen)
        return (
            exchange.dialect is self._first.dialect
            and exchange.request_known
            and bool(self._seen)
            and self._first.response is not None
            and len(exchange.messages) > count
            and exchange.messages[:count] == self._seen
        )

    def add(self, exchange: Exchange) -> None:
        """Add what an exchange has beyond those before."""
        body = exchange.body
        fresh = exchange.messages[len(self._seen) :]
        self._tools = listing(body.get("tools", body.get("functions"))) or self._tools
        if body.get("previous_response_id") is not None:
            self._missing = (_HIDDEN,)
        if self._answered:
            self._show(fresh, exchange.dialect)
        else:
            self._transcript(exchange, fresh)
        self._seen = exchange.messages
        if exchange.response is not None:
            self._decide(exchange, exchange.response)

    def _transcript(self, exchange: Exchange, fresh: list[Json]) -> None:
        body = _without_messages(exchange)
        growing = GrowingRequest(body, exchange.dialect.key)
        growing.extend(self._seen)
        before = len(self._builder)
        self._entries += add_transcript(
            self._builder,
            fresh,
            exchange.dialect,
            growing,
            record=exchange.record,
            sampling=sampling_of(body, Ignored()),
            missing=(_TRANSCRIPT, *_lacking(body, self._calls_tools(fresh, exchange.dialect)), *self._missing),
            content_missing=bool(self._missing),
            path=exchange.dialect.key,
            first=len(self._seen),
        )
        for _ in range(len(self._builder) - before):
            self._chain.skip()

    def _show(self, fresh: list[Json], dialect: Dialect) -> None:
        """Place what came after an answer; the answer itself is repeated first."""
        entries = dialect.entries(fresh, self._builder.ignored)
        repeated = True
        for entry in entries:
            if isinstance(entry, Returned):
                self._builder.observe(entry)
                self._builder.uses([entry.call_id] if entry.call_id else [], len(self._builder))
            elif isinstance(entry, Given):
                self._builder.show(entry)
            elif not repeated:
                self._builder.ignored.add("assistant message that no record answers")
            if isinstance(entry, Decided):
                repeated = False

    def _decide(self, exchange: Exchange, response: dict[str, Json]) -> None:
        step = len(self._builder)
        decided, usage = _decision(response, self._builder.ignored)
        request = None
        if exchange.request_known:
            request = self._chain.add_text(canonical.encode(exchange.body))
        else:
            self._chain.skip()
        known = () if exchange.request_known else ("request.messages: the record holds the answer only",)
        self._builder.decide(
            Draft(
                parts=list(decided.parts),
                request=request,
                sampling=sampling_of(exchange.body, Ignored()),
                usage=usage_of(usage),
                response=response,
                missing=(*known, *self._missing),
                content_missing=bool(known or self._missing),
                follows=step - 1 if step and request is not None else None,
                source=source_of(exchange.record, "response"),
            )
        )
        self._answered = True

    def _calls_tools(self, messages: list[Json], dialect: Dialect) -> bool:
        return any(isinstance(entry, Returned) for entry in dialect.entries(messages, Ignored()))

    def close(self, digest: str | None) -> Iterator[Run]:
        """Yield the run, none where nothing was decided."""
        builder, first = self._builder, self._first
        if not len(builder):
            return
        rest = first.rest
        identity = name_in(rest, "run_id", "session_id", "conversation_id", "trace_id", "thread_id", "id", "custom_id")
        content = canonical.digest([first.messages, first.response, first.record.line, first.record.part])
        run_id = identity or f"{first.dialect.name}-{content.split(':')[-1][:16]}"
        entries = self._entries or first.dialect.entries(first.messages, Ignored())
        yield builder.build(
            run_id,
            task=task_of(entries),
            outcome=first_outcome(rest, builder.ignored),
            tools=tools_of(self._tools, builder.ignored),
            dialect=first.dialect.name,
            digest=digest,
            extra={"dialect": first.dialect.name} | ({"record": rest} if rest else {}),
        )


def _without_messages(exchange: Exchange) -> dict[str, Json]:
    """Return the body with an empty list where its messages stood, under the dialect's name."""
    key = exchange.dialect.key
    return {key if name in _LISTS else name: [] if name in _LISTS else value for name, value in exchange.body.items()}


_LISTS = ("messages", "input")


def _lacking(body: dict[str, Json], calls_tools: bool) -> tuple[str, ...]:
    """Name what a transcript's body does not say; a body without tools had none, unless some were called."""
    lacking = [] if body.get("model") else ["sampling.model: not in the file", "sampling.temperature: not in the file"]
    if calls_tools and not (body.get("tools") or body.get("functions")):
        lacking.append("tools: no definitions in the file")
    return tuple(lacking)


def _decision(response: dict[str, Json], ignored: Ignored) -> tuple[Decided, Json]:
    """Return (what was decided, token counts) of a provider's answer."""
    fields = Fields(response, ignored, "response")
    usage = fields.take("usage")
    if isinstance(response.get("choices"), list):
        choices = fields.listing("choices")
        ignored.update({"choices beyond the first": len(choices) - 1} if len(choices) > 1 else {})
        entry = chat.entry(mapping(choices[0]).get("message") if choices else {}, ignored)
    elif "output" in response:
        items = responses.entries(fields.listing("output"), ignored)
        entry = items[0] if items else Decided(parts=())
        ignored.update({"items after the first decision": len(items) - 1} if len(items) > 1 else {})
    else:
        entry = Decided(parts=anthropic.decided(fields.take("content"), ignored))
    return (entry if isinstance(entry, Decided) else Decided(parts=())), usage
