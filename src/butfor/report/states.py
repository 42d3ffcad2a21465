"""The state that a step decided from, read as a chat, with what entered it since the step before."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from butfor.report.visible import readable_json
from butfor.runs.requests import common_prefix

if TYPE_CHECKING:
    from collections.abc import Sequence

    from butfor.canonical import Json

KEPT_BEFORE = 1
"""Earlier messages that are shown again before the new ones, so that the new ones have a context. A constant: showing
the whole history at every step would make the page of n steps O(n²)."""

_FLANK = 160
"""Characters of unchanged text that are shown on either side of a change inside one long message."""


@dataclass(frozen=True, kw_only=True)
class Message:
    """One message of a request, as text.

    Attributes:
        role: system, user, assistant, tool, or what the format calls it.
        text: What it says; tool calls are written as calls.
    """

    role: str
    text: str


@dataclass(frozen=True, kw_only=True)
class Shown:
    """A message as the page shows it.

    Attributes:
        role: Who speaks.
        pieces: (text, whether it entered since the step before), in order.
        is_new: Whether anything in it entered since the step before.
    """

    role: str
    pieces: tuple[tuple[str, bool], ...]
    is_new: bool


@dataclass(frozen=True, kw_only=True)
class State:
    """What a step decided from.

    Attributes:
        known: Whether the request is known at all.
        total: Messages in the request.
        unchanged: Of those, how many an earlier step of the lane saw already and are not shown again.
        seen_at: The step whose state is compared with; None at the first of a lane.
        messages: The new messages, after the last of the earlier ones.
        tools: Names of the tools that were offered.
        sampling: The other parameters of the request, one `name = value` each.
    """

    known: bool
    total: int = 0
    unchanged: int = 0
    seen_at: int | None = None
    messages: tuple[Shown, ...] = ()
    tools: tuple[str, ...] = ()
    sampling: tuple[str, ...] = ()


UNKNOWN = State(known=False)


@dataclass(frozen=True, kw_only=True)
class Request:
    """A request taken apart: messages, tools, and the rest."""

    messages: tuple[Message, ...]
    tools: tuple[str, ...]
    sampling: tuple[str, ...]


def read_request(request: Json) -> Request:
    """Take a request apart: Chat Completions, Responses, Anthropic Messages, or a dictionary of the agent's own."""
    body = _body(request)
    if not isinstance(body, dict):
        return Request(messages=(Message(role="request", text=readable_json(body)),), tools=(), sampling=())
    history, named = _history(body)
    leading = tuple(
        Message(role="system", text=_text_of(body[key])) for key in ("system", "instructions") if body.get(key)
    )
    rest = {key: value for key, value in body.items() if key not in {named, "system", "instructions", "tools"}}
    if named is None:
        return Request(
            messages=(*leading, Message(role="request", text=readable_json(rest))), tools=_tools(body), sampling=()
        )
    plain = tuple(f"{key} = {readable_json(value, indent=None)}" for key, value in rest.items() if value is not None)
    return Request(messages=(*leading, *map(_message, history)), tools=_tools(body), sampling=plain)


def compare(now: Request, before: Request | None, *, seen_at: int | None) -> State:
    """Show a request, marking what an earlier one did not hold.

    Messages are matched by content wherever they stand, so a history that was shortened at its front marks nothing;
    a message that stands in the same place with the same role but another text is marked only where it differs.
    """
    if before is None:
        # Where everything is new, nothing is worth marking.
        shown = [Shown(role=each.role, pieces=((each.text, False),), is_new=False) for each in now.messages]
        return _state(now, shown, seen_at=None, unchanged=0)
    earlier = before.messages
    left = Counter(earlier)
    shown = []
    for position, message in enumerate(now.messages):
        if left[message] > 0:
            left[message] -= 1
            shown.append(Shown(role=message.role, pieces=((message.text, False),), is_new=False))
        else:
            shown.append(_marked(message, earlier[position] if position < len(earlier) else None))
    kept = _worth_showing(shown)
    return _state(now, kept, seen_at=seen_at, unchanged=len(shown) - len(kept))


def _state(now: Request, shown: Sequence[Shown], *, seen_at: int | None, unchanged: int) -> State:
    return State(
        known=True,
        total=len(now.messages),
        unchanged=unchanged,
        seen_at=seen_at,
        messages=tuple(shown),
        tools=now.tools,
        sampling=now.sampling,
    )


def _worth_showing(shown: Sequence[Shown]) -> list[Shown]:
    first = next((i for i, each in enumerate(shown) if each.is_new), len(shown))
    context = range(max(0, first - KEPT_BEFORE), first)
    return [each for i, each in enumerate(shown) if each.is_new or i in context]


def _marked(message: Message, old: Message | None) -> Shown:
    if old is None or old.role != message.role:
        return Shown(role=message.role, pieces=((message.text, True),), is_new=True)
    head = common_prefix(old.text, message.text)
    most = min(len(old.text), len(message.text)) - head
    tail = common_prefix(old.text[::-1][:most], message.text[::-1][:most])
    if head + tail < len(message.text) // 4:  # hardly anything in common: another message
        return Shown(role=message.role, pieces=((message.text, True),), is_new=True)
    middle = message.text[head : len(message.text) - tail]
    start, end = message.text[:head], message.text[len(message.text) - tail :]
    pieces = (
        (start if len(start) <= 2 * _FLANK else "… " + start[-_FLANK:], False),
        (middle or "(text removed here)", True),
        (end if len(end) <= 2 * _FLANK else end[:_FLANK] + " …", False),
    )
    return Shown(role=message.role, pieces=tuple(piece for piece in pieces if piece[0]), is_new=True)


def _body(request: Json) -> Json:
    """Find the request proper inside a transport's or a call's envelope."""
    body: Any = request
    for inner in ("body", "json", "kwargs"):
        if isinstance(body, dict) and isinstance(body.get(inner), dict) and _history(body[inner])[1]:
            return body[inner]
    if isinstance(body, dict) and isinstance(body.get("args"), list):
        found = next((each for each in body["args"] if isinstance(each, dict) and _history(each)[1]), None)
        if found is not None:
            return found
        lists = [each for each in body["args"] if _is_history(each)]
        if lists:
            return {"messages": lists[0], **(body.get("kwargs") or {})}
    return body


def _history(body: dict[str, Any]) -> tuple[list[Json], str | None]:
    for key in ("messages", "input"):
        if _is_history(body.get(key)):
            return body[key], key
    for key in ("input", "prompt"):
        if isinstance(body.get(key), str):
            return [{"role": "user", "content": body[key]}], key
    return [], None


def _is_history(value: Json) -> bool:
    return isinstance(value, list) and bool(value) and all(isinstance(each, dict) for each in value)


def _message(message: dict[str, Any]) -> Message:
    kind = message.get("type")
    role = str(
        message.get("role") or {"function_call": "assistant", "function_call_output": "tool"}.get(str(kind), kind)
    )
    if kind == "function_call":
        return Message(role=role, text=_call(message))
    if kind == "function_call_output":
        return Message(role=role, text=_text_of(message.get("output")))
    calls = [_call(each.get("function") or each) for each in message.get("tool_calls") or [] if isinstance(each, dict)]
    content = message.get("content")
    said = [] if content in (None, "", []) else [_text_of(content)]
    if not said and not calls:
        # A message of the agent's own kind: everything that it holds, so that nothing the policy saw is hidden.
        said = [readable_json({key: value for key, value in message.items() if key != "role"})]
    return Message(role=role, text="\n".join([*said, *calls]))


def _call(function: dict[str, Any]) -> str:
    arguments = function.get("arguments", function.get("input", {}))
    return f"→ {readable_json(function.get('name'))}({readable_json(arguments, indent=None)})"


def _text_of(content: Json) -> str:
    if isinstance(content, list):
        return "\n".join(_block(each) for each in content)
    return readable_json(content)


def _block(block: Json) -> str:
    if isinstance(block, dict):
        kind = block.get("type")
        if kind == "tool_use":
            return _call(block)
        if kind == "tool_result":
            return _text_of(block.get("content"))
        text = block.get("text") or block.get("thinking")
        if isinstance(text, str):
            return readable_json(text)
    return readable_json(block)


def _tools(body: dict[str, Any]) -> tuple[str, ...]:
    tools = body.get("tools")
    if not isinstance(tools, list):
        return ()
    names = ((each.get("function") or each).get("name") for each in tools if isinstance(each, dict))
    return tuple(readable_json(str(name)) for name in names if name is not None)
