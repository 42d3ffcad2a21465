"""Attributes of OpenInference: a span kind, and messages flattened into keys with indices."""

from __future__ import annotations

from typing import TYPE_CHECKING

from butfor.importers.assembly import decided_of
from butfor.importers.dialects import chat
from butfor.importers.fields import mapping
from butfor.importers.flattened import numbered, unflatten
from butfor.importers.parsing import unpacked
from butfor.importers.requests import sampling_of
from butfor.importers.spans import Kind
from butfor.importers.tally import Ignored
from butfor.runs import EMPTY_OBJECT, Sampling, Usage

if TYPE_CHECKING:
    from butfor.canonical import Json
    from butfor.importers.fields import Fields
    from butfor.importers.spans import Span

_KINDS = {"LLM": Kind.MODEL, "TOOL": Kind.TOOL, "AGENT": Kind.AGENT, "CHAIN": Kind.OTHER, "EVALUATOR": Kind.JUDGE}
_TOKENS = "llm.token_count."


def is_present(attributes: dict[str, Json]) -> bool:
    """Say whether a span has attributes of this convention."""
    return "openinference.span.kind" in attributes or any(
        key.startswith(("llm.input_messages.", "llm.output_messages.")) for key in attributes
    )


def decode(span: Span, fields: Fields) -> None:
    """Fill what a span does not know yet from its attributes."""
    declared = fields.text("openinference.span.kind")
    kind = _KINDS.get((declared or "").upper(), Kind.MODEL if declared is None else Kind.OTHER)
    if declared is not None and declared.upper() not in _KINDS:
        span.ignored.add(f"span of kind {declared}")
        fields.rest()
    span.kind = kind if span.kind is Kind.OTHER else span.kind
    span.session = span.session or fields.text("session.id")
    node = fields.text("agent.name", "graph.node.id")
    span.agent = span.agent or node or (span.name if span.kind is Kind.AGENT else None)
    fields.known(
        "metadata", "user.id", "input.mime_type", "output.mime_type", "graph.node.name", "graph.node.parent_id"
    )
    fields.known("tool.description", "tool.parameters", "llm.system", "tag.tags")
    given, returned = fields.take("input.value"), fields.take("output.value")
    if span.kind is Kind.MODEL:
        _model(span, fields)
    elif span.kind is Kind.TOOL:
        span.name = fields.text("tool.name", "tool_call.function.name") or span.name
        span.call_id = span.call_id or fields.text("tool.id", "tool_call.id")
        span.arguments = span.arguments if span.arguments is not None else unpacked(given)
        span.result = span.result if span.result is not None else _result(returned, span)
    else:
        for prefix in ("llm.input_messages", "llm.output_messages"):
            unflatten(fields, prefix)  # the model span below has them in full
        span.given = span.given if span.given is not None else _task(unpacked(given))
        span.returned = span.returned if span.returned is not None else _final(unpacked(returned))


def _model(span: Span, fields: Fields) -> None:
    asked = [_message(each) for each in unflatten(fields, "llm.input_messages")]
    answered = [_message(each) for each in unflatten(fields, "llm.output_messages")]
    if asked and span.messages is None:
        span.messages = asked
    if answered and span.decided is None:
        span.decided = decided_of([chat.entry({"role": "assistant"} | answered[0], span.ignored)])
        span.ignored.update({"choices beyond the first": len(answered) - 1} if len(answered) > 1 else {})
    definitions = [unpacked(mapping(mapping(each).get("tool")).get("json_schema")) for each in _tools(fields)]
    if definitions and span.tools is None:
        span.tools = chat.tools(definitions)
    parameters = mapping(unpacked(fields.take("llm.invocation_parameters")))
    name = fields.text("llm.model_name", "llm.request.model_name", "llm.response.model_name")
    provider = fields.text("llm.provider")
    if span.tools is None and isinstance(parameters.get("tools"), list):
        span.tools = chat.tools(parameters["tools"])
    said = sampling_of(({"model": name} if name else {}) | parameters, Ignored(), provider=provider)
    span.sampling = span.sampling.model_copy(update=_unknown(span.sampling, said))
    counted = Usage(
        prompt_tokens=fields.whole(f"{_TOKENS}prompt"),
        completion_tokens=fields.whole(f"{_TOKENS}completion"),
        cached_tokens=fields.whole(f"{_TOKENS}prompt_details.cache_read"),
        cost_usd=fields.real("llm.cost.total"),
    )
    span.usage = span.usage.model_copy(update=_unknown(span.usage, counted))
    fields.known(f"{_TOKENS}total", f"{_TOKENS}completion_details.reasoning", "llm.finish_reason")


def _unknown(known: Sampling | Usage, said: Sampling | Usage) -> dict[str, Json]:
    """Return what one vocabulary says and the other, read before it, left open."""
    names = type(known).model_fields
    return {name: getattr(said, name) for name in names if getattr(known, name) in (None, EMPTY_OBJECT)}


def _tools(fields: Fields) -> list[Json]:
    return unflatten(fields, "llm.tools")


def _message(item: Json) -> dict[str, Json]:
    """Turn one unflattened message into a Chat Completions one."""
    held = mapping(mapping(item).get("message"))
    message: dict[str, Json] = {"role": held.get("role", "assistant"), "content": held.get("content")}
    blocks = [mapping(mapping(each).get("message_content")) for each in numbered(held.get("contents"))]
    if blocks and message["content"] is None:
        texts = [block.get("text") for block in blocks if block.get("type") == "text"]
        message["content"] = texts[0] if len(texts) == len(blocks) == 1 else blocks
    calls = [_call(mapping(mapping(each).get("tool_call"))) for each in numbered(held.get("tool_calls"))]
    legacy = {"name": held.get("function_call_name"), "arguments": held.get("function_call_arguments_json")}
    if legacy["name"] is not None:
        calls.append({"type": "function", "function": legacy})
    optional = {"tool_calls": calls or None, "tool_call_id": held.get("tool_call_id"), "name": held.get("name")}
    return message | {key: value for key, value in optional.items() if value is not None}


def _call(held: dict[str, Json]) -> Json:
    function = mapping(held.get("function"))
    return {
        "id": held.get("id"),
        "type": "function",
        "function": {"name": function.get("name"), "arguments": function.get("arguments", "{}")},
    }


def _result(returned: Json, span: Span) -> Json:
    """Return what a tool returned; LangChain's instrumentation wraps it in a serialised ToolMessage."""
    value = unpacked(returned)
    data = mapping(mapping(value).get("data"))
    if mapping(value).get("type") == "tool" and "content" in data:
        span.call_id = span.call_id or (data["tool_call_id"] if isinstance(data.get("tool_call_id"), str) else None)
        span.is_error = span.is_error or data.get("status") == "error"
        return data["content"]
    return returned


def _task(given: Json) -> Json:
    messages = mapping(given).get("messages")
    if isinstance(messages, list) and len(messages) == 1:
        return mapping(messages[0]).get("content", given)
    return given


def _final(returned: Json) -> Json:
    """Return the last message's text where a root span returned a whole list of messages."""
    messages = mapping(returned).get("messages")
    if isinstance(messages, list) and messages:
        last = mapping(messages[-1])
        content = mapping(last.get("data")).get("content", last.get("content"))
        return returned if content is None else content
    return returned
