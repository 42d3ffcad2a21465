"""An action written in the format of the answer that it stands for."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from butfor.errors import InputError
from butfor.replay.reading import is_chunk, merge_chunks

if TYPE_CHECKING:
    from butfor.canonical import Json


def write_action(recorded: Json, action: Json) -> Json:
    """Write an action in the format of the recorded answer.

    Args:
        recorded: The recorded answer.
        action: Text, ``{"tool", "arguments"}``, a list of those, or a whole answer, which is kept as it is.

    Raises:
        InputError: The recorded format is not one in which a short action can be written.
    """
    short = action if isinstance(action, list) else [action]
    if isinstance(recorded, str) and isinstance(action, str):
        return action
    if isinstance(recorded, list) and isinstance(action, list) and not any(_is_tool(part) for part in action):
        return action  # the chunks of a whole stream
    if not short or not all(isinstance(part, str) or _is_tool(part) for part in short):
        return action
    text = "\n".join(part for part in short if isinstance(part, str)) or None
    calls = [part for part in short if not isinstance(part, str)]
    if _is_tool(recorded) and len(short) == 1:
        return action  # an agent whose own format is this one
    if isinstance(recorded, dict) and "status" in recorded and isinstance(recorded.get("body"), dict):
        return recorded | {"status": 200, "body": write_action(recorded["body"], action)}
    if isinstance(recorded, dict) and "status" in recorded and (whole := _whole_of(recorded.get("events"))):
        # The transport sends a whole answer as a stream where a stream is asked for.
        return {"status": 200, "body": write_action(whole, action)}
    if isinstance(recorded, dict) and isinstance(recorded.get("choices"), list) and recorded["choices"]:
        choice = recorded["choices"][0] | {
            "message": _message(text, calls),
            "finish_reason": "tool_calls" if calls else "stop",
        }
        return recorded | {"choices": [choice]}
    if isinstance(recorded, dict) and isinstance(recorded.get("output"), list):
        return recorded | {"output": _items(text, calls)}
    if isinstance(recorded, dict) and isinstance(recorded.get("content"), list) and recorded.get("role") == "assistant":
        return recorded | {"content": _blocks(text, calls), "stop_reason": "tool_use" if calls else "end_turn"}
    if isinstance(recorded, dict) and (recorded.get("role") == "assistant" or "tool_calls" in recorded):
        return _message(text, calls)
    stream = _write_stream(recorded, text, calls) if isinstance(recorded, list) else None
    if stream is not None:
        return stream
    raise InputError(
        "the recorded answer is in a format of the agent's own, so the action must be a whole answer in that format"
    )


def _whole_of(events: Json) -> Json:
    """Join a streamed chat completion; None where the events are something else."""
    chunks = [event for event in events or () if isinstance(event, dict)]
    if not chunks or not isinstance(chunks[0].get("choices"), list):
        return None
    return chunks[0] | {"object": "chat.completion"} | merge_chunks(chunks)


def _is_tool(part: Json) -> bool:
    return isinstance(part, dict) and set(part) <= {"tool", "arguments"} and isinstance(part.get("tool"), str)


def _message(text: str | None, calls: list[Json]) -> Json:
    message: dict[str, Json] = {"role": "assistant", "content": text}
    if calls:
        message["tool_calls"] = [
            {
                "id": f"call_do_{i}",
                "type": "function",
                "function": {"name": call["tool"], "arguments": json.dumps(call.get("arguments", {}))},
            }
            for i, call in enumerate(calls)
        ]
    return message


def _items(text: str | None, calls: list[Json]) -> list[Json]:
    """Write the output items of a Responses answer."""
    said: Json = {"type": "output_text", "text": text, "annotations": []}
    message = {"type": "message", "id": "msg_do", "role": "assistant", "status": "completed", "content": [said]}
    return [
        *([] if text is None else [message]),
        *(
            {
                "type": "function_call",
                "id": f"fc_do_{i}",
                "call_id": f"call_do_{i}",
                "name": call["tool"],
                "arguments": json.dumps(call.get("arguments", {})),
                "status": "completed",
            }
            for i, call in enumerate(calls)
        ),
    ]


def _blocks(text: str | None, calls: list[Json]) -> list[Json]:
    """Write the content blocks of an Anthropic answer."""
    said: list[Json] = [] if text is None else [{"type": "text", "text": text}]
    used = (
        {"type": "tool_use", "id": f"toolu_do_{i}", "name": call["tool"], "input": call.get("arguments", {})}
        for i, call in enumerate(calls)
    )
    return [*said, *used]


def _write_stream(recorded: list[Json], text: str | None, calls: list[Json]) -> list[Json] | None:
    """Write an action as the only chunk of a stream; None where the chunks are of the agent's own format."""
    if recorded and is_chunk(recorded[0]):
        delta = _message(text, calls)
        for i, call in enumerate(delta.get("tool_calls") or ()):
            call["index"] = i
        choice = {"index": 0, "delta": delta, "finish_reason": "tool_calls" if calls else "stop"}
        return [recorded[0] | {"choices": [choice]}]
    if not calls and all(isinstance(chunk, str) for chunk in recorded):
        return [text]
    return None
