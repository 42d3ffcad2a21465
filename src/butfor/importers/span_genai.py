"""Attributes of the OpenTelemetry GenAI conventions, of every version and of the dialects before them."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from butfor.importers.assembly import decided_of
from butfor.importers.dialects import chat, genai
from butfor.importers.entries import to_chat
from butfor.importers.fields import kept, listing, mapping, whole
from butfor.importers.flattened import unflatten
from butfor.importers.parsing import unpacked
from butfor.importers.spans import Kind
from butfor.runs import Sampling, Usage

if TYPE_CHECKING:
    from butfor.canonical import Json
    from butfor.importers.entries import Entry
    from butfor.importers.fields import Fields
    from butfor.importers.spans import Span

_KINDS = {
    "chat": Kind.MODEL,
    "text_completion": Kind.MODEL,
    "generate_content": Kind.MODEL,
    "execute_tool": Kind.TOOL,
    "invoke_agent": Kind.AGENT,
    "invoke_workflow": Kind.AGENT,
    "create_agent": Kind.OTHER,
}
_TRACELOOP = {"workflow": Kind.AGENT, "agent": Kind.AGENT, "tool": Kind.TOOL}
_SAMPLING = re.compile(r"gen_ai\.request\.(?:top_k|stop_sequences|frequency_penalty|presence_penalty|choice\.count)$")


def is_present(attributes: dict[str, Json]) -> bool:
    """Say whether a span has attributes of these conventions."""
    return any(key.startswith(("gen_ai.", "traceloop.", "llm.request.")) for key in attributes)


def decode(span: Span, fields: Fields) -> None:
    """Fill a span from its attributes."""
    span.kind = _kind(fields)
    span.agent = fields.text("gen_ai.agent.name", "gen_ai.workflow.name", "agent_name", "traceloop.entity.name")
    span.session = fields.text("gen_ai.conversation.id", "session.id", "traceloop.association.properties.session_id")
    # What the spans below say again, and what a producer's own viewer needs.
    fields.known("logfire.msg", "logfire.json_schema", "gen_ai.agent.call.id", "model_request_parameters", "model_name")
    fields.known(
        "gen_ai.system", "gen_ai.tool.type", "gen_ai.tool.description", "gen_ai.agent.id", "gen_ai.output.type"
    )
    if span.kind is Kind.MODEL:
        _model(span, fields)
    elif span.kind is Kind.TOOL:
        _tool(span, fields)
    else:
        _around(span, fields)


def complete(span: Span, fields: Fields) -> None:
    """Fill in the messages of a model span from attributes that came separately, as log records do."""
    if span.kind is Kind.MODEL:
        _content(span, fields)
    fields.close()


def add_event(attributes: dict[str, Json], name: str, held: dict[str, Json]) -> None:
    """Turn an event into the attributes that it replaces: one with everything, or one for each message."""
    if name in ("gen_ai.user.message", "gen_ai.system.message", "gen_ai.assistant.message", "gen_ai.tool.message"):
        role = name.split(".")[1]
        message = {key.removeprefix("gen_ai.event."): unpacked(value) for key, value in held.items()}
        if "id" in message:
            message["tool_call_id"] = message.pop("id")
        attributes.setdefault("gen_ai.events.input", []).append({"role": role} | message)
    elif name == "gen_ai.choice":
        message = mapping(unpacked(held.get("message", held)))
        attributes.setdefault("gen_ai.events.output", []).append({"role": "assistant"} | message)
    elif name in ("gen_ai.content.prompt", "gen_ai.content.completion"):
        end = "input" if name.endswith("prompt") else "output"
        for value in held.values():
            attributes.setdefault(f"gen_ai.events.{end}", []).extend(_listed(unpacked(value), end))
    else:
        for key, value in held.items():
            attributes.setdefault(key, value)


def _listed(value: Json, end: str) -> list[Json]:
    if isinstance(value, list):
        return value
    if isinstance(value, dict) and isinstance(value.get("messages"), list):
        return list(value["messages"])
    return [value if isinstance(value, dict) else {"role": "user" if end == "input" else "assistant", "content": value}]


def _kind(fields: Fields) -> Kind:
    operation = fields.text("gen_ai.operation.name")
    if operation in _KINDS:
        return _KINDS[operation]
    loop = fields.text("traceloop.span.kind")
    if loop in _TRACELOOP:
        return _TRACELOOP[loop]
    keys = fields.value.keys()
    if any(key.startswith(("gen_ai.input.messages", "gen_ai.prompt", "gen_ai.completion")) for key in keys):
        return Kind.MODEL
    if "gen_ai.request.model" in keys and operation is None:
        return Kind.MODEL
    return Kind.TOOL if "gen_ai.tool.name" in keys and "gen_ai.tool.call.arguments" in keys else Kind.OTHER


def _model(span: Span, fields: Fields) -> None:
    _content(span, fields)
    provider = fields.text("gen_ai.provider.name", "gen_ai.system")
    response = fields.text("gen_ai.response.model")
    extra = {key.rsplit(".", 1)[1]: fields.take(key) for key in list(fields.value) if _SAMPLING.match(key)}
    span.sampling = Sampling(
        model=fields.text("gen_ai.request.model", "llm.request.model") or response,
        provider=provider,
        temperature=fields.real("gen_ai.request.temperature", "llm.temperature"),
        top_p=fields.real("gen_ai.request.top_p", "llm.top_p"),
        seed=fields.whole("gen_ai.request.seed"),
        max_tokens=fields.whole("gen_ai.request.max_tokens", "llm.request.max_tokens"),
        extra=kept(extra),
    )
    span.usage = Usage(
        prompt_tokens=fields.whole("gen_ai.usage.input_tokens", "gen_ai.usage.prompt_tokens"),
        completion_tokens=fields.whole("gen_ai.usage.output_tokens", "gen_ai.usage.completion_tokens"),
        cached_tokens=fields.whole("gen_ai.usage.cache_read.input_tokens"),
        cost_usd=fields.real("operation.cost", "gen_ai.usage.cost"),
    )
    fields.known("gen_ai.response.id", "gen_ai.response.finish_reasons", "gen_ai.request.stream", "llm.request.type")
    fields.known("gen_ai.usage.cache_creation.input_tokens", "gen_ai.usage.reasoning.output_tokens")
    fields.known("server.address", "server.port", "llm.usage.total_tokens")


def _content(span: Span, fields: Fields) -> None:
    asked = _messages(fields, "input", "gen_ai.prompt")
    system = genai.instructions(fields.take("gen_ai.system_instructions"))
    if asked is not None:
        span.messages = to_chat([*system, *genai.entries(asked, span.ignored)])
    elif system:
        span.ignored.add("system instructions without messages")
    answered = _messages(fields, "output", "gen_ai.completion")
    if answered is not None:
        answered = [unpacked(message) for message in answered]
        span.decided = decided_of(_as_assistant(genai.entries(answered, span.ignored), answered, span))
    tools = fields.take("gen_ai.tool.definitions")
    functions = unflatten(fields, "llm.request.functions")
    if tools is not None or functions:
        span.tools = chat.tools(unpacked(tools)) if tools is not None else chat.tools(functions)


def _as_assistant(entries: list[Entry], messages: list[Json], span: Span) -> list[Entry]:
    """Read output messages that name no role, or another one, as what the model said."""
    if len(messages) > 1:
        span.ignored.add("choices beyond the first", len(messages) - 1)
        entries = entries[:1]
    named = mapping(messages[0] if messages else None)
    if named.get("role") == "assistant":
        return entries
    return genai.entries([named | {"role": "assistant"}], span.ignored)


def _messages(fields: Fields, end: str, flat: str) -> list[Json] | None:
    """Return the messages of one end from whichever spelling is there."""
    events = fields.take(f"gen_ai.events.{end}")
    whole_list = unpacked(fields.first(f"gen_ai.{end}.messages", f"pydantic_ai.{end}_messages"))
    flattened = unflatten(fields, flat)
    plain = fields.take(flat)
    if isinstance(whole_list, list):
        return whole_list
    if isinstance(whole_list, str):
        return _listed(whole_list, end)
    if flattened:
        return [_numbered_calls(each) for each in flattened]
    if plain is not None:
        return _listed(unpacked(plain), end)
    return events if isinstance(events, list) else None


def _numbered_calls(message: Json) -> Json:
    """Turn ``tool_calls: {"0": …}`` of a flattened message into a list."""
    held = mapping(message)
    calls = held.get("tool_calls")
    if isinstance(calls, dict):
        numbers = sorted((whole(key) or 0, key) for key in calls)
        return held | {"tool_calls": [calls[key] for _, key in numbers]}
    return held


def _tool(span: Span, fields: Fields) -> None:
    span.name = fields.text("gen_ai.tool.name", "traceloop.entity.name", "tool_name") or span.name
    span.call_id = fields.text("gen_ai.tool.call.id")
    span.arguments = unpacked(fields.first("gen_ai.tool.call.arguments", "tool_arguments", "traceloop.entity.input"))
    span.result = fields.first("gen_ai.tool.call.result", "tool_response", "traceloop.entity.output")
    error = fields.first("error.type", "exception.message")
    span.is_error = span.is_error or error is not None
    if span.result is None and error is not None:
        span.result = fields.value.get("exception.message") or error


def _around(span: Span, fields: Fields) -> None:
    asked = unpacked(fields.first("gen_ai.input.messages", "traceloop.entity.input"))
    answered = unpacked(fields.first("gen_ai.output.messages", "traceloop.entity.output"))
    final = fields.take("final_result")
    span.given = _words(asked, span)
    span.returned = final if final is not None else _words(answered, span)
    fields.known("pydantic_ai.all_messages", "gen_ai.aggregated_usage.input_tokens", "pydantic_ai.new_message_index")
    fields.known("gen_ai.aggregated_usage.output_tokens", "gen_ai.tool.definitions", "gen_ai.system_instructions")
    fields.known("gen_ai.provider.name", "gen_ai.request.model", "gen_ai.response.model")


def _words(messages: Json, span: Span) -> Json:
    """Return what a list of messages says where it is one plain text, else the list."""
    entries = genai.entries(messages, span.ignored) if isinstance(messages, list) else []
    contents = [mapping(message).get("content") for message in to_chat(entries)]
    said = [content for content in contents if content is not None]
    if len(said) == 1:
        return said[0]
    return messages if not said else listing(said)
