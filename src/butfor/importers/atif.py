"""ATIF trajectories, 1.5 to 1.8, sub-agents included."""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING

from butfor import canonical
from butfor.importers.atif_export import agent_step
from butfor.importers.building import Draft, RunBuilder, source_of
from butfor.importers.entries import Decided, asked, said, to_chat
from butfor.importers.fields import Fields, kept, listing, mapping, moment, real, whole
from butfor.importers.growing import GrowingRequest
from butfor.importers.labels import first_outcome, outcome_of
from butfor.importers.requests import sampling_of, tools_of
from butfor.importers.tally import Ignored
from butfor.runs import Agent, Observation, Outcome, Part, PartKind, Run, Sampling, Step, ToolCall, Usage

if TYPE_CHECKING:
    from collections.abc import Iterator

    from butfor.canonical import Json
    from butfor.importers.records import Record, Records
    from butfor.importers.tally import Tally

NAME = "atif"
# Sub-agents of sub-agents: far beyond any trajectory that we have seen, far below the recursion limit.
_LEVELS = 20


def matches(value: Json) -> bool:
    """Say whether a record is a trajectory: an agent, and steps with a source."""
    if not isinstance(value, dict) or not isinstance(value.get("agent"), dict):
        return False
    steps = value.get("steps")
    return isinstance(steps, list) and all("source" in mapping(step) for step in steps[:3])


def read(records: Records, tally: Tally) -> Iterator[Run]:
    """Read one run from each trajectory, its embedded sub-agents inside."""
    for record in records.each(tally.problem):
        if not matches(record.value):
            tally.ignored.add("record of another kind")
            continue
        run = _Trajectory(record).run(records.digest)
        if run.steps:
            yield run
        else:
            tally.problem(record.malformed("the trajectory has no agent step", "steps"))


@dataclasses.dataclass(kw_only=True, slots=True)
class _Part:
    """One trajectory of the tree.

    Attributes:
        root: The document without its steps and sub-agents.
        given: Steps that are not the agent's, with their positions.
        parent: Index of the trajectory that embeds it.
    """

    root: dict[str, Json]
    given: list[list[Json]]
    parent: int | None
    agent: str
    lane: str


class _Trajectory:
    """Reads a tree of trajectories into one run, so that it can be written again as it was."""

    def __init__(self, record: Record) -> None:
        self._record = record
        self._builder = RunBuilder(NAME, record)
        self._parts: list[_Part] = []
        self._raw: list[tuple[int, dict[str, Json]]] = []
        self._agents: dict[str, Agent] = {}
        self._task: Json = None
        self._missing: dict[str, None] = {}

    def run(self, digest: str | None) -> Run:
        document = mapping(self._record.value)
        self._add(document, None, "0", None, 0)
        identity = document.get("trajectory_id") or document.get("session_id")
        content = canonical.digest(document).split(":")[-1][:16]
        root = mapping(document.get("extra"))
        tools = [
            tool for part in self._parts for tool in listing(mapping(part.root.get("agent")).get("tool_definitions"))
        ]
        run = self._builder.build(
            identity if isinstance(identity, str) and identity else f"atif-{content}",
            task=self._task,
            outcome=_outcome(root, self._builder.ignored),
            tools=tools_of(tools, self._builder.ignored),
            agents=tuple(self._agents.values()),
            missing=tuple(self._missing),
            digest=digest,
            extra={"atif": [{"root": part.root, "given": part.given, "parent": part.parent} for part in self._parts]},
        )
        return run.model_copy(update={"steps": tuple(map(self._remembering, run.steps))})

    def _remembering(self, step: Step) -> Step:
        """Keep what writing the step again would not give."""
        trajectory, raw = self._raw[step.index]
        model = self._agents[step.agent].model
        written = agent_step(step, model)
        changed = {key: value for key, value in raw.items() if key not in written or written[key] != value}
        dropped = [key for key in written if key not in raw]
        changed.pop("step_id", None)
        memory = {"trajectory": trajectory, "set": changed, "drop": dropped}
        return step.model_copy(update={"extra": kept({"atif": memory})})

    def _add(self, document: dict[str, Json], parent: int | None, lane: str, above: str | None, level: int) -> None:
        index = len(self._parts)
        agent = self._agent(document, above)
        root = {key: value for key, value in document.items() if key not in ("steps", "subagent_trajectories")}
        part = _Part(root=root, given=[], parent=parent, agent=agent.name, lane=lane)
        self._parts.append(part)
        if document.get("continued_trajectory_ref"):
            self._missing["continuation: in another file (continued_trajectory_ref)"] = None
        subs = [mapping(each) for each in listing(document.get("subagent_trajectories"))]
        waiting = {str(sub.get("trajectory_id")): sub for sub in subs}
        reader = _Steps(self._builder, self._record, part, agent, mapping(document.get("agent")))
        for position, raw in enumerate(map(mapping, listing(document.get("steps"))), start=1):
            if raw.get("source") != "agent":
                part.given.append([position, raw])
                self._task = raw.get("message") if self._task is None and raw.get("source") == "user" else self._task
                reader.given(raw)
                continue
            reader.decide(raw)
            self._raw.append((index, raw))
            for name in _referenced(raw):
                if name in waiting and level < _LEVELS:
                    self._sub(waiting.pop(name), index, part, level)
        for sub in list(waiting.values()):
            if level < _LEVELS:
                self._sub(sub, index, part, level)
            else:
                self._builder.ignored.add("sub-agent nested too deeply")

    def _sub(self, document: dict[str, Json], index: int, part: _Part, level: int) -> None:
        number = sum(each.parent == index for each in self._parts) + 1
        self._add(document, index, f"{part.lane}.{number}", part.agent, level + 1)

    def _agent(self, document: dict[str, Json], above: str | None) -> Agent:
        fields = Fields(document.get("agent"), self._builder.ignored, "agent")
        name = fields.text("name") or "agent"
        while name in self._agents:
            name += "'"
        agent = Agent(name=name, model=fields.text("model_name"), version=fields.text("version"), parent=above)
        self._agents[name] = agent
        return agent


class _Steps:
    """Reads the steps of one trajectory; its request grows with them."""

    def __init__(
        self, builder: RunBuilder, record: Record, part: _Part, agent: Agent, described: dict[str, Json]
    ) -> None:
        self._builder = builder
        self._record = record
        self._part = part
        self._agent = agent
        self._tools = listing(described.get("tool_definitions"))
        body = {"model": agent.model, "messages": [], "tools": self._tools or None}
        self._growing = GrowingRequest({key: value for key, value in body.items() if value is not None})
        self._last: int | None = None

    def given(self, raw: dict[str, Json]) -> None:
        """Add a system or user step to the requests that follow."""
        role = "system" if raw.get("source") == "system" else "user"
        self._growing.extend([{"role": role, "content": raw.get("message")}])
        for result in listing(mapping(raw.get("observation")).get("results")):
            self._growing.extend([{"role": "user", "content": mapping(result).get("content")}])

    def decide(self, raw: dict[str, Json]) -> None:
        """Add an agent step."""
        step = len(self._builder)
        acted = self._acted(raw)
        results = [_observation(mapping(each)) for each in listing(mapping(raw.get("observation")).get("results"))]
        sampling = self._sampling(raw)
        calls = whole(raw.get("llm_call_count"))
        self._builder.decide(
            Draft(
                parts=[*acted, *results],
                request=self._growing.at(step),
                agent=self._part.agent,
                lane=self._part.lane,
                sampling=sampling,
                usage=_usage(mapping(raw.get("metrics"))),
                ended_at=moment(raw.get("timestamp")),
                missing=self._missing(sampling, calls, any(isinstance(part, ToolCall) for part in acted)),
                content_missing=calls == 0,
                follows=self._last,
                source=source_of(self._record, f"steps[{raw.get('step_id')}]"),
            )
        )
        self._builder.uses(
            [result.call_id for result in results if result.call_id is not None], step + 1
        ) if results else None
        self._last = step
        returned = [
            {"role": "tool", "tool_call_id": each.call_id or "", "content": each.content.get()} for each in results
        ]
        self._growing.extend([*to_chat([Decided(parts=tuple(acted))]), *returned])

    def _acted(self, raw: dict[str, Json]) -> list[Part]:
        parts = said(raw.get("reasoning_content"), PartKind.REASONING) + said(raw.get("message"))
        for each in listing(raw.get("tool_calls")):
            fields = Fields(each, self._builder.ignored, "tool_call")
            arguments = fields.take("arguments")
            call_id, name = fields.text("tool_call_id"), fields.text("function_name")
            parts.append(asked(call_id, name, {} if arguments is None else arguments, mapping(fields.take("extra"))))
            fields.close()
        return parts

    def _sampling(self, raw: dict[str, Json]) -> Sampling:
        """Read the sampling that `extra` carries, which ATIF has no field for."""
        extra = mapping(raw.get("extra"))
        named = mapping(extra.get("sampling")) or mapping(mapping(extra.get("butfor")).get("sampling"))
        model = raw.get("model_name") or self._agent.model
        return sampling_of(({"model": model} if model else {}) | named, Ignored())

    def _missing(self, sampling: Sampling, calls: int | None, acts: bool) -> tuple[str, ...]:
        missing = ["request: rebuilt from the trajectory"]
        if calls == 0:
            missing.append("request: no model call (llm_call_count 0)")
        if calls is not None and calls > 1:
            missing.append("request: several model calls in one step")
        if acts and not self._tools:
            missing.append("tools: no definitions in the file")
        if sampling.temperature is None:
            missing.append("sampling.temperature: not in the file")
        return tuple(missing if sampling.model else [*missing, "sampling.model: not in the file"])


def _observation(result: dict[str, Json]) -> Observation:
    call_id = result.get("source_call_id")
    rest = {key: value for key, value in result.items() if key not in ("source_call_id", "content")}
    fields = Fields({"call_id": call_id}, Ignored(), "result")
    return Observation(call_id=fields.text("call_id"), content=kept(result.get("content")), extra=kept(rest))


def _usage(metrics: dict[str, Json]) -> Usage:
    return Usage(
        prompt_tokens=whole(metrics.get("prompt_tokens")),
        completion_tokens=whole(metrics.get("completion_tokens")),
        cached_tokens=whole(metrics.get("cached_tokens")),
        cost_usd=real(metrics.get("cost_usd")),
    )


def _referenced(raw: dict[str, Json]) -> Iterator[str]:
    for result in listing(mapping(raw.get("observation")).get("results")):
        for reference in listing(mapping(result).get("subagent_trajectory_ref")):
            name = mapping(reference).get("trajectory_id")
            if isinstance(name, str):
                yield name


def _outcome(extra: dict[str, Json], ignored: Ignored) -> Outcome | None:
    ours = mapping(mapping(extra.get("butfor")).get("outcome"))
    value = real(ours.get("value"))
    if value is not None and 0 <= value <= 1:
        return outcome_of(1.0 - value, str(ours.get("rule", "outcome")), ignored, ours.get("detail"))
    return first_outcome(extra, ignored)
