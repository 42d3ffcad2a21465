"""A recorded run as a proposer sees it."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from butfor import canonical
from butfor.repairs.edits import decided
from butfor.repairs.proposal import Failure, literals_of
from butfor.replay import conversation

if TYPE_CHECKING:
    from collections.abc import Sequence

    from butfor.attribution.case import Case
    from butfor.canonical import Json
    from butfor.runs import Run


def failure_of(case: Case, *, secrets: Sequence[str] = ()) -> Failure:
    """Show a run to proposers: what the policy saw, and nothing that only the verifier knows.

    Args:
        case: The run.
        secrets: Literals that only the verifier knows; those in the outcome rule are added to them.
    """
    actions = tuple(decided(canonical.decode(step.response or "null")) for step in case.journal.steps)
    rule = case.score.name
    return replace(failure_of_run(case.run, secrets=(*secrets, *literals_of([rule]))), actions=actions, outcome=rule)


def failure_of_run(run: Run, *, secrets: Sequence[str] = ()) -> Failure:
    """Show a run that cannot be replayed to proposers: its parts are all that is needed."""
    states = tuple(run.request(step.index) for step in run.steps)
    return Failure(
        run_id=run.run_id,
        task=run.task.get(),
        actions=tuple(decided(conversation.answer_of(step)) for step in run.steps),
        states=states,
        observations=tuple(tuple(each.content.get() for each in step.observations) for step in run.steps),
        output=run.output.get(),
        outcome="" if run.outcome is None else run.outcome.rule,
        tools={tool.name: tool.parameters.get() for tool in run.tools}
        | {name: schema for state in states for name, schema in tools_of(state).items()},
        secrets=tuple(dict.fromkeys(secrets)),
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
