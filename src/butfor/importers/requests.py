"""What a request or response body says of sampling, tools and cost, in any of the three provider dialects."""

from __future__ import annotations

from typing import TYPE_CHECKING

from butfor.importers.fields import Fields, kept, mapping, printable, real, whole
from butfor.runs import EMPTY_OBJECT, Sampling, ToolDefinition, Usage

if TYPE_CHECKING:
    from butfor.canonical import Json
    from butfor.importers.tally import Ignored

CONTENT = frozenset({"messages", "input", "system", "instructions", "tools", "functions", "metadata", "user", "stream"})
"""Keys of a body that are content, not sampling."""


def sampling_of(body: dict[str, Json], ignored: Ignored, *, provider: str | None = None) -> Sampling:
    """Read the sampling parameters of a request body."""
    fields = Fields(body, ignored, "request")
    fields.known(*CONTENT)
    return Sampling(
        model=fields.text("model", "model_name"),
        provider=provider,
        temperature=fields.real("temperature"),
        top_p=fields.real("top_p"),
        seed=fields.whole("seed"),
        max_tokens=fields.whole("max_tokens", "max_completion_tokens", "max_output_tokens"),
        extra=kept({key: value for key, value in fields.rest().items() if value is not None}),
    )


def tools_of(definitions: list[Json], ignored: Ignored) -> tuple[ToolDefinition, ...]:
    """Read tool definitions: `function` objects, flat ones, or Anthropic's with `input_schema`."""
    read: dict[str, ToolDefinition] = {}
    for definition in definitions:
        inner = mapping(definition).get("function")
        fields = Fields(inner if isinstance(inner, dict) else definition, ignored, "tool")
        name = fields.text("name", "type") or "(unnamed)"
        parameters = fields.first("parameters", "input_schema", "inputSchema", "parameters_json_schema")
        description = fields.text("description")
        rest = {key: value for key, value in fields.rest().items() if value is not None and key != "type"}
        read[name] = ToolDefinition(
            name=name,
            description=description,
            parameters=EMPTY_OBJECT if parameters is None else kept(parameters),
            extra=kept(rest),
        )
    return tuple(read.values())


def usage_of(usage: Json, cost: Json = None) -> Usage:
    """Read token counts; the prompt's count includes what came from a cache, whoever counts."""
    counts = mapping(usage)
    prompt = whole(_first(counts, "prompt_tokens", "input_tokens", "promptTokens", "input"))
    cached = whole(counts.get("cache_read_input_tokens", counts.get("input_tokens_cache_read")))
    if cached is not None and prompt is not None:  # Anthropic counts these beside input_tokens
        prompt += cached + (whole(counts.get("cache_creation_input_tokens")) or 0)
    details = mapping(_first(counts, "prompt_tokens_details", "input_tokens_details", "input_token_details"))
    return Usage(
        prompt_tokens=prompt,
        completion_tokens=whole(_first(counts, "completion_tokens", "output_tokens", "completionTokens", "output")),
        cached_tokens=cached if cached is not None else whole(_first(details, "cached_tokens", "cache_read")),
        cost_usd=real(cost),
    )


def _first(counts: dict[str, Json], *names: str) -> Json:
    return next((counts[name] for name in names if counts.get(name) is not None), None)


def name_in(value: dict[str, Json], *keys: str) -> str | None:
    """Return the first of several identifiers that an object has."""
    found = _first(value, *keys)
    if isinstance(found, str) and found:
        return printable(found)
    return str(found) if isinstance(found, int) and not isinstance(found, bool) else None
