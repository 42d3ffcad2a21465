"""From boundary crossings to a `Run`."""

from __future__ import annotations

from collections import Counter
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from butfor import canonical
from butfor.replay import reading
from butfor.replay.http_messages import kept_by_provider
from butfor.replay.journal import frame_of, rebuild
from butfor.runs import (
    Agent,
    Dependency,
    Effect,
    Grade,
    Observation,
    Outcome,
    Part,
    PartKind,
    PartRef,
    Provenance,
    Replayability,
    Request,
    RequestChain,
    Run,
    Sampling,
    Step,
    Text,
    ToolCall,
    ToolDefinition,
    Usage,
    Value,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

    from butfor.canonical import Json
    from butfor.replay.crossings import Crossing
    from butfor.replay.journal import Journal


def assemble(
    journal: Journal,
    crossings: Sequence[Crossing],
    *,
    run_id: str,
    output: Json = None,
    outcome: Outcome | None = None,
    grade: Grade | None = None,
) -> Run:
    """Build the run that crossings tell of.

    Args:
        journal: The recording, for its header and for requests that later ones are differences from.
        crossings: Of the recording, or of a rollout.
        run_id: The run's name.
        output: What the agent returned.
        outcome: y, where it is known.
        grade: What keeps the run from exact replay.
    """
    known = {each.seq: each for each in (*journal.crossings, *crossings)}
    table = [known[seq] for seq in range(len(known))] if set(known) == set(range(len(known))) else list(crossings)
    models = sorted((each for each in crossings if each.kind == "model"), key=lambda each: each.step)
    # A rollout that was cut short may lack numbers in between; a run numbers its steps without gaps.
    numbers = {each.step: i for i, each in enumerate(models)}
    chain = RequestChain()
    in_lane = Counter(each.lane for each in models)
    steps = []
    for index, model in enumerate(models):
        text = rebuild(model, table)
        tools = _tools_of(crossings, model)
        # A lane of one step is a call in a task of its own: it continues the history of whoever awaited it.
        line = model.lane if in_lane[model.lane] > 1 else _ancestry(model.lane)[:2][-1]
        steps.append(_step(index, model, tools, chain.add_text(text, line=line), journal, text))
    return Run(
        run_id=run_id,
        task=Value.of(journal.header.get("input")),
        agents=tuple(_agents(steps)),
        tools=tuple(_tools(crossings)),
        steps=tuple(steps),
        dependencies=tuple(_dependencies(steps, crossings, numbers)),
        output=Value.of(output),
        outcome=outcome,
        grade=grade or Grade(),
        provenance=Provenance(
            agent=journal.header.get("agent"),
            recorded_at=datetime.fromtimestamp(float(journal.header.get("started", 0)), UTC),
            butfor_version=journal.header.get("version"),
        ),
    )


def _step(index: int, model: Crossing, tools: list[Crossing], kept: Request, journal: Journal, text: str) -> Step:
    request = canonical.decode(text)
    response = None if model.response is None else canonical.decode(model.response)
    action = reading.read(response)
    started = float(journal.header.get("started", 0))
    return Step(
        index=index,
        agent=model.name,
        lane=model.lane,
        request=kept,
        sampling=sampling_of(request),
        parts=(*_said(model, action, response), *_done(action, tools)),
        response=Value(model.response or "null"),
        ended_at=datetime.fromtimestamp(started, UTC) if not started else None,
        grade=_grade(request),
        usage=Usage(prompt_tokens=action.usage[0], completion_tokens=action.usage[1]),
        extra=Value.of({"answered": model.answered} | ({} if model.error is None else {"error": list(model.error)})),
    )


def _grade(request: Json) -> Grade:
    missing = kept_by_provider(request)
    return Grade(level=Replayability.VIEW_ONLY, missing=missing) if missing else Grade()


def _said(model: Crossing, action: reading.Reading, response: Json) -> list[Part]:
    parts: list[Part] = []
    if model.error is not None:
        parts.append(Text(content=Value.of(f"{model.error[0]}: {model.error[1]}")))
    elif not action.known:
        parts.append(Text(content=Value.of(response)))
    if action.reasoning:
        parts.append(Text(kind=PartKind.REASONING, content=Value.of(action.reasoning)))
    if action.text:
        parts.append(
            Text(kind=PartKind.LLM_RESPONSE if action.calls else PartKind.FINAL_ANSWER, content=Value.of(action.text))
        )
    return [*parts, *(Text(content=Value.of(each)) for each in action.rest)]


def _done(action: reading.Reading, tools: list[Crossing]) -> list[Part]:
    """Pair the calls that the policy asked for with the tools that ran, by name and arguments, then by order."""
    calls: list[Part] = []
    observations: list[Part] = []
    waiting = list(tools)
    for call in action.calls:
        calls.append(ToolCall(call_id=call.call_id, name=call.name, arguments=Value.of(call.arguments)))
        match = _matching(call, waiting)
        if match is not None:
            waiting.remove(match)
            observations.append(_observation(call.call_id, match))
    for i, tool in enumerate(waiting):
        # The agent called a tool that no structured call asked for: its own code decided from the policy's text.
        call_id = f"ran_{i}"
        calls.append(ToolCall(call_id=call_id, name=tool.name, arguments=Value(tool.middle)))
        observations.append(_observation(call_id, tool))
    return [*calls, *observations]


def _matching(call: reading.Call, tools: list[Crossing]) -> Crossing | None:
    named = [tool for tool in tools if tool.name == call.name]
    exact = [tool for tool in named if canonical.canonical(call.arguments) == _sorted(tool.middle)]
    return (exact or named or [None])[0]  # type: ignore[list-item]


def _sorted(text: str) -> str:
    return canonical.canonical(canonical.decode(text))


def _observation(call_id: str, tool: Crossing) -> Observation:
    content = Value.of(f"{tool.error[0]}: {tool.error[1]}") if tool.error else Value(tool.response or "null")
    return Observation(
        call_id=call_id,
        content=content,
        is_error=tool.error is not None,
        extra=Value.of({"answered": tool.answered, "tool": tool.name, "effect": tool.effect}),
    )


def _tools_of(crossings: Sequence[Crossing], model: Crossing) -> list[Crossing]:
    return sorted(
        (
            each
            for each in crossings
            if each.kind == "tool" and each.step == model.step and frame_of(each.lane) == frame_of(model.lane)
        ),
        key=lambda each: each.began,
    )


def _agents(steps: Sequence[Step]) -> list[Agent]:
    models: dict[str, str | None] = {}
    for step in steps:
        models.setdefault(step.agent, step.sampling.model)
    return [Agent(name=name, model=model) for name, model in models.items()]


def _tools(crossings: Sequence[Crossing]) -> list[ToolDefinition]:
    effects = {each.name: each.effect for each in crossings if each.kind == "tool"}
    return [ToolDefinition(name=name, effect=Effect(effect or "unknown")) for name, effect in effects.items()]


def _dependencies(steps: Sequence[Step], crossings: Sequence[Crossing], numbers: dict[int, int]) -> list[Dependency]:
    """A step decides from what its request contains: here, from the steps before it in its lane and its spawner's."""
    del crossings, numbers
    edges: list[Dependency] = []
    last: dict[str, int] = {}
    for step in steps:
        source = next((last[lane] for lane in _ancestry(step.lane) if lane in last), None)
        if source is not None:
            edges.append(
                Dependency(
                    source=PartRef(step=source), target=PartRef(step=step.index), origin="inferred",
                    reason="the step before it in its lane",
                )
            )  # fmt: skip
        last[step.lane] = step.index
    return edges


def _ancestry(lane: str) -> list[str]:
    lanes = [lane]
    while "." in lane or "/" in lane:
        lane = lane[: max(lane.rfind("."), lane.rfind("/"))]
        lanes.append(lane)
    return lanes


def sampling_of(request: Json) -> Sampling:
    """Read the sampling parameters out of a request."""
    body: Any = request
    for inner in ("body", "kwargs"):
        if isinstance(body, dict) and isinstance(body.get(inner), dict):
            body = body[inner]
    if isinstance(body, dict) and isinstance(body.get("args"), list):
        body = next((each for each in body["args"] if isinstance(each, dict)), {})
    if not isinstance(body, dict):
        return Sampling()
    limit = body.get("max_tokens") or body.get("max_completion_tokens") or body.get("max_output_tokens")
    return Sampling(
        model=_if(body.get("model"), str),
        temperature=_if(body.get("temperature"), int, float),
        top_p=_if(body.get("top_p"), int, float),
        seed=_if(body.get("seed"), int),
        max_tokens=_if(limit, int),
    )


def _if(value: Any, *kinds: type) -> Any:
    return value if isinstance(value, kinds) and not isinstance(value, bool) else None
