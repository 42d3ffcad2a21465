"""The chat-completions format: a checked request in, a completion or its chunks out."""

from __future__ import annotations

import json
from dataclasses import dataclass
from hashlib import blake2b
from typing import TYPE_CHECKING, Any

from engine import MODEL_NAME
from prompt import ROLES

if TYPE_CHECKING:
    from collections.abc import Iterator

    from policy import Decision

DEFAULT_MAX_TOKENS = 24
# What this server cannot do is refused: an ignored setting would be a silent change of policy.
_ONLY = {"n": 1, "top_p": 1, "logprobs": False, "presence_penalty": 0, "frequency_penalty": 0}
_REFUSED = ("response_format", "functions", "function_call", "logit_bias", "stop")
# Whether the answer is streamed is no part of what is asked, so it does not change the draw.
_DELIVERY = ("stream", "stream_options", "seed")


class BadRequest(ValueError):
    """The request is malformed or asks for what this server cannot do."""


@dataclass(frozen=True, kw_only=True)
class Tool:
    """A function that the assistant may call."""

    name: str
    description: str
    properties: dict[str, Any]
    required: tuple[str, ...]


@dataclass(frozen=True, kw_only=True)
class ChatRequest:
    """What is asked: `permitted` are the tools that `tool_choice` leaves; `content` keys the noise."""

    messages: list[dict[str, Any]]
    tools: tuple[Tool, ...]
    permitted: tuple[Tool, ...]
    may_reply: bool
    temperature: float
    seed: int | None
    max_tokens: int
    stream: bool
    include_usage: bool
    content: str


def parse(raw: bytes) -> ChatRequest:
    """Read the body of a request.

    Raises:
        BadRequest: It is not JSON, a field has the wrong form, or a setting is not supported.
    """
    try:
        body = json.loads(raw)
    except ValueError as error:
        raise BadRequest(f"the body is not JSON: {error}") from None
    if not isinstance(body, dict):
        raise BadRequest("the body is not a JSON object")
    _refuse(body)
    tools = tuple(_tool(tool) for tool in body.get("tools") or ())
    permitted, may_reply = _choice(body.get("tool_choice") or "auto", tools)
    return ChatRequest(
        messages=_messages(body.get("messages")),
        tools=tools,
        permitted=permitted,
        may_reply=may_reply,
        temperature=_number(body, "temperature", 1.0, 2.0),
        seed=body.get("seed"),
        max_tokens=_max_tokens(body),
        stream=bool(body.get("stream")),
        include_usage=bool((body.get("stream_options") or {}).get("include_usage")),
        content=json.dumps({k: v for k, v in body.items() if k not in _DELIVERY}, sort_keys=True),
    )


def completion(request: ChatRequest, decision: Decision) -> dict[str, Any]:
    """Write a decision as a `chat.completion` object."""
    message: dict[str, Any] = {"role": "assistant", "content": decision.content, "refusal": None}
    if decision.tool is not None:
        message["tool_calls"] = [
            {"id": _call_id(request, decision), "type": "function", "function": _function(decision)}
        ]
    choice = {"index": 0, "message": message, "finish_reason": decision.finish_reason, "logprobs": None}
    return _envelope(request, decision, "chat.completion") | {"choices": [choice], "usage": _usage(decision)}


def chunks(request: ChatRequest, decision: Decision) -> Iterator[dict[str, Any]]:
    """Write a decision as `chat.completion.chunk` objects: role, parts of the answer, finish reason, usage if asked."""
    envelope = _envelope(request, decision, "chat.completion.chunk")

    def chunk(delta: dict[str, Any], finish_reason: str | None = None) -> dict[str, Any]:
        choice = {"index": 0, "delta": delta, "finish_reason": finish_reason, "logprobs": None}
        return envelope | {"choices": [choice]}

    yield chunk({"role": "assistant", "content": None if decision.tool else ""})
    if decision.tool is None:
        yield from (chunk({"content": part}) for part in _parts(decision.content or ""))
    else:
        head = {"index": 0, "id": _call_id(request, decision), "type": "function"}
        yield chunk({"tool_calls": [head | {"function": {"name": decision.tool, "arguments": ""}}]})
        for part in _parts(decision.arguments):
            yield chunk({"tool_calls": [{"index": 0, "function": {"arguments": part}}]})
    yield chunk({}, decision.finish_reason)
    if request.include_usage:
        yield envelope | {"choices": [], "usage": _usage(decision)}


def models() -> dict[str, Any]:
    """Write the list of models: the one there is."""
    return {"object": "list", "data": [{"id": MODEL_NAME, "object": "model", "created": 0, "owned_by": "local"}]}


def failure(message: str, kind: str = "invalid_request_error") -> dict[str, Any]:
    """Write an error as the API does."""
    return {"error": {"message": message, "type": kind, "param": None, "code": None}}


def _refuse(body: dict[str, Any]) -> None:
    for name, only in _ONLY.items():
        if body.get(name) not in (None, only):
            raise BadRequest(f"{name} = {body[name]!r} is not supported, only {only!r}")
    for name in _REFUSED:
        if body.get(name) is not None:
            raise BadRequest(f"{name} is not supported")
    if body.get("seed") is not None and not isinstance(body["seed"], int):
        raise BadRequest("seed is not an integer")


def _number(body: dict[str, Any], name: str, default: float, upper: float) -> float:
    value = body.get(name)
    if value is None:
        return default
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value <= upper:
        raise BadRequest(f"{name} is not a number from 0 to {upper:g}")
    return float(value)


def _max_tokens(body: dict[str, Any]) -> int:
    for name in ("max_completion_tokens", "max_tokens"):
        value = body.get(name)
        if value is not None:
            if not isinstance(value, int) or value < 1:
                raise BadRequest(f"{name} is not a positive integer")
            return value
    return DEFAULT_MAX_TOKENS


def _messages(messages: Any) -> list[dict[str, Any]]:
    if not isinstance(messages, list) or not messages:
        raise BadRequest("messages is not a list with at least one message")
    for i, message in enumerate(messages):
        if not isinstance(message, dict) or message.get("role") not in ROLES:
            raise BadRequest(f"messages[{i}] is not an object with a known role")
    return messages


def _tool(tool: Any) -> Tool:
    try:
        function = tool["function"]
        schema = function.get("parameters") or {}
        return Tool(
            name=function["name"],
            description=function.get("description") or "",
            properties=schema.get("properties") or {},
            required=tuple(schema.get("required") or ()),
        )
    except (KeyError, TypeError, AttributeError):
        raise BadRequest("a tool is not of the form {type: function, function: {name, parameters}}") from None


def _choice(choice: Any, tools: tuple[Tool, ...]) -> tuple[tuple[Tool, ...], bool]:
    if choice == "none" or (choice == "auto" and not tools):
        return (), True
    if choice in ("auto", "required") and tools:
        return tools, choice == "auto"
    if isinstance(choice, dict):
        named = tuple(tool for tool in tools if tool.name == (choice.get("function") or {}).get("name"))
        if named:
            return named, False
    raise BadRequest(f"tool_choice = {choice!r} names no tool of the request")


def _function(decision: Decision) -> dict[str, str]:
    return {"name": decision.tool or "", "arguments": decision.arguments}


def _call_id(request: ChatRequest, decision: Decision) -> str:
    """Name a call by what was asked and decided: equal calls in equal states make equal later requests."""
    return f"call_{_digest(request.content, decision.tool or '', decision.arguments)}"


def _envelope(request: ChatRequest, decision: Decision, kind: str) -> dict[str, Any]:
    """Describe an answer without a clock or a random id: equal answers to equal requests are byte-equal."""
    answer = _digest(request.content, str(decision.tool), decision.arguments, str(decision.content))
    return {"id": f"chatcmpl-{answer}", "object": kind, "created": 0, "model": MODEL_NAME}


def _digest(*parts: str) -> str:
    return blake2b(json.dumps(parts).encode(), digest_size=12).hexdigest()


def _usage(decision: Decision) -> dict[str, int]:
    read, written = decision.prompt_tokens, decision.completion_tokens
    return {"prompt_tokens": read, "completion_tokens": written, "total_tokens": read + written}


def _parts(text: str) -> list[str]:
    return [text[i : i + 12] for i in range(0, len(text), 12)]
