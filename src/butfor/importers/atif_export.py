"""Writes a run as an ATIF 1.8 trajectory; one that was imported from ATIF is written as it was."""

from __future__ import annotations

from typing import TYPE_CHECKING

from butfor import canonical
from butfor.runs import Observation, Part, PartKind, Run, Sampling, Step, Text, ToolCall, Usage

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from butfor.canonical import Json

VERSION = "ATIF-v1.8"


def to_atif(run: Run) -> dict[str, Json]:
    """Write a run as one trajectory document.

    What ATIF has no field for (outcome, sampling, grades, agents of a step) goes under ``extra.butfor``. Tool results
    that are not text become their JSON text, and arguments that are not an object become ``{"value": …}``.
    """
    remembered = run.extra.get()
    if isinstance(remembered, dict) and isinstance(remembered.get("atif"), list):
        return _as_it_was(run, remembered["atif"])
    model = run.agents[0].model if run.agents else None
    steps: list[Json] = []
    for step, given in zip(run.steps, _given(run), strict=True):
        steps += given
        steps.append(_with_ours(agent_step(step, model), step))
        steps += [_message(*shown) for shown in (_shown(part) for part in step.parts) if shown is not None]
    return {
        "schema_version": VERSION,
        "session_id": run.run_id,
        "trajectory_id": run.run_id,
        "agent": _agent(run, model),
        "steps": [{"step_id": number} | step for number, step in enumerate(steps, start=1)],
        "final_metrics": _totals(run.steps, len(steps)),
        "extra": {"butfor": _ours(run)},
    }


def agent_step(step: Step, model: str | None) -> dict[str, Json]:
    """Write one decision with its observations, without its number.

    Args:
        step: The step.
        model: The trajectory's model; a step names its own only where it differs.
    """
    spoken = [part for part in step.parts if isinstance(part, Text) and part.kind is not PartKind.REASONING]
    thought = [part for part in step.parts if isinstance(part, Text) and part.kind is PartKind.REASONING]
    moment = step.ended_at or step.started_at
    results = [_result(part, step) for part in step.observations if _shown(part) is None]
    document = {
        "timestamp": moment.isoformat() if moment else None,
        "source": "agent",
        "model_name": step.sampling.model if step.sampling.model != model else None,
        "message": _content([part.content.get() for part in spoken]),
        "reasoning_content": _text([part.content.get() for part in thought]) if thought else None,
        "tool_calls": [_call(call) for call in step.tool_calls] or None,
        "observation": {"results": results} if results else None,
        "metrics": _metrics(step.usage),
    }
    return {key: value for key, value in document.items() if value is not None}


def _as_it_was(run: Run, parts: list[Json]) -> dict[str, Json]:
    documents: list[dict[str, Json]] = [dict(part["root"]) for part in parts]
    agents = {agent.name: agent.model for agent in run.agents}
    decided: list[list[Json]] = [[] for _ in parts]
    for step in run.steps:
        memory = step.extra.get()["atif"]
        written = agent_step(step, agents.get(step.agent))
        kept = {key: value for key, value in written.items() if key not in memory["drop"]}
        decided[memory["trajectory"]].append(kept | memory["set"])
    for part, document, own in zip(parts, documents, decided, strict=True):
        document["steps"] = _interleaved(part["given"], own)
    for part, document in reversed(list(zip(parts, documents, strict=True))):
        if part["parent"] is not None:
            documents[part["parent"]].setdefault("subagent_trajectories", []).insert(0, document)
    return documents[0]


def _interleaved(given: list[Json], decided: list[Json]) -> list[Json]:
    at: dict[int, Json] = dict(given)
    own = iter(decided)
    count = len(given) + len(decided)
    return [at[here] if here in at else {"step_id": here} | next(own) for here in range(1, count + 1)]


def _given(run: Run) -> Iterator[list[Json]]:
    """Yield, for each step, what stood before it: the messages of its line's first request."""
    seen: set[tuple[str, str]] = set()
    for step in run.steps:
        line = (step.agent, step.lane)
        # Only a line's first request is rebuilt: the later ones repeat it, and all of them would take quadratic time.
        text = run.request_text(step.index) if line not in seen else None
        seen.add(line)
        if text is not None:
            yield list(_opening(canonical.decode(text)))
        elif step.index == 0 and run.task.get() is not None:
            yield [_message("user", run.task.get())]
        else:
            yield []


def _opening(request: Json) -> Iterator[Json]:
    if not isinstance(request, dict):
        return
    for key in ("system", "instructions"):
        if request.get(key):
            yield _message("system", request[key])
    messages = request.get("messages", request.get("input"))
    for message in messages if isinstance(messages, list) else [{"role": "user", "content": messages}]:
        role = message.get("role") if isinstance(message, dict) else None
        if role == "assistant":
            return
        if role in ("system", "developer"):
            yield _message("system", message.get("content"))
        elif role is not None and role != "tool":
            yield _message("user", message.get("content"))


def _shown(part: Part) -> tuple[str, Json] | None:
    """Return (source, content) of what a user or the environment said, None for a tool's result."""
    if not isinstance(part, Observation) or part.kind is not PartKind.ENVIRONMENT_OBSERVATION:
        return None
    extra = part.extra.get()
    role = extra.get("role") if isinstance(extra, dict) else None
    return "system" if role in ("system", "developer") else "user", part.content.get()


def _message(source: str, content: Json) -> dict[str, Json]:
    return {"source": source, "message": _content([content])}


def _agent(run: Run, model: str | None) -> dict[str, Json]:
    first = run.agents[0] if run.agents else None
    tools = [
        {
            "type": "function",
            "function": {"name": tool.name, "parameters": tool.parameters.get()}
            | ({"description": tool.description} if tool.description is not None else {}),
        }
        for tool in run.tools
    ]
    document = {
        "name": first.name if first else "agent",
        "version": (first.version if first else None) or "unknown",
        "model_name": model,
        "tool_definitions": tools or None,
    }
    return {key: value for key, value in document.items() if value is not None}


def _call(call: ToolCall) -> dict[str, Json]:
    arguments, extra = call.arguments.get(), call.extra.get()
    document = {
        "tool_call_id": call.call_id,
        "function_name": call.name,
        "arguments": arguments if isinstance(arguments, dict) else {"value": arguments},
    }
    return document | ({"extra": extra} if extra else {})


def _result(part: Observation, step: Step) -> dict[str, Json]:
    content, extra = part.content.get(), part.extra.get()
    known = {call.call_id for call in step.tool_calls}
    document: dict[str, Json] = {}
    if part.call_id is not None and (part.call_id in known or not known):
        document["source_call_id"] = part.call_id
    if content is not None:
        document["content"] = _content([content])
    for key in ("subagent_trajectory_ref", "extra"):
        if isinstance(extra, dict) and extra.get(key) is not None:
            document[key] = extra[key]
    return document | ({"extra": {"is_error": True}} if part.is_error and "extra" not in document else {})


def _content(contents: list[Json]) -> Json:
    """Return text, or ATIF content parts where that is what there is."""
    if len(contents) == 1 and isinstance(contents[0], list) and contents[0] and all(map(_is_part, contents[0])):
        return contents[0]
    return _text(contents)


def _text(contents: list[Json]) -> str:
    return "\n".join(
        content if isinstance(content, str) else canonical.encode(content)
        for content in contents
        if content is not None
    )


def _is_part(value: Json) -> bool:
    if not isinstance(value, dict):
        return False
    if value.get("type") == "text":
        return value.keys() == {"type", "text"} and isinstance(value["text"], str)
    source = value.get("source")
    return value.keys() == {"type", "source"} and isinstance(source, dict) and "path" in source


def _metrics(usage: Usage) -> dict[str, Json] | None:
    held = usage.model_dump(exclude_none=True)
    return held or None


def _totals(steps: Sequence[Step], count: int) -> dict[str, Json]:
    totals: dict[str, Json] = {"total_steps": count}
    for name in ("prompt_tokens", "completion_tokens", "cached_tokens", "cost_usd"):
        known = [value for value in (getattr(step.usage, name) for step in steps) if value is not None]
        if known:
            totals[f"total_{name}"] = sum(known)
    return totals


def _with_ours(document: dict[str, Json], step: Step) -> dict[str, Json]:
    ours: dict[str, Json] = {"agent": step.agent, "lane": step.lane, "grade": step.grade.level.label}
    if step.sampling != Sampling():
        sampling = step.sampling.model_dump(exclude_none=True, exclude={"extra"})
        ours["sampling"] = sampling | step.sampling.extra.get()
    if step.request is not None:
        ours["request_digest"] = step.request.digest
    return document | {"extra": {"butfor": ours}}


def _ours(run: Run) -> dict[str, Json]:
    ours: dict[str, Json] = {"format": run.provenance.format}
    if run.outcome is not None:
        detail = run.outcome.detail.get()
        ours["outcome"] = {"value": run.outcome.value, "rule": run.outcome.rule, "source": run.outcome.source} | (
            {"detail": detail} if detail is not None else {}
        )
    return ours
