"""The documented schema of each training format, checked row by row and file by file.

Reference: TRL's page "Dataset formats and types" (preference, unpaired preference, conversational, tool calling);
OpenAI's guide "Direct preference optimization" and the API reference's preference input.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from butfor.errors import InputError
from butfor.repairs.pairs.pair import bare

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from butfor.canonical import Json
    from butfor.repairs.pairs.formats import Format, Row

_NAME = re.compile(r"[A-Za-z0-9_-]{1,64}")
# Lists, not sets: what a damaged row holds may not be hashable.
_ROLES = {
    "trl": ["system", "user", "assistant", "tool"],
    "openai": ["system", "developer", "user", "assistant", "tool"],
}


@dataclass(frozen=True, kw_only=True)
class Problem:
    """Something in a file that its format does not allow.

    Attributes:
        line: From 1; 0 where no line of its own is meant.
        field: Path of the field, such as ``chosen[0].content``.
        what: What is wrong with it.
    """

    line: int
    field: str
    what: str

    def __str__(self) -> str:
        return f"line {self.line}, {self.field}: {self.what}"


def problems_of(row: Json, name: Format, *, line: int = 0) -> list[Problem]:
    """Hold one row against the schema of a format."""
    if not isinstance(row, dict):
        return [Problem(line=line, field="$", what=f"it is {_kind(row)}, not an object")]
    return [Problem(line=line, field=field, what=what) for field, what in _CHECKS[name](row)]


def format_of(row: Json) -> Format:
    """Tell the format of a row by its fields.

    Raises:
        InputError: It is none of ours.
    """
    fields = set(row) if isinstance(row, dict) else set()
    if {"preferred_output", "non_preferred_output"} & fields:
        return "openai"
    if {"completion", "label"} & fields:
        return "trl-kto"
    if "prompt" in fields:
        return "trl-dpo"
    if {"chosen", "rejected"} & fields:
        return "trl-reward"
    raise InputError("the first row is of no known format", fix="name it with --format")


def _dpo(row: Row) -> Iterator[tuple[str, str]]:
    yield from _missing(row, "prompt", "chosen", "rejected")
    yield from _messages(row, "prompt", "trl")
    yield from _goes_on(row)
    for field in ("chosen", "rejected"):
        yield from _messages(row, field, "trl")
        yield from _answers(row, field)
    yield from _differ(row, "chosen", "rejected")
    yield from _tools_text(row)


def _kto(row: Row) -> Iterator[tuple[str, str]]:
    yield from _missing(row, "prompt", "completion", "label")
    yield from _messages(row, "prompt", "trl")
    yield from _goes_on(row)
    yield from _messages(row, "completion", "trl")
    yield from _answers(row, "completion")
    if "label" in row and not isinstance(row["label"], bool):
        yield "label", f"it is {_kind(row['label'])}, not true or false"
    yield from _tools_text(row)


def _reward(row: Row) -> Iterator[tuple[str, str]]:
    yield from _missing(row, "chosen", "rejected")
    for field in ("chosen", "rejected"):
        yield from _messages(row, field, "trl")
    yield from _differ(row, "chosen", "rejected")
    yield from _tools_text(row)
    good, bad = row.get("chosen"), row.get("rejected")
    if not (isinstance(good, list) and isinstance(bad, list) and good and bad):
        return
    if _text(good[:-1]) != _text(bad[:-1]):
        yield "rejected", "its messages before the last are not those of chosen: the two share no exact prompt"
    for field in ("chosen", "rejected"):
        if isinstance(row[field][-1], dict) and row[field][-1].get("role") != "assistant":
            yield f"{field}[{len(row[field]) - 1}].role", "the last message is not the assistant's"
        if len(row[field]) < 2:
            yield field, "it holds no prompt before the answer"


def _openai(row: Row) -> Iterator[tuple[str, str]]:
    yield from _missing(row, "input", "preferred_output", "non_preferred_output")
    yield from _unknown(row, "", {"input", "preferred_output", "non_preferred_output"})
    for field in ("preferred_output", "non_preferred_output"):
        yield from _messages(row, field, "openai")
        yield from _answers(row, field)
        if isinstance(row.get(field), list) and len(row[field]) > 1:
            yield field, f"it holds {len(row[field])} messages; one is allowed"
    yield from _differ(row, "preferred_output", "non_preferred_output")
    given = row.get("input")
    if not isinstance(given, dict):
        if "input" in row:
            yield "input", f"it is {_kind(given)}, not an object"
        return
    yield from _missing(given, "messages", within="input.")
    yield from _unknown(given, "input.", {"messages", "tools", "parallel_tool_calls"})
    yield from _messages(given, "messages", "openai", within="input.")
    if "tools" in given:
        yield from _tools(given["tools"], "input.tools", strict=True)
    if "parallel_tool_calls" in given and not isinstance(given["parallel_tool_calls"], bool):
        yield "input.parallel_tool_calls", "it is not true or false"


_CHECKS: dict[Format, Callable[[Row], Iterator[tuple[str, str]]]] = {
    "trl-dpo": _dpo,
    "trl-kto": _kto,
    "trl-reward": _reward,
    "openai": _openai,
}


def _missing(row: Row, *fields: str, within: str = "") -> Iterator[tuple[str, str]]:
    for field in fields:
        if field not in row:
            yield f"{within}{field}", "it is missing"


def _unknown(row: Row, within: str, known: set[str]) -> Iterator[tuple[str, str]]:
    for field in sorted(set(row) - known):
        yield f"{within}{field}", "the format knows no such field"


def _messages(row: Row, field: str, dialect: str, within: str = "") -> Iterator[tuple[str, str]]:
    if field not in row:
        return
    messages, path = row[field], f"{within}{field}"
    if not isinstance(messages, list) or not messages:
        yield path, "it is not a list of one or more messages"
        return
    open_calls: list[Json] = []
    for i, message in enumerate(messages):
        yield from _message(message, f"{path}[{i}]", dialect)
        if isinstance(message, dict) and field not in ("completion", "chosen", "rejected"):
            answered = message.get("tool_call_id")
            if message.get("role") == "tool" and answered not in open_calls:
                yield f"{path}[{i}].tool_call_id", f"no earlier message made the call {answered!r}"
            open_calls += [each.get("id") for each in _calls_of(message)]


def _message(message: Json, path: str, dialect: str) -> Iterator[tuple[str, str]]:
    if not isinstance(message, dict):
        yield path, f"it is {_kind(message)}, not an object"
        return
    if message.get("role") not in _ROLES[dialect]:
        yield f"{path}.role", f"{message.get('role')!r} is no role"
    calls, content = message.get("tool_calls"), message.get("content")
    if not isinstance(content, str) and not (content is None and calls):
        yield f"{path}.content", f"it is {_kind(content)}, not text"
    if calls is None:
        return
    if message.get("role") != "assistant":
        yield f"{path}.tool_calls", "only the assistant calls tools"
    if not isinstance(calls, list) or not calls:
        yield f"{path}.tool_calls", "it is not a list of one or more calls"
        return
    for i, call in enumerate(calls):
        yield from _call(call, f"{path}.tool_calls[{i}]", dialect)


def _call(call: Json, path: str, dialect: str) -> Iterator[tuple[str, str]]:
    told = call.get("function") if isinstance(call, dict) else None
    if not isinstance(told, dict) or call.get("type") != "function":
        yield path, "it is not a call of a function"
        return
    if not isinstance(told.get("name"), str) or not told["name"]:
        yield f"{path}.function.name", "it is not text"
    elif dialect == "openai" and not _NAME.fullmatch(told["name"]):
        yield f"{path}.function.name", f"{told['name']!r} is not 1 to 64 letters, digits, _ and -"
    if dialect == "openai" and not isinstance(call.get("id"), str):
        yield f"{path}.id", "it is not text"
    arguments = told.get("arguments")
    if dialect == "trl" and not isinstance(arguments, dict):
        yield f"{path}.function.arguments", f"it is {_kind(arguments)}, not an object, as chat templates read it"
    if dialect == "openai" and not _is_object_text(arguments):
        yield f"{path}.function.arguments", "it is not the JSON text of an object"


def _answers(row: Row, field: str) -> Iterator[tuple[str, str]]:
    messages = row.get(field)
    first = messages[0] if isinstance(messages, list) and messages else None
    if isinstance(first, dict) and first.get("role") != "assistant":
        yield f"{field}[0].role", "the answer is not the assistant's"


def _goes_on(row: Row) -> Iterator[tuple[str, str]]:
    """Find a prompt that ends elsewhere than where the assistant's turn begins: TRL refuses it."""
    prompt = row.get("prompt")
    last = prompt[-1] if isinstance(prompt, list) and prompt else None
    if isinstance(last, dict) and last.get("role") not in ("user", "tool"):
        yield f"prompt[{len(prompt or []) - 1}].role", "the prompt ends with neither a user nor a tool"


def _differ(row: Row, good: str, bad: str) -> Iterator[tuple[str, str]]:
    if good in row and bad in row and _said(row[good]) == _said(row[bad]):
        yield bad, f"it says the same as {good}"


def _said(messages: Json) -> Json:
    try:
        return [bare(each) for each in messages]
    except (TypeError, KeyError, AttributeError):
        return _text(messages)


def _tools_text(row: Row) -> Iterator[tuple[str, str]]:
    tools = row.get("tools")
    if tools is None:
        return
    if isinstance(tools, str):
        try:
            tools = json.loads(tools)
        except ValueError:
            yield "tools", "it is text, but not JSON"
            return
    yield from _tools(tools, "tools", strict=False)


def _tools(tools: Json, path: str, *, strict: bool) -> Iterator[tuple[str, str]]:
    if not isinstance(tools, list):
        yield path, f"it is {_kind(tools)}, not a list"
        return
    for i, tool in enumerate(tools):
        told = tool.get("function") if isinstance(tool, dict) else None
        if not isinstance(told, dict) or tool.get("type") != "function" or not isinstance(told.get("name"), str):
            yield f"{path}[{i}]", "it is no function with a name"
        elif strict and not _NAME.fullmatch(told["name"]):
            yield f"{path}[{i}].function.name", f"{told['name']!r} is not 1 to 64 letters, digits, _ and -"
        elif not isinstance(told.get("parameters", {}), dict):
            yield f"{path}[{i}].function.parameters", "it is no JSON Schema"


def _calls_of(message: dict[str, Any]) -> list[dict[str, Any]]:
    calls = message.get("tool_calls")
    return [each for each in calls if isinstance(each, dict)] if isinstance(calls, list) else []


def _is_object_text(value: Json) -> bool:
    try:
        return isinstance(value, str) and isinstance(json.loads(value), dict)
    except ValueError:
        return False


def _kind(value: Json) -> str:
    names = {dict: "an object", list: "a list", str: "text", bool: "true or false", type(None): "null"}
    return names.get(type(value), "a number")


def _text(value: Json) -> str:
    return json.dumps(value, sort_keys=True)
