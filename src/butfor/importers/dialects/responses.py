"""Items of the OpenAI Responses API."""

from __future__ import annotations

from typing import TYPE_CHECKING

from butfor.importers.entries import Decided, Entry, Given, Returned, asked, said
from butfor.importers.fields import Fields, listing
from butfor.importers.parsing import unpacked
from butfor.runs import Part, PartKind

if TYPE_CHECKING:
    from butfor.canonical import Json
    from butfor.importers.tally import Ignored

# Tuples, here and elsewhere: a foreign value need not be hashable.
_KINDS = ("function_call", "function_call_output", "custom_tool_call", "custom_tool_call_output", "item_reference")


def matches(item: Json) -> bool:
    """Say whether an item is one that only this dialect has."""
    if not isinstance(item, dict):
        return False
    kind = item.get("type")
    if kind in _KINDS or (kind == "reasoning" and "summary" in item):
        return True
    blocks = (block.get("type") for block in listing(item.get("content")) if isinstance(block, dict))
    return any(block in ("input_text", "output_text") for block in blocks)


def entries(items: Json, ignored: Ignored) -> list[Entry]:
    """Read items in order; what the model emitted without a break is one decision."""
    if isinstance(items, str):
        return [Given(role="user", content=items)]
    read: list[Entry] = []
    for item in listing(items):
        entry = _item(item, ignored)
        last = read[-1] if read else None
        if isinstance(entry, Decided) and isinstance(last, Decided):
            read[-1] = Decided(parts=last.parts + entry.parts)
        elif entry is not None:
            read.append(entry)
    return read


def _item(item: Json, ignored: Ignored) -> Entry | None:
    fields = Fields(item, ignored, "item")
    kind = fields.text("type") or "message"
    fields.known("id", "status", "caller", "namespace", "async", "annotations", "phase")
    entry: Entry | None
    if kind == "message":
        role = fields.text("role") or "user"
        content = fields.take("content")
        entry = Decided(parts=_spoken(content)) if role == "assistant" else Given(role=role, content=_plain(content))
    elif kind in ("function_call_output", "custom_tool_call_output", "computer_call_output", "local_shell_call_output"):
        entry = Returned(call_id=fields.text("call_id", "id"), content=fields.take("output"))
    elif kind == "item_reference":
        ignored.add("item_reference (the item is on the provider's side)")
        entry = None
    else:
        entry = Decided(parts=_emitted(kind, fields))
    fields.close()
    return entry


def _emitted(kind: str, fields: Fields) -> tuple[Part, ...]:
    if kind == "reasoning":
        thoughts = [*fields.listing("summary"), *fields.listing("content")]
        texts = [each.get("text") for each in thoughts if isinstance(each, dict)]
        fields.known("encrypted_content")
        return tuple(part for text in texts for part in said(text, PartKind.REASONING))
    if kind in ("function_call", "custom_tool_call"):
        arguments = unpacked(fields.first("arguments", "input"))
        return (asked(fields.text("call_id", "id"), fields.text("name"), {} if arguments is None else arguments),)
    # A tool that the provider ran itself (web search, file search, code): the whole item is what is known of it.
    item = fields.rest()
    return (asked(fields.text("call_id", "id"), kind, item),)


def _spoken(content: Json) -> tuple[Part, ...]:
    if not isinstance(content, list):
        return tuple(said(content))
    parts: list[Part] = []
    for block in content:
        text = block.get("text", block.get("refusal")) if isinstance(block, dict) else None
        parts += said(text if isinstance(text, str) else block)
    return tuple(parts)


def _plain(content: Json) -> Json:
    if isinstance(content, list) and len(content) == 1 and isinstance(content[0], dict):
        text = content[0].get("text")
        if isinstance(text, str) and content[0].get("type") in ("input_text", "text", "output_text"):
            return text
    return content
