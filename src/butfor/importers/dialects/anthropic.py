"""Messages of the Anthropic API: content blocks, tool results inside user messages."""

from __future__ import annotations

from typing import TYPE_CHECKING

from butfor.importers.entries import Decided, Entry, Given, Returned, asked, said
from butfor.importers.fields import Fields, listing
from butfor.runs import Part, PartKind

if TYPE_CHECKING:
    from butfor.canonical import Json
    from butfor.importers.tally import Ignored

_BLOCKS = ("tool_use", "tool_result", "thinking", "redacted_thinking", "server_tool_use")


def matches(message: Json) -> bool:
    """Say whether a message has blocks that only this dialect has."""
    if not isinstance(message, dict) or message.get("role") not in ("user", "assistant"):
        return False
    return any(isinstance(block, dict) and block.get("type") in _BLOCKS for block in listing(message.get("content")))


def system(content: Json) -> list[Entry]:
    """Read the system prompt, which stands beside the messages."""
    return [] if content in (None, "", []) else [Given(role="system", content=content)]


def entries(messages: list[Json], ignored: Ignored) -> list[Entry]:
    """Read messages in order; a user message with tool results becomes several entries."""
    read: list[Entry] = []
    for message in messages:
        fields = Fields(message, ignored, "message")
        role = fields.text("role") or "user"
        content = fields.take("content")
        if role == "assistant":
            read.append(Decided(parts=decided(content, ignored)))
        else:
            read += _shown(role, content)
        fields.known("id", "type", "model", "stop_reason", "stop_sequence", "usage", "container", "cache_control")
        fields.close()
    return read


def decided(content: Json, ignored: Ignored) -> tuple[Part, ...]:
    """Read an assistant message's content."""
    if not isinstance(content, list):
        return tuple(said(content))
    return tuple(part for block in content for part in _block(block, ignored))


def _block(block: Json, ignored: Ignored) -> list[Part]:
    if not isinstance(block, dict):
        return said(block)
    kind = block.get("type")
    if kind == "text":
        return said(block.get("text"))
    if kind == "thinking":
        return said(block.get("thinking"), PartKind.REASONING)
    if kind in ("tool_use", "server_tool_use", "mcp_tool_use"):
        fields = Fields(block, ignored, kind)
        call = asked(fields.text("id"), fields.text("name"), fields.take("input"))
        fields.known("type", "caller", "cache_control")
        fields.close()
        return [call]
    # Redacted thinking, results of the provider's own tools and what comes next year: kept as they are.
    return said(block, PartKind.REASONING if kind == "redacted_thinking" else PartKind.LLM_RESPONSE)


def _shown(role: str, content: Json) -> list[Entry]:
    if not isinstance(content, list):
        return [Given(role=role, content=content)]
    read: list[Entry] = []
    others: list[Json] = []
    for block in content:
        if isinstance(block, dict) and block.get("type") == "tool_result":
            call_id = block.get("tool_use_id")
            read.append(
                Returned(
                    call_id=call_id if isinstance(call_id, str) else None,
                    content=plain(block.get("content")),
                    is_error=bool(block.get("is_error")),
                )
            )
        else:
            others.append(block)
    return [*read, Given(role=role, content=plain(others))] if others else read


def plain(content: Json) -> Json:
    """Return the text of content that is one text block, else the content as it is."""
    if isinstance(content, list) and len(content) == 1 and isinstance(content[0], dict):
        (block,) = content
        if block.get("type") == "text" and isinstance(block.get("text"), str):
            return block["text"]
    return content
