"""What a policy decided from and what it decided, as chat messages: the form that every format starts from.

It is that of OpenAI's Chat Completions: a call's arguments are JSON text, as they were recorded.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeAlias

from butfor import canonical
from butfor.repairs.edits import short_form
from butfor.repairs.edits.actions import is_call, is_short

if TYPE_CHECKING:
    from collections.abc import Iterator

    from butfor.canonical import Json

Message: TypeAlias = dict[str, Any]

_ROLES = {"system", "developer", "user", "assistant", "tool"}


class NotWritable(Exception):
    """A request or an action has no chat form.

    The message is a reason to leave a repair out. Caught where pairs are derived: it is no error of the user's.
    """


@dataclass(frozen=True, kw_only=True)
class Prompt:
    """A state s_k: everything that both answers of a pair follow.

    Attributes:
        messages: The history, oldest first.
        tools: The functions that may be called, in OpenAI's form.
        parallel: Whether several may be called at once; None where the request does not say.
    """

    messages: tuple[Message, ...]
    tools: tuple[Json, ...] = ()
    parallel: bool | None = None

    @property
    def digest(self) -> str:
        """What makes two prompts the same."""
        return canonical.digest([list(self.messages), list(self.tools)])

    @property
    def opening(self) -> str:
        """The first thing that a user said: two runs that begin alike are about the same task."""
        return next((str(each.get("content") or "") for each in self.messages if each["role"] == "user"), "")


def prompt_of(request: Json) -> Prompt:
    """Read the exact request of a step.

    Args:
        request: Chat Completions, Responses or Anthropic Messages, bare or under ``body`` or ``kwargs``.

    Raises:
        NotWritable: It is none of these, or holds what is not text.
    """
    body = _body(request)
    try:
        return _prompt(body)
    except (KeyError, TypeError, AttributeError):
        raise NotWritable("the request holds a malformed message") from None


def _prompt(body: dict[str, Any]) -> Prompt:
    system = body.get("system") or body.get("instructions")
    head: list[Message] = [{"role": "system", "content": _text(system)}] if system else []
    if isinstance(body.get("messages"), list):
        messages = [*head, *(each for raw in body["messages"] for each in _chat(raw))]
    elif isinstance(body.get("input"), str | list):
        messages = [*head, *_items(body["input"])]
    elif isinstance(body.get("prompt"), str):
        messages = [*head, {"role": "user", "content": body["prompt"]}]
    else:
        raise NotWritable("the request is in a form of the agent's own, not chat messages")
    if not any(each["role"] in ("user", "tool") for each in messages):
        raise NotWritable("the request holds no message of a user")
    offered, parallel = body.get("tools"), body.get("parallel_tool_calls")
    return Prompt(
        messages=tuple(messages),
        tools=tuple(map(_tool, offered if isinstance(offered, list) else [])),
        parallel=parallel if isinstance(parallel, bool) else None,
    )


def answer_message(action: Json, *, step: int) -> Message:
    """Write an action as the assistant's next message.

    Calls are named by step and position, whoever decided them: an id of the provider's would tell the two answers of
    a pair apart.

    Raises:
        NotWritable: The action is in a form of the agent's own.
    """
    short = short_form(action)
    if not is_short(short):
        raise NotWritable("the action is in a form of the agent's own, neither text nor tool calls")
    parts = short if isinstance(short, list) else [short]
    words = "\n".join(part for part in parts if isinstance(part, str))
    calls = [part for part in parts if is_call(part)]
    message: Message = {"role": "assistant", "content": words}
    if calls:
        message["tool_calls"] = [
            _call(f"call_{step}_{i}", call["tool"], call.get("arguments", {})) for i, call in enumerate(calls)
        ]
    if not words.strip() and not calls:
        raise NotWritable("the action says nothing")
    return message


def _body(request: Json) -> dict[str, Any]:
    body = {"prompt": request} if isinstance(request, str) else request
    for inner in ("body", "kwargs"):
        if isinstance(body, dict) and isinstance(body.get(inner), dict):
            body = body[inner]
    if not isinstance(body, dict):
        raise NotWritable("the exact request of the step is not known")
    return body


def _text(content: Json) -> str:
    """Join a content's text; nothing else may be in it."""
    if content is None or isinstance(content, str):
        return content or ""
    if isinstance(content, dict):
        content = [content]
    texts: list[str] = []
    for part in content if isinstance(content, list) else [None]:
        text = part if isinstance(part, str) else part.get("text") if isinstance(part, dict) else None
        if not isinstance(text, str):
            raise NotWritable("the request holds something other than text, such as an image")
        texts.append(text)
    return "".join(texts)


def _chat(raw: Json) -> Iterator[Message]:
    if not isinstance(raw, dict) or raw.get("role") not in _ROLES:
        raise NotWritable("the request holds a message without a known role")
    blocks = raw.get("content")
    if isinstance(blocks, list) and any(each.get("type") in ("tool_use", "tool_result") for each in blocks):
        yield from _blocks(raw["role"], blocks)
        return
    message: Message = {"role": raw["role"], "content": _text(blocks)}
    if raw.get("tool_calls"):
        message["tool_calls"] = [
            _call(each.get("id"), each["function"]["name"], each["function"].get("arguments"))
            for each in raw["tool_calls"]
        ]
    yield message | {name: raw[name] for name in ("tool_call_id", "name") if isinstance(raw.get(name), str)}


def _blocks(role: str, blocks: list[Json]) -> Iterator[Message]:
    """Read Anthropic's blocks: results come before what the user says beside them."""
    for block in blocks:
        if block.get("type") == "tool_result":
            yield {"role": "tool", "content": _text(block.get("content")), "tool_call_id": str(block["tool_use_id"])}
    words = _text([block for block in blocks if block.get("type") not in ("tool_use", "tool_result", "thinking")])
    calls = [
        _call(block.get("id"), block["name"], block.get("input")) for block in blocks if block.get("type") == "tool_use"
    ]
    if words or calls:
        yield {"role": role, "content": words} | ({"tool_calls": calls} if calls else {})


def _items(items: Json) -> Iterator[Message]:
    """Read the input of a Responses request; calls that stand together are one message."""
    calls: list[Json] = []
    for item in [{"role": "user", "content": items}] if isinstance(items, str) else items:
        kind = item.get("type", "message") if isinstance(item, dict) else None
        if kind == "function_call":
            calls.append(_call(item.get("call_id"), item["name"], item.get("arguments")))
            continue
        if calls:
            yield {"role": "assistant", "content": "", "tool_calls": calls}
            calls = []
        if kind == "function_call_output":
            yield {"role": "tool", "content": _text(item.get("output")), "tool_call_id": str(item["call_id"])}
        elif kind == "message":
            yield from _chat(item)
        elif kind != "reasoning":
            raise NotWritable(f"the request holds an item of the kind {kind!r}, which has no chat form")
    if calls:
        yield {"role": "assistant", "content": "", "tool_calls": calls}


def _call(call_id: Json, name: str, arguments: Json) -> Json:
    written = (
        arguments
        if isinstance(arguments, str)
        else json.dumps({} if arguments is None else arguments, ensure_ascii=False)
    )
    return {"id": str(call_id or name), "type": "function", "function": {"name": name, "arguments": written}}


def _tool(raw: Json) -> Json:
    told = raw.get("function", raw) if isinstance(raw, dict) else {}
    if not isinstance(told, dict) or not isinstance(told.get("name"), str):
        raise NotWritable("the request offers a tool that is no function")
    told_schema = told.get("parameters") or told.get("input_schema") or {"type": "object", "properties": {}}
    described = {"description": told["description"]} if isinstance(told.get("description"), str) else {}
    return {"type": "function", "function": {"name": told["name"], **described, "parameters": told_schema}}
