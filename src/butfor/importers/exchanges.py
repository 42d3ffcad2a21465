"""One record of a message log: what was sent, what was answered, and in whose dialect."""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING

from butfor.importers.dialects import anthropic, chat, genai, langchain, responses
from butfor.importers.entries import to_chat
from butfor.importers.fields import listing, mapping
from butfor.importers.transcripts import ANTHROPIC, CHAT, RESPONSES, Dialect

if TYPE_CHECKING:
    from butfor.canonical import Json
    from butfor.importers.records import Record
    from butfor.importers.tally import Ignored


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


def is_message(value: Json) -> bool:
    """Say whether a value is one message or item, and not a whole answer."""
    if not isinstance(value, dict) or "choices" in value or "stop_reason" in value or "output" in value:
        return responses.matches(value)
    return (chat.matches(value) and ("content" in value or "tool_calls" in value or "parts" in value)) or (
        langchain.matches(value) or responses.matches(value)
    )


def parts_of(value: Json) -> tuple[dict[str, Json], Json, dict[str, Json]] | None:
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
        return all(is_message(message) for message in messages[:3]) and bool(messages)
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


def exchange_of(record: Record, ignored: Ignored) -> Exchange | None:
    """Read a record, None where it is neither a conversation nor an exchange."""
    value = record.value
    request, response, rest = (
        ({"messages": value}, None, {})
        if isinstance(value, list)
        else parts_of(value)
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
