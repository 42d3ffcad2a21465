"""What a model's answer says, in whatever format it came.

Known formats: OpenAI Chat Completions (whole and streamed), OpenAI Responses, Anthropic Messages, a plain string or a
stream of strings, and `{"status", "body" | "events"}` around any of them, as the HTTP transport keeps it. Anything else
is one opaque action.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, field
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
        usage: (prompt tokens, completion tokens), None where unknown.
        known: Whether the format was recognised.
        opaque: The whole answer, where it was not.
    """

    text: str | None = None
    reasoning: str | None = None
    calls: tuple[Call, ...] = ()
    usage: tuple[int | None, int | None] = (None, None)
    known: bool = True
    opaque: Json = None
    finish: str | None = field(default=None, compare=False)

    @property
    def key(self) -> str:
        """What makes two actions the same: text and calls, without ids, times and token counts."""
        if not self.known:
            return canonical.canonical(self.opaque)
        return canonical.canonical([self.text or "", [[call.name, call.arguments] for call in self.calls]])


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
    choice = response["choices"][0]
    usage = response.get("usage") or {}
    message = choice.get("message") if isinstance(choice, dict) else None
    if not isinstance(message, dict):
        return Reading(known=False, opaque=response)
    return _of_message(message, usage, finish=choice.get("finish_reason"))


def _of_message(message: dict[str, Any], usage: dict[str, Any], finish: str | None = None) -> Reading:
    content = message.get("content")
    if isinstance(content, list):
        content = "".join(part.get("text", "") for part in content if isinstance(part, dict))
    calls = [
        Call(
            call_id=str(call.get("id") or f"call_{i}"),
            name=str((call.get("function") or call).get("name")),
            arguments=_arguments((call.get("function") or call).get("arguments")),
        )
        for i, call in enumerate(message.get("tool_calls") or [])
        if isinstance(call, dict)
    ]
    return Reading(
        text=content if isinstance(content, str) else None,
        reasoning=message.get("reasoning_content"),
        calls=tuple(calls),
        usage=_tokens(usage, "prompt_tokens", "completion_tokens"),
        finish=finish,
    )


def _of_responses(response: dict[str, Any]) -> Reading:
    texts: list[str] = []
    calls: list[Call] = []
    for item in response["output"]:
        if item.get("type") == "message":
            texts += [part.get("text", "") for part in item.get("content") or [] if isinstance(part, dict)]
        elif item.get("type") == "function_call":
            calls.append(
                Call(
                    call_id=str(item.get("call_id")),
                    name=str(item.get("name")),
                    arguments=_arguments(item.get("arguments")),
                )
            )
    usage = response.get("usage") or {}
    return Reading(
        text="".join(texts) or None, calls=tuple(calls), usage=_tokens(usage, "input_tokens", "output_tokens")
    )


def _of_anthropic(response: dict[str, Any]) -> Reading:
    blocks = [block for block in response["content"] if isinstance(block, dict)]
    calls = [
        Call(call_id=str(block.get("id")), name=str(block.get("name")), arguments=block.get("input"))
        for block in blocks
        if block.get("type") == "tool_use"
    ]
    return Reading(
        text="".join(block.get("text", "") for block in blocks if block.get("type") == "text") or None,
        reasoning="".join(block.get("thinking", "") for block in blocks if block.get("type") == "thinking") or None,
        calls=tuple(calls),
        usage=_tokens(response.get("usage") or {}, "input_tokens", "output_tokens"),
        finish=response.get("stop_reason"),
    )


def merge_chunks(chunks: list[dict[str, Any]]) -> dict[str, Any]:
    """Join the deltas of a streamed chat completion into one message."""
    content: list[str] = []
    calls: dict[int, dict[str, Any]] = {}
    usage: dict[str, Any] = {}
    finish = None
    for chunk in chunks:
        usage = chunk.get("usage") or usage
        for choice in chunk.get("choices") or []:
            delta = choice.get("delta") or {}
            finish = choice.get("finish_reason") or finish
            content.append(delta.get("content") or "")
            for part in delta.get("tool_calls") or []:
                call = calls.setdefault(part.get("index", 0), {"id": None, "function": {"name": "", "arguments": ""}})
                call["id"] = part.get("id") or call["id"]
                function = part.get("function") or {}
                call["function"]["name"] += function.get("name") or ""
                call["function"]["arguments"] += function.get("arguments") or ""
    message = {"role": "assistant", "content": "".join(content) or None}
    if calls:
        message["tool_calls"] = [calls[i] for i in sorted(calls)]  # type: ignore[assignment]
    return {"choices": [{"message": message, "finish_reason": finish}], "usage": usage}


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
