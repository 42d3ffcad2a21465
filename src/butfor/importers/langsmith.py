"""LangSmith runs, as `client.list_runs()` dumps and bulk exports write them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from butfor.importers.fields import mapping
from butfor.importers.parsing import unpacked
from butfor.importers.run_tables import Scores, Table, read_table
from butfor.importers.spans import Kind

if TYPE_CHECKING:
    from collections.abc import Iterator

    from butfor.canonical import Json
    from butfor.importers.records import Records
    from butfor.importers.tally import Tally
    from butfor.runs import Run

TABLE = Table(
    name="langsmith",
    trace=("trace_id", "id"),
    parent=("parent_run_id",),
    type=("run_type",),
    start=("start_time",),
    end=("end_time",),
    input=("inputs",),
    output=("outputs",),
    model=("ls_model_name",),
    parameters=("invocation_params",),
    usage=("usage_metadata",),
    cost=("total_cost",),
    session=("thread_id", "session_id"),
    error=("error",),
    kinds={"llm": Kind.MODEL, "tool": Kind.TOOL},
    known=(
        *("dotted_order", "events", "tags", "first_token_time", "status", "serialized", "child_runs", "child_run_ids"),
        *("parent_run_ids", "reference_example_id", "feedback_stats", "prompt_tokens", "completion_tokens"),
        *("total_tokens", "prompt_cost", "completion_cost", "app_path", "manifest_id", "in_dataset", "attachments"),
        *(
            "inputs_preview",
            "outputs_preview",
            "is_root",
            "ttl_seconds",
            "trace_tier",
            "session_name",
            "prompt_token_details",
        ),
    ),
)


def matches(value: Json) -> bool:
    """Say whether a record is a run, or an answer of the API that holds them."""
    if not isinstance(value, dict):
        return False
    inner = value.get("runs")
    if isinstance(inner, list) and inner:
        return matches(inner[0])
    return isinstance(value.get("run_type"), str) and ("inputs" in value or "dotted_order" in value)


def read(records: Records, tally: Tally) -> Iterator[Run]:
    """Read one run from each trace."""
    yield from read_table(records, tally, TABLE, _Feedback())


class _Feedback(Scores):
    """Feedback is summarised on the root run: name to {avg, n}."""

    def of(self, row: dict[str, Json]) -> Iterator[tuple[str, Json, Json]]:
        if row.get("parent_run_id") is not None:
            return
        for name, summary in mapping(unpacked(row.get("feedback_stats"))).items():
            yield name, mapping(summary).get("avg"), summary
