"""A recorded run as a proposer sees it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from butfor import canonical
from butfor.repairs.edits import short_form
from butfor.repairs.proposal import Failure, literals_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from butfor.attribution.case import Case
    from butfor.canonical import Json


def failure_of(case: Case, *, secrets: Sequence[str] = ()) -> Failure:
    """Show a run to proposers: what the policy saw, and nothing that only the verifier knows.

    Args:
        case: The run.
        secrets: Literals that only the verifier knows; those in the outcome rule are added to them.
    """
    run = case.run
    states = tuple(run.request(step) for step in range(case.steps))
    return Failure(
        run_id=run.run_id,
        task=run.task.get(),
        actions=tuple(short_form(canonical.decode(step.response or "null")) for step in case.journal.steps),
        states=states,
        observations=tuple(tuple(each.content.get() for each in step.observations) for step in run.steps),
        output=run.output.get(),
        outcome=case.score.name,
        tools=_recorded_tools(case) | {name: schema for state in states for name, schema in tools_of(state).items()},
        secrets=tuple(dict.fromkeys((*secrets, *literals_of([case.score.name])))),
    )


def tools_of(request: Json) -> dict[str, Json]:
    """Read the tools that a request offers, with the schemas of their arguments."""
    body = request
    for inner in ("body", "kwargs"):
        if isinstance(body, dict) and isinstance(body.get(inner), dict):
            body = body[inner]
    offered = body.get("tools") if isinstance(body, dict) else None
    found: dict[str, Json] = {}
    for tool in offered if isinstance(offered, list) else []:
        told = tool.get("function", tool) if isinstance(tool, dict) else {}
        if isinstance(told, dict) and isinstance(told.get("name"), str):
            found[told["name"]] = told.get("parameters") or told.get("input_schema") or {}
    return found


def _recorded_tools(case: Case) -> dict[str, Json]:
    return {tool.name: tool.parameters.get() for tool in case.run.tools}
