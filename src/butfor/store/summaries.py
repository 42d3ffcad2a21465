"""What a list of runs shows of one."""

from __future__ import annotations

from typing import TYPE_CHECKING

from butfor import runs
from butfor.store.records import RunSummary

if TYPE_CHECKING:
    from collections.abc import Mapping

    from butfor.canonical import Json
    from butfor.runs import Run


def of_run(run: Run) -> dict[str, object]:
    """Return the fields of a run, as they are stored."""
    recorded_at = run.provenance.recorded_at
    return {
        "run_id": run.run_id,
        "recorded_at": None if recorded_at is None else recorded_at.isoformat(timespec="microseconds"),
        "agent": _shown(run.provenance.agent or (run.agents[0].name if run.agents else None)),
        "format": _shown(run.provenance.format),
        "steps": len(run.steps),
        "outcome": None if run.outcome is None else run.outcome.value,
        "grade": run.overall_grade.level.name,
    }


def of_header(run_id: str, header: Mapping[str, Json]) -> dict[str, object]:
    """Return the fields of a recording that has only a header."""
    agent, recorded_at = header.get("agent"), header.get("recorded_at")
    return {
        "run_id": run_id,
        "recorded_at": _shown(recorded_at),
        "agent": _shown(agent),
        "format": "butfor",
        "steps": None,
        "outcome": None,
        "grade": None,
    }


def summary(stored: Mapping[str, object], *, complete: bool) -> RunSummary:
    """Build one line of `list_runs` from stored fields."""
    fields: dict[str, object] = dict(stored)
    grade = fields.pop("grade")
    return RunSummary(
        **fields,  # type: ignore[arg-type]
        grade=None if grade is None else runs.Replayability[str(grade)],
        complete=complete,
    )


def _shown(text: Json) -> str | None:
    """Return a text that a column can hold; what it replaces is kept in the document."""
    return text.encode("utf-8", "replace").decode() if isinstance(text, str) else None
