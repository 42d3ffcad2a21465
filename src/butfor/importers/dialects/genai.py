"""Messages of the OpenTelemetry GenAI conventions: `role` and `parts`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from butfor.importers.dialects import chat
from butfor.importers.entries import Decided, Entry, Given, Returned, asked, said
from butfor.importers.fields import Fields, listing
from butfor.importers.parsing import unpacked
from butfor.runs import Part, PartKind

if TYPE_CHECKING:
    from butfor.canonical import Json
    from butfor.importers.tally import Ignored


def entries(messages: Json, ignored: Ignored) -> list[Entry]:
    """Read messages in order; a message with several tool responses becomes several entries."""
    read: list[Entry] = []
    for each in listing(unpacked(messages)):
        message = unpacked(each)  # some producers write a list of JSON texts
        if isinstance(message, dict) and "parts" not in message:
            read.append(chat.entry(message, ignored))  # some producers put provider messages in the attribute
            continue
        fields = Fields(message, ignored, "message")
        role, parts = fields.text("role") or "user", [unpacked(part) for part in fields.listing("parts")]
        name = fields.text("name")
        if role == "assistant":
            read.append(Decided(parts=_decided(parts, ignored), name=name))
        else:
            read += _shown(role, parts, name, ignored)
        fields.known("finish_reason")
        fields.close()
    return read


def instructions(parts: Json) -> list[Entry]:
    """Read `gen_ai.system_instructions`: parts without a message around them."""
    value = unpacked(parts)
    content = _plain([unpacked(part) for part in value]) if isinstance(value, list) else value
    return [] if content in (None, "", []) else [Given(role="system", content=content)]


def _decided(parts: list[Json], ignored: Ignored) -> tuple[Part, ...]:
    read: list[Part] = []
    for part in parts:
        kind = part.get("type") if isinstance(part, dict) else None
        if kind == "text":
            read += said(part.get("content"))
        elif kind in ("reasoning", "thinking"):
            read += said(part.get("content"), PartKind.REASONING)
        elif kind in ("tool_call", "server_tool_call"):
            fields = Fields(part, ignored, kind)
            arguments = unpacked(fields.take("arguments"))
            read.append(asked(fields.text("id"), fields.text("name"), {} if arguments is None else arguments))
            fields.known("type")
            fields.close()
        else:
            read += said(part)
    return tuple(read)


def _shown(role: str, parts: list[Json], name: str | None, ignored: Ignored) -> list[Entry]:
    read: list[Entry] = []
    others: list[Json] = []
    for part in parts:
        if isinstance(part, dict) and part.get("type") == "tool_call_response":
            fields = Fields(part, ignored, "tool_call_response")
            content = fields.first("response", "result", "content")
            read.append(Returned(call_id=fields.text("id"), content=content, name=fields.text("name") or name))
            fields.known("type")
            fields.close()
        else:
            others.append(part)
    return [*read, Given(role=role, content=_plain(others), name=name)] if others or not parts else read


def _plain(parts: list[Json]) -> Json:
    if len(parts) == 1 and isinstance(parts[0], dict) and parts[0].get("type") == "text":
        return parts[0].get("content")
    return parts
