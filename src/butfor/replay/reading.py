"""What a model's answer says, in whatever format it came.

Known formats: OpenAI Chat Completions (whole and streamed), OpenAI Responses, Anthropic Messages, a plain string or a
stream of strings, and `{"status", "body" | "events"}` around any of them, as the HTTP transport keeps it. Anything else
is one opaque action.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from butfor import canonical

if TYPE_CHECKING:
    from butfor.canonical import Json


@dataclass(frozen=True, kw_only=True)
class Call:
    """A tool call that the policy asked for."""

    call_id: str
    name: str
    arguments: Json


@dataclass(frozen=True, kw_only=True)
class Reading:
    """An action a_k.

    Attributes:
        text: What the policy said.
        reasoning: What it thought aloud, where the format shows it.
        calls: The tool calls that it asked for.
        rest: What the answer holds beyond text and calls, as it came: audio, images, a provider's own tools, further
            choices.
        usage: (prompt tokens, completion tokens), None where unknown.
        known: Whether the format was recognised.
        opaque: The whole answer, where it was not.
    """

    text: str | None = None
    reasoning: str | None = None
    calls: tuple[Call, ...] = ()
    rest: tuple[Json, ...] = ()
    usage: tuple[int | None, int | None] = (None, None)
    known: bool = True
    opaque: Json = None
    finish: str | None = field(default=None, compare=False)

    @property
    def key(self) -> str:
        """What makes two actions the same: text, calls and the rest, without ids, times and token counts."""
        if not self.known:
            return canonical.canonical(self.opaque)
        said: list[Json] = [self.text or "", [[call.name, call.arguments] for call in self.calls]]
        return canonical.canonical([*said, list(self.rest)] if self.rest else said)


def read(response: Json) -> Reading:
    """Read an answer."""
    if isinstance(response, str):
        return Reading(text=response)
    if isinstance(response, list) and response:
        return _of_stream(response)
    if isinstance(response, dict):
        if "status" in response and ("body" in response or "events" in response):
            return _of_http(response)
        if isinstance(response.get("choices"), list) and response["choices"]:
            return _of_chat(response)
        if isinstance(response.get("output"), list):
            return _of_responses(response)
        if isinstance(response.get("content"), list) and response.get("role") == "assistant":
            return _of_anthropic(response)
        if response.get("role") == "assistant" or "tool_calls" in response:
            return _of_message(response, {})
    return Reading(known=False, opaque=response)


def is_chunk(part: Json) -> bool:
    """Say whether a part is a chunk of a streamed chat completion."""
    return isinstance(part, dict) and isinstance(part.get("choices"), list)


def _of_stream(chunks: list[Json]) -> Reading:
    if all(isinstance(chunk, str) for chunk in chunks):
        return Reading(text="".join(chunks))
    if all(is_chunk(chunk) for chunk in chunks):
        return _of_chat(merge_chunks(chunks))
    return Reading(known=False, opaque=chunks)


def _of_http(response: dict[str, Any]) -> Reading:
    if "body" in response:
        return read(response["body"])
    chunks = [event for event in response["events"] if isinstance(event, dict)]
    if chunks and isinstance(chunks[0].get("choices"), list):
        return _of_chat(merge_chunks(chunks))
    done = [event["response"] for event in chunks if event.get("type") == "response.completed" and "response" in event]
    return read(done[0]) if done else Reading(known=False, opaque=response["events"])


def _of_chat(response: dict[str, Any]) -> Reading:
    choice, *others = response["choices"]
    message = choice.get("message") if isinstance(choice, dict) else None
    if not isinstance(message, dict):
        return Reading(known=False, opaque=response)
    said = _of_message(message, _mapping(response.get("usage")), finish=choice.get("finish_reason"))
    return replace(said, rest=(*said.rest, *others))


def _of_message(message: dict[str, Any], usage: dict[str, Any], finish: str | None = None) -> Reading:
    texts, rest = _spoken(message.get("content"), ("text",))
    refusal = message.get("refusal")
    texts += [refusal] if isinstance(refusal, str) else []
    legacy = message.get("function_call")
    asked = [*_listing(message.get("tool_calls")), *([{"function": legacy}] if isinstance(legacy, dict) else [])]
    rest += [message["audio"]] if message.get("audio") else []
    return Reading(
        text="".join(texts) if texts else None,
        reasoning=message.get("reasoning_content"),
        calls=tuple(_of_tool_call(call, i) for i, call in enumerate(asked) if isinstance(call, dict)),
        rest=tuple(rest),
        usage=_tokens(usage, "prompt_tokens", "completion_tokens"),
        finish=finish,
    )


def _of_tool_call(call: dict[str, Any], place: int) -> Call:
    """Read a function call, a custom tool's call, or one without an envelope."""
    named = next((call[key] for key in ("function", "custom") if isinstance(call.get(key), dict)), call)
    return Call(
        call_id=str(call.get("id") or f"call_{place}"),
        name=str(named.get("name")),
        arguments=_arguments(named.get("arguments", named.get("input"))),
    )


def _of_responses(response: dict[str, Any]) -> Reading:
    texts: list[str] = []
    thoughts: list[str] = []
    calls: list[Call] = []
    rest: list[Json] = []
    for item in response["output"]:
        match item:
            case {"type": "message"}:
                spoken, unread = _spoken(item.get("content"), ("output_text", "text", "refusal"))
                texts += spoken
                rest += unread
            case {"type": "function_call" | "custom_tool_call"}:
                arguments = _arguments(item.get("arguments", item.get("input")))
                calls.append(Call(call_id=str(item.get("call_id")), name=str(item.get("name")), arguments=arguments))
            case {"type": "reasoning"}:
                thoughts += _spoken(item.get("summary"), ("summary_text",))[0]
            case _:
                rest.append(_without_ids(item))
    return Reading(
        text="".join(texts) or None,
        reasoning="".join(thoughts) or None,
        calls=tuple(calls),
        rest=tuple(rest),
        usage=_tokens(_mapping(response.get("usage")), "input_tokens", "output_tokens"),
    )


def _of_anthropic(response: dict[str, Any]) -> Reading:
    texts: list[str] = []
    thoughts: list[str] = []
    calls: list[Call] = []
    rest: list[Json] = []
    for block in response["content"]:
        match block:
            case {"type": "text", "text": str(text)}:
                texts.append(text)
            case {"type": "thinking", "thinking": str(thought)}:
                thoughts.append(thought)
            case {"type": "tool_use"}:
                calls.append(
                    Call(call_id=str(block.get("id")), name=str(block.get("name")), arguments=block.get("input"))
                )
            case {"type": "redacted_thinking"}:
                pass
            case _:
                rest.append(_without_ids(block))
    return Reading(
        text="".join(texts) or None,
        reasoning="".join(thoughts) or None,
        calls=tuple(calls),
        rest=tuple(rest),
        usage=_tokens(_mapping(response.get("usage")), "input_tokens", "output_tokens"),
        finish=response.get("stop_reason"),
    )


def _spoken(content: Json, kinds: tuple[str, ...]) -> tuple[list[str], list[Json]]:
    """Return the texts of content, and the parts that are something else."""
    if isinstance(content, str):
        return [content], []
    texts: list[str] = []
    rest: list[Json] = []
    for part in _listing(content):
        kind = part.get("type") if isinstance(part, dict) else None
        text = part.get("refusal" if kind == "refusal" else "text") if isinstance(part, dict) else None
        if isinstance(text, str) and (kind is None or kind in kinds):
            texts.append(text)
        else:
            rest.append(_without_ids(part))
    return texts, rest


def _without_ids(part: Json) -> Json:
    """Leave out what a provider numbers anew each time."""
    return (
        {key: value for key, value in part.items() if key not in ("id", "status")} if isinstance(part, dict) else part
    )


def _listing(value: Json) -> list[Json]:
    return value if isinstance(value, list) else []


def _mapping(value: Json) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}


def merge_chunks(chunks: list[dict[str, Any]]) -> dict[str, Any]:
    """Join the deltas of a streamed chat completion into one message a choice."""
    messages: dict[int, _Joined] = {}
    usage: dict[str, Any] = {}
    for chunk in chunks:
        usage = _mapping(chunk.get("usage")) or usage
        for choice in _listing(chunk.get("choices")):
            if isinstance(choice, dict):
                messages.setdefault(choice.get("index", 0), _Joined()).add(choice)
    # A stream may end before its first choice.
    joined = [messages[i].choice() for i in sorted(messages)] or [_Joined().choice()]
    return {"choices": joined, "usage": usage}


class _Joined:
    """One choice of a stream, as far as it has come."""

    def __init__(self) -> None:
        self._texts: dict[str, list[str]] = {"content": [], "reasoning_content": [], "refusal": []}
        self._calls: dict[int, dict[str, Any]] = {}
        self._legacy: dict[str, str] = {}
        self._finish: str | None = None

    def add(self, choice: dict[str, Any]) -> None:
        delta = _mapping(choice.get("delta"))
        self._finish = choice.get("finish_reason") or self._finish
        for key, pieces in self._texts.items():
            pieces.append(delta.get(key) or "")
        for part in _listing(delta.get("tool_calls")):
            call = self._calls.setdefault(part.get("index", 0), {"id": None})
            call["id"] = part.get("id") or call["id"]
            kind = "custom" if "custom" in part else "function"
            _extend(call.setdefault(kind, {}), _mapping(part.get(kind)))
        _extend(self._legacy, _mapping(delta.get("function_call")))

    def choice(self) -> dict[str, Any]:
        content, thought, refusal = ("".join(pieces) for pieces in self._texts.values())
        message: dict[str, Any] = {"role": "assistant", "content": content or None}
        message |= {"reasoning_content": thought} if thought else {}
        message |= {"refusal": refusal} if refusal else {}
        message |= {"tool_calls": [self._calls[i] for i in sorted(self._calls)]} if self._calls else {}
        message |= {"function_call": self._legacy} if self._legacy else {}
        return {"message": message, "finish_reason": self._finish}


def _extend(named: dict[str, str], piece: dict[str, Any]) -> None:
    """Add a piece of a name, of arguments or of a custom tool's input."""
    for key in ("name", "arguments", "input"):
        if isinstance(piece.get(key), str):
            named[key] = named.get(key, "") + piece[key]


def _arguments(text: Json) -> Json:
    if not isinstance(text, str):
        return {} if text is None else text
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return text


def _tokens(usage: dict[str, Any], prompt: str, completion: str) -> tuple[int | None, int | None]:
    first, second = usage.get(prompt), usage.get(completion)
    return (first if isinstance(first, int) else None, second if isinstance(second, int) else None)
