"""LangChain messages as data: constructor dumps, ``{type, data}`` dumps and flat ones. Nothing is constructed."""

from __future__ import annotations

from typing import TYPE_CHECKING

from butfor.importers.dialects import chat
from butfor.importers.entries import Decided, Entry, Given, Returned
from butfor.importers.fields import Fields, listing

if TYPE_CHECKING:
    from butfor.canonical import Json
    from butfor.importers.tally import Ignored
    from butfor.runs import Part

_ROLES = {"human": "user", "ai": "assistant", "system": "system", "tool": "tool", "function": "tool", "chat": "user"}
_CLASSES = {
    "HumanMessage": "human",
    "AIMessage": "ai",
    "AIMessageChunk": "ai",
    "SystemMessage": "system",
    "ToolMessage": "tool",
    "FunctionMessage": "function",
}


def matches(message: Json) -> bool:
    """Say whether this is a LangChain message in one of its forms."""
    return _opened(message) is not None


def entries(messages: list[Json], ignored: Ignored) -> list[Entry]:
    """Read messages in order; provider-shaped ones in between are read as such."""
    return [
        chat.entry(message, ignored) if (opened := _opened(message)) is None else _entry(*opened, ignored)
        for message in messages
    ]


def _opened(message: Json) -> tuple[str, dict[str, Json]] | None:
    """Return (kind, fields) of a message."""
    if not isinstance(message, dict):
        return None
    kind = message.get("type")
    if kind == "constructor" and isinstance(message.get("kwargs"), dict):
        name = (listing(message.get("id")) or [None])[-1]
        known = _CLASSES.get(name) if isinstance(name, str) else None
        return (known, message["kwargs"]) if known else None
    if not isinstance(kind, str) or kind not in _ROLES:
        return None
    if isinstance(message.get("data"), dict):
        return kind, message["data"]
    return (kind, message) if "content" in message else None


def _entry(kind: str, value: dict[str, Json], ignored: Ignored) -> Entry:
    fields = Fields(value, ignored, "message")
    content = fields.take("content")
    # Tokens, provider headers and identifiers; the provider's own copy of the calls is under additional_kwargs.
    fields.known("id", "type", "additional_kwargs", "response_metadata", "usage_metadata", "example", "role")
    name = fields.text("name")
    entry: Entry
    if kind == "ai":
        entry = Decided(parts=tuple(_decided(content, fields)), name=name)
    elif kind in ("tool", "function"):
        entry = Returned(
            call_id=fields.text("tool_call_id"),
            content=content,
            name=name,
            is_error=fields.take("status") == "error",
        )
        fields.known("artifact")
    else:
        entry = Given(role=_ROLES[kind], content=content, name=name)
    fields.close()
    return entry


def _decided(content: Json, fields: Fields) -> list[Part]:
    # With Anthropic models the content repeats the calls as tool_use blocks.
    blocks = listing(content)
    words = [block for block in blocks if not (isinstance(block, dict) and block.get("type") == "tool_use")]
    parts = chat.spoken(words if isinstance(content, list) else content)
    calls = [*fields.listing("tool_calls"), *fields.listing("invalid_tool_calls")]
    return parts + [chat.call(each) for each in calls]
