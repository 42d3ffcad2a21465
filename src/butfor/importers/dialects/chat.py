"""Messages of Chat Completions, and of everything that imitates it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from butfor.importers.entries import Decided, Entry, Given, Returned, asked, said
from butfor.importers.fields import Fields, listing, mapping, printable
from butfor.importers.parsing import unpacked
from butfor.runs import Part, PartKind

if TYPE_CHECKING:
    from butfor.canonical import Json
    from butfor.importers.tally import Ignored

ROLES = frozenset({"system", "developer", "user", "assistant", "tool", "function"})


def matches(message: Json) -> bool:
    """Say whether this looks like a message."""
    return isinstance(message, dict) and isinstance(message.get("role"), str)


def entries(messages: list[Json], ignored: Ignored) -> list[Entry]:
    """Read messages in order."""
    return [entry(message, ignored) for message in messages]


def entry(message: Json, ignored: Ignored) -> Entry:
    """Read one message."""
    fields = Fields(message, ignored, "message")
    role = fields.text("role") or "user"
    if role == "assistant":
        read: Entry = Decided(parts=tuple(_decided(fields)), name=fields.text("name"))
    elif role in ("tool", "function"):
        read = Returned(
            call_id=fields.text("tool_call_id"),
            content=fields.take("content"),
            name=fields.text("name", "function"),
            is_error=bool(fields.first("is_error", "error")),
        )
    else:
        read = Given(role=role, content=fields.take("content"), name=fields.text("name"))
    # The provider's own bookkeeping, and what numbering a dataset added.
    fields.known("refusal", "annotations", "audio", "index", "id", "type", "function_call", "cache_control")
    fields.known("source", "model", "finish_reason")
    fields.close()
    return read


def _decided(fields: Fields) -> list[Part]:
    parts = said(fields.first("reasoning_content", "reasoning", "thinking"), PartKind.REASONING)
    parts += spoken(fields.take("content"))
    parts += said(fields.value.get("refusal"))
    parts += [call(each) for each in fields.listing("tool_calls")]
    legacy = fields.value.get("function_call")
    if isinstance(legacy, dict):
        parts.append(call({"function": legacy}))
    return parts


def spoken(content: Json) -> list[Part]:
    """Read content: text, or a list of content parts."""
    if not isinstance(content, list):
        return said(content)
    parts: list[Part] = []
    for block in content:
        kind = block.get("type") if isinstance(block, dict) else None
        if kind in ("text", "output_text") and isinstance(block.get("text"), str):
            parts += said(block["text"])
        elif kind == "reasoning":
            parts += said(block.get("reasoning", block.get("text")), PartKind.REASONING)
        else:
            parts += said(block)
    return parts


def call(value: Json) -> Part:
    """Read a tool call: the nested form, the flat one, or a custom tool's."""
    outer = mapping(unpacked(value))
    inner = outer.get("function")
    named = inner if isinstance(inner, dict) else outer.get("custom")
    named = named if isinstance(named, dict) else outer
    name = named.get("name") or (inner if isinstance(inner, str) else None)
    raw: Json = next((named[key] for key in ("arguments", "args", "input", "kwargs") if key in named), {})
    return asked(_text(outer.get("id")), _text(name), unpacked(raw))


def tools(definitions: Json) -> list[Json]:
    """Return tool definitions as a list of objects with `name`, `description` and `parameters` where known."""
    read = []
    for definition in listing(unpacked(definitions)):
        each = unpacked(definition)
        if isinstance(each, dict):
            inner = each.get("function")
            read.append(inner if isinstance(inner, dict) else _flat_tool(each))
    return read


def _flat_tool(definition: dict[str, Json]) -> dict[str, Json]:
    """Return a definition without the envelope of Responses, or with Anthropic's schema under Chat's name."""
    held = {key: value for key, value in definition.items() if key not in ("type", "input_schema")}
    schema = definition.get("input_schema")
    return held if schema is None else held | {"parameters": schema}


def _text(value: Json) -> str | None:
    return printable(value) if isinstance(value, str) else None if value is None else str(value)[:100]
