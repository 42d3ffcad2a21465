"""A conversation in no provider's dialect: what was given, what was decided, what was returned."""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING, TypeAlias

from butfor import canonical
from butfor.importers.fields import kept
from butfor.runs import Part, PartKind, Text, ToolCall

if TYPE_CHECKING:
    from butfor.canonical import Json


@dataclasses.dataclass(frozen=True, kw_only=True, slots=True)
class Given:
    """Something that neither the policy nor a tool said.

    Attributes:
        role: `system`, `developer`, `user` or what the source calls it.
        content: Text, or structured content as the source had it.
    """

    role: str
    content: Json
    name: str | None = None


@dataclasses.dataclass(frozen=True, kw_only=True, slots=True)
class Decided:
    """What the policy said and asked for in one response."""

    parts: tuple[Part, ...]
    name: str | None = None


@dataclasses.dataclass(frozen=True, kw_only=True, slots=True)
class Returned:
    """What a tool returned."""

    call_id: str | None
    content: Json
    name: str | None = None
    is_error: bool = False


Entry: TypeAlias = Given | Decided | Returned


def said(text: Json, kind: PartKind = PartKind.LLM_RESPONSE) -> list[Part]:
    """Return a text part, none for nothing said."""
    return [] if text in (None, "", []) else [Text(kind=kind, content=kept(text))]


def asked(call_id: str | None, name: str | None, arguments: Json, extra: dict[str, Json] | None = None) -> ToolCall:
    """Return a tool call; an absent id is "", for the builder to fill in."""
    return ToolCall(call_id=call_id or "", name=name or "", arguments=kept(arguments), extra=kept(extra or {}))


def to_chat(entries: list[Entry]) -> list[Json]:
    """Write a conversation as Chat Completions messages, the dialect that most endpoints accept."""
    return [_chat_message(entry) for entry in entries]


def _chat_message(entry: Entry) -> Json:
    if isinstance(entry, Given):
        message: dict[str, Json] = {"role": entry.role, "content": entry.content}
    elif isinstance(entry, Returned):
        text = entry.content if isinstance(entry.content, str) else canonical.encode(entry.content)
        message = {"role": "tool", "tool_call_id": entry.call_id or "", "content": text}
    else:
        message = _assistant_message(entry)
    return message | ({"name": entry.name} if entry.name else {})


def _assistant_message(entry: Decided) -> dict[str, Json]:
    texts = [part for part in entry.parts if isinstance(part, Text)]
    spoken = [part.content.get() for part in texts if part.kind is not PartKind.REASONING]
    thought = [part.content.get() for part in texts if part.kind is PartKind.REASONING]
    message: dict[str, Json] = {"role": "assistant", "content": _joined(spoken)}
    if thought:
        message["reasoning_content"] = _joined(thought)
    calls = [part for part in entry.parts if isinstance(part, ToolCall)]
    if calls:
        message["tool_calls"] = [_chat_call(call) for call in calls]
    return message


def _joined(contents: list[Json]) -> Json:
    if not contents:
        return None
    if all(isinstance(content, str) for content in contents):
        return "\n".join(contents)
    return [{"type": "text", "text": each} if isinstance(each, str) else each for each in contents]


def _chat_call(call: ToolCall) -> Json:
    arguments = call.arguments.get()
    text = arguments if isinstance(arguments, str) else canonical.encode(arguments)
    return {"id": call.call_id, "type": "function", "function": {"name": call.name, "arguments": text}}
