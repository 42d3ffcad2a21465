"""An action in its short form, whatever format the model answered in, and whether two of them differ at all."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING

from butfor import canonical
from butfor.replay import reading

if TYPE_CHECKING:
    from butfor.canonical import Json

_FENCE = re.compile(r"\s*```[\w+-]*[ \t]*\n(.*?)\n?[ \t]*```\s*", re.DOTALL)


def short_form(action: Json) -> Json:
    """Write a proposed action in its short form: text, ``{"tool", "arguments"}``, or a list of those."""
    return action if is_short(action) else decided(action)


def decided(answer: Json) -> Json:
    """Write a model's answer, whole or streamed, as what it decided, in short form.

    Ids, token counts, times and reasoning are left out. An answer in a format of the agent's own stays as it is.
    """
    if is_call(answer):
        return answer
    read = reading.read(answer)
    if not read.known:
        return answer
    parts: list[Json] = [read.text] if read.text else []
    parts += [{"tool": call.name, "arguments": call.arguments} for call in read.calls]
    return parts[0] if len(parts) == 1 else parts or ""


def is_short(action: Json) -> bool:
    """Say whether an action is text, a tool call in short form, or a list of those."""
    if isinstance(action, list):
        return bool(action) and all(isinstance(part, str) or is_call(part) for part in action)
    return isinstance(action, str) or is_call(action)


def is_call(part: Json) -> bool:
    """Say whether a part of an action is a tool call in short form."""
    return isinstance(part, dict) and isinstance(part.get("tool"), str) and set(part) <= {"tool", "arguments"}


def same_action(a: Json, b: Json) -> bool:
    """Say whether two actions decide the same: space at the ends, and a code fence around the whole, decide nothing."""
    return canonical.canonical(_bare(short_form(a))) == canonical.canonical(_bare(short_form(b)))


def key_of(action: Json) -> str:
    """Name an action: actions that decide the same have one name."""
    return canonical.digest(_bare(short_form(action)))


def readable(action: Json) -> str:
    """Write an action for a reader: text as it is, a call as ``tool(name=value)``."""
    parts = short_form(action)
    if isinstance(parts, list) and is_short(parts):
        return "\n".join(readable(part) for part in parts)
    if isinstance(parts, str):
        return parts
    if is_call(parts):
        arguments = parts.get("arguments", {})
        if not isinstance(arguments, dict):
            return f"{parts['tool']}({json.dumps(arguments, ensure_ascii=False)})"
        named = ", ".join(f"{name}={json.dumps(value, ensure_ascii=False)}" for name, value in arguments.items())
        return f"{parts['tool']}({named})"
    return json.dumps(parts, indent=2, ensure_ascii=False)


def without_fence(text: str) -> str:
    """Take the code out of a fence that holds the whole text."""
    match = _FENCE.fullmatch(text)
    return match.group(1) if match and "```" not in match.group(1) else text


def _bare(action: Json) -> Json:
    if isinstance(action, str):
        return without_fence(action).strip()
    if isinstance(action, list):
        bare = [_bare(part) for part in action]
        kept = [part for part in bare if part != ""]
        return kept[0] if len(kept) == 1 else kept
    if is_call(action):
        return {"tool": action["tool"], "arguments": action.get("arguments", {})}
    return action
