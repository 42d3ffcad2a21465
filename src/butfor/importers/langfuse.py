"""Langfuse observations, as the API (camelCase), the interface and blob exports (snake_case) write them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from butfor.importers.run_tables import Scores, Table, read_table
from butfor.importers.spans import Kind

if TYPE_CHECKING:
    from collections.abc import Iterator

    from butfor.canonical import Json
    from butfor.importers.records import Records
    from butfor.importers.tally import Tally
    from butfor.runs import Run

TABLE = Table(
    name="langfuse",
    trace=("trace_id", "traceId"),
    parent=("parent_observation_id", "parentObservationId"),
    type=("type",),
    start=("start_time", "startTime"),
    end=("end_time", "endTime"),
    input=("input",),
    output=("output",),
    model=("model", "provided_model_name", "providedModelName"),
    parameters=("model_parameters", "modelParameters"),
    usage=("usage_details", "usageDetails", "usage"),
    cost=("total_cost", "totalCost", "calculatedTotalCost", "cost_details", "costDetails"),
    session=("session_id", "sessionId"),
    error=("status_message", "statusMessage"),
    kinds={"generation": Kind.MODEL, "tool": Kind.TOOL, "agent": Kind.AGENT, "evaluator": Kind.JUDGE},
    known=(
        *("level", "environment", "version", "tags", "user_id", "userId", "project_id", "projectId"),
        *("is_root_observation", "completion_start_time", "completionStartTime", "created_at", "createdAt"),
        *("updated_at", "updatedAt", "prompt_id", "promptId", "prompt_name", "promptName", "prompt_version"),
        *("promptVersion", "latency", "time_to_first_token", "timeToFirstToken", "unit", "public", "release"),
        *("input_price", "output_price", "total_price", "model_id", "modelId", "internal_model_id", "trace_name"),
        *("value", "string_value", "stringValue", "data_type", "dataType", "source", "comment", "timestamp"),
        *("observation_id", "observationId", "inputUsage", "outputUsage", "totalUsage", "usage_pricing_tier_name"),
    ),
)
_TYPES = frozenset(
    {"generation", "span", "event", "agent", "tool", "chain", "retriever", "evaluator", "embedding", "guardrail"}
)


def matches(value: Json) -> bool:
    """Say whether a record is an observation, a score, or an answer of the API that holds them."""
    if not isinstance(value, dict):
        return False
    inner = value.get("data", value.get("observations"))
    if isinstance(inner, list) and inner and isinstance(inner[0], dict):
        return matches({"traceId": value.get("id")} | inner[0])
    traced = isinstance(value.get("trace_id", value.get("traceId")), str)
    kind = value.get("type")
    is_score = value.get("data_type", value.get("dataType")) is not None and "name" in value
    return traced and ((isinstance(kind, str) and kind.lower() in _TYPES) or is_score)


def read(records: Records, tally: Tally) -> Iterator[Run]:
    """Read one run from each trace."""
    yield from read_table(records, tally, TABLE, _ScoreRows())


class _ScoreRows(Scores):
    """Scores are rows of their own, with the trace's id."""

    def of(self, row: dict[str, Json]) -> Iterator[tuple[str, Json, Json]]:
        if row.get("data_type", row.get("dataType")) is None:
            return  # a Parquet table has the column in every row
        named = row.get("string_value", row.get("stringValue"))
        value = row.get("value")
        yield str(row.get("name", "score")), value if value is not None else named, row.get("comment")
