"""Chat Completions, Responses and Anthropic Messages: transcripts, request bodies, and logs of requests and answers."""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING

from butfor import canonical
from butfor.importers.building import Draft, RunBuilder, source_of, task_of
from butfor.importers.dialects import anthropic, chat, genai, langchain, responses
from butfor.importers.entries import Decided, Entry, Given, Returned, to_chat
from butfor.importers.fields import Fields, listing, mapping
from butfor.importers.growing import GrowingRequest
from butfor.importers.labels import first_outcome
from butfor.importers.records import Record
from butfor.importers.requests import name_in, sampling_of, tools_of, usage_of
from butfor.importers.tally import Ignored
from butfor.importers.transcripts import ANTHROPIC, CHAT, RESPONSES, Dialect, add_transcript
from butfor.runs import RequestChain, Run

if TYPE_CHECKING:
    from collections.abc import Iterator

    from butfor.canonical import Json
    from butfor.importers.records import Records
    from butfor.importers.tally import Tally

NAME = "messages"
_TRANSCRIPT = "request: rebuilt from the transcript"
_HIDDEN = "request.history: on the provider's side (previous_response_id)"


@dataclasses.dataclass(frozen=True, kw_only=True)
class Exchange:
    """One record: a conversation, its request body, and the answer where there is one.

    Attributes:
        body: The request body as sent, without the messages where only a transcript is known.
        response: The provider's answer; None where there is none.
        rest: What else the record holds.
    """

    record: Record
    dialect: Dialect
    messages: list[Json]
    body: dict[str, Json]
    response: dict[str, Json] | None
    rest: dict[str, Json]
    request_known: bool


def matches(value: Json) -> bool:
    """Say whether a record is a conversation or an exchange in one of the three dialects."""
    if isinstance(value, list):
        return bool(value) and all(_is_message(each) for each in value[:3])
    return _is_message(value) or _parts_of(value) is not None


def read(records: Records, tally: Tally) -> Iterator[Run]:
    """Read conversations; records that continue the one before belong to its run."""
    current: _Conversation | None = None
    for record in _conversations(records, tally):
        exchange = _exchange(record, tally.ignored)
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
        if _is_message(record.value) and not isinstance(record.value.get("messages"), list):
            first = first or record
            loose.append(record.value)
        else:
            yield record
    if first is not None:
        yield Record(value=loose, file=first.file, line=first.line, part=first.part)


def _is_message(value: Json) -> bool:
    if not isinstance(value, dict) or "choices" in value or "stop_reason" in value or "output" in value:
        return responses.matches(value)
    return (chat.matches(value) and ("content" in value or "tool_calls" in value or "parts" in value)) or (
        langchain.matches(value) or responses.matches(value)
    )


def _parts_of(value: Json) -> tuple[dict[str, Json], Json, dict[str, Json]] | None:
    """Return (request, response, the rest) of a record."""
    if not isinstance(value, dict):
        return None
    name = "request" if isinstance(value.get("request"), dict) else "body"
    outer: Json = value.get(name)
    if isinstance(outer, dict):
        request, response = _answer(outer), value.get("response")
        if _is_body(request):
            rest = {key: each for key, each in value.items() if key not in (name, "response")}
            return request, _answer(response), rest
    answer = _answer(value.get("response"))
    if _is_answer(answer):
        rest = {key: each for key, each in value.items() if key != "response"}
        return ({}, answer, rest) if not _is_body(value) else (rest, answer, {})
    if _is_answer(value) and not isinstance(value.get("messages"), list):
        return ({"input": value["input"]} if "input" in value else {}), value, {}
    return (value, None, {}) if _is_body(value) else None


def _answer(response: Json) -> Json:
    body = mapping(response).get("body")
    return body if isinstance(body, dict) else response


def _is_body(value: Json) -> bool:
    if not isinstance(value, dict):
        return False
    messages = value.get("messages")
    if isinstance(messages, list):
        return all(_is_message(message) for message in messages[:3]) and bool(messages)
    items = value.get("input")
    if isinstance(items, str):
        return "model" in value and not ("events" in value or "target" in value)
    head = listing(items)[:3]
    return bool(head) and all(isinstance(item, dict) and ("role" in item or responses.matches(item)) for item in head)


def _is_answer(value: Json) -> bool:
    if not isinstance(value, dict):
        return False
    choices, output, content = value.get("choices"), value.get("output"), value.get("content")
    if isinstance(choices, list):
        return bool(choices) and isinstance(mapping(choices[0]).get("message"), dict)
    if isinstance(output, list) and value.get("object") == "response":
        return True
    return isinstance(content, list) and "stop_reason" in value and value.get("role") == "assistant"


def _exchange(record: Record, ignored: Ignored) -> Exchange | None:
    value = record.value
    request, response, rest = (
        ({"messages": value}, None, {})
        if isinstance(value, list)
        else _parts_of(value)
        or (
            None,
            None,
            {},
        )
    )
    if not isinstance(request, dict):
        return None
    answer = response if _is_answer(response) else None
    if response is not None and answer is None:
        ignored.add("response of an unknown form")
    messages, body, known = _native(request, answer, ignored)
    dialect = _dialect(messages, body, answer)
    labels = _LABELS & body.keys()
    return Exchange(
        record=record,
        dialect=dialect,
        messages=messages,
        body={key: each for key, each in body.items() if key not in labels},
        response=answer,
        rest=rest | {key: body[key] for key in labels},
        request_known=known,
    )


# Keys beside `messages` that are about the conversation, never part of what was sent.
_LABELS = frozenset(
    {"id", "run_id", "session_id", "conversation_id", "trace_id", "thread_id", "custom_id", "timestamp", "created"}
    | {"reward", "score", "success", "resolved", "is_correct", "correct", "passed", "label", "outcome"}
)


def _native(
    request: dict[str, Json], answer: dict[str, Json] | None, ignored: Ignored
) -> tuple[list[Json], dict[str, Json], bool]:
    """Return (messages in a provider's dialect, body, whether the request is known)."""
    found = request.get("messages", request.get("input"))
    messages: list[Json] = [{"role": "user", "content": found}] if isinstance(found, str) else listing(found)
    if any(langchain.matches(message) for message in messages[:3]):
        messages = to_chat(langchain.entries(messages, ignored))
        request = request | {"messages": messages}
    elif any(isinstance(mapping(message).get("parts"), list) for message in messages[:3]):
        messages = to_chat(genai.entries(messages, ignored))
        request = request | {"messages": messages}
    known = found is not None
    if answer is not None and not known:  # an answer alone still repeats the parameters, in the Responses API
        echoed = {key: answer[key] for key in _ECHOED if answer.get(key) is not None}
        return messages, echoed, False
    return messages, request, known


_ECHOED = ("model", "instructions", "tools", "temperature", "top_p", "max_output_tokens", "previous_response_id")


def _dialect(messages: list[Json], body: dict[str, Json], answer: dict[str, Json] | None) -> Dialect:
    answered = answer or {}
    if "input" in body or "output" in answered or any(map(responses.matches, messages)):
        return RESPONSES
    if "system" in body or "stop_reason" in answered or any(map(anthropic.matches, messages)):
        return ANTHROPIC
    return CHAT


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
