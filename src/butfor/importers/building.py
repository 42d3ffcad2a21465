"""Builds a run from decisions and what came back, whatever the format they were read from."""

from __future__ import annotations

import dataclasses
from functools import lru_cache
from typing import TYPE_CHECKING

from butfor.importers.entries import Decided, Entry, Given, Returned
from butfor.importers.fields import kept, printable
from butfor.importers.tally import Ignored
from butfor.runs import (
    Agent,
    Dependency,
    Grade,
    Observation,
    Outcome,
    Part,
    PartKind,
    PartRef,
    Provenance,
    Replayability,
    Request,
    Run,
    Sampling,
    SourceSpan,
    Step,
    Text,
    ToolCall,
    ToolDefinition,
    Usage,
)

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from datetime import datetime

    from butfor.canonical import Json
    from butfor.importers.records import Record


@dataclasses.dataclass(kw_only=True, slots=True)
class Draft:
    """A step while its observations are still coming in.

    Attributes:
        missing: What keeps the step from exact replay, in the words of the report.
        content_missing: Whether the request itself is not known.
        follows: Index of the step whose request this one's begins with.
    """

    parts: list[Part]
    request: Request | None = None
    agent: str = "agent"
    lane: str = "0"
    sampling: Sampling = dataclasses.field(default_factory=Sampling)
    usage: Usage = dataclasses.field(default_factory=Usage)
    response: Json = None
    started_at: datetime | None = None
    ended_at: datetime | None = None
    missing: tuple[str, ...] = ()
    content_missing: bool = False
    follows: int | None = None
    source: SourceSpan | None = None
    extra: dict[str, Json] = dataclasses.field(default_factory=dict)


class RunBuilder:
    """Collects the steps of one run.

    Args:
        format_name: The importer, for the run's provenance.
        record: Where the run begins in its file.
    """

    def __init__(self, format_name: str, record: Record) -> None:
        self.ignored = Ignored()
        self._format = format_name
        self._record = record
        self._drafts: list[Draft] = []
        self._waiting: dict[str, int] = {}
        self._answered: dict[str, tuple[int, int]] = {}
        self._edges: list[Dependency] = []
        self._used: list[tuple[str, int]] = []

    def __len__(self) -> int:
        return len(self._drafts)

    @property
    def last(self) -> Draft | None:
        """The newest step."""
        return self._drafts[-1] if self._drafts else None

    def decide(self, draft: Draft) -> int:
        """Add a step and return its index; its calls get ids that are unique within it."""
        index = len(self._drafts)
        draft.parts = _with_ids(draft.parts, index)
        for part in draft.parts:
            if isinstance(part, ToolCall):
                self._waiting[part.call_id] = index
                self._answered.pop(part.call_id, None)
        for position, part in enumerate(draft.parts):
            if isinstance(part, Observation) and part.call_id is not None:
                self._answered[part.call_id] = (index, position)
        if draft.follows is not None:
            self._edge(PartRef(step=draft.follows), index, "prefix containment")
        self._drafts.append(draft)
        return index

    def observe(self, returned: Returned, *, at: int | None = None) -> None:
        """Add what a tool returned to the step that called it.

        Args:
            returned: The result.
            at: The step that it belongs to where the source says so without an id.
        """
        call_id = returned.call_id
        step = self._waiting.get(call_id) if call_id is not None else at
        if step is None and call_id is None:
            step = self._unanswered(returned.name)
            call_id = self._only_call(step, returned.name) if step is not None else None
        if call_id is not None and call_id in self._answered:
            self._again(call_id, returned.content)
        elif step is not None:
            self._attach(step, call_id, returned)
        else:
            self._orphan(returned)

    def show(self, given: Given, *, at: int = -1) -> None:
        """Add what the environment (a user, another agent) said after a step, by default the newest."""
        if self._drafts:
            self._drafts[at].parts.append(
                Observation(
                    kind=PartKind.ENVIRONMENT_OBSERVATION,
                    content=kept(given.content),
                    extra=kept({"role": given.role} | ({"name": given.name} if given.name else {})),
                )
            )

    def uses(self, call_ids: Iterable[str], step: int) -> None:
        """Record that a step's request holds the results of these calls."""
        self._used += [(call_id, step) for call_id in call_ids]

    def is_answered(self, call_id: str | None) -> bool:
        """Say whether a call's result is known already."""
        return call_id is not None and call_id in self._answered

    def build(
        self,
        run_id: str,
        *,
        task: Json = None,
        output: Json = None,
        outcome: Outcome | None = None,
        tools: Sequence[ToolDefinition] = (),
        agents: Sequence[Agent] = (),
        missing: tuple[str, ...] = (),
        dialect: str | None = None,
        digest: str | None = None,
        extra: dict[str, Json] | None = None,
    ) -> Run:
        """Close the run.

        Args:
            run_id: The run's name.
            task: What the agent was given.
            output: What it returned; by default the last step's text where that step called nothing.
            outcome: y, where the source has it.
            tools: The tool definitions of the run.
            agents: Its agents; by default one for each name that a step has.
            missing: What keeps the run as a whole from exact replay.
            dialect: The dialect, where one importer reads several.
            digest: Tagged SHA-256 of the source file.
            extra: What has no place in the model.
        """
        self._mark_final_answer()
        for call_id, step in self._used:
            found = self._answered.get(call_id)
            if found is not None and found[0] < step < len(self._drafts):
                self._edge(PartRef(step=found[0], part=found[1]), step, "tool_call_id")
        return Run(
            run_id=printable(run_id)[:200],
            task=kept(task),
            agents=tuple(agents) or self._agents(),
            tools=tuple(tools),
            steps=tuple(_step(index, draft) for index, draft in enumerate(self._drafts)),
            dependencies=tuple(self._edges),
            output=kept(self._last_words() if output is None else output),
            outcome=outcome,
            grade=Grade(level=Replayability.APPROXIMATE, missing=missing) if missing else Grade(),
            provenance=Provenance(
                format=self._format + (f" ({dialect})" if dialect else ""),
                file=self._record.file,
                digest=digest,
                ignored=dict(self.ignored),
            ),
            extra=kept(extra or {}),
        )

    def _attach(self, step: int, call_id: str | None, returned: Returned) -> None:
        draft = self._drafts[step]
        name = {} if call_id is not None or returned.name is None else {"name": returned.name}
        draft.parts.append(
            Observation(
                call_id=call_id,
                content=kept(returned.content),
                is_error=returned.is_error,
                extra=kept(name),
            )
        )
        if call_id is not None:
            self._answered[call_id] = (step, len(draft.parts) - 1)

    def _again(self, call_id: str, content: Json) -> None:
        step, part = self._answered[call_id]
        known = self._drafts[step].parts[part]
        if isinstance(known, Observation) and known.content != kept(content):
            self.ignored.add("second, different result of a tool call")

    def _orphan(self, returned: Returned) -> None:
        """Keep a result without its call with the newest step, and say so."""
        self.ignored.add("tool result without its call" + ("" if self._drafts else ", before the first step"))
        if self._drafts:
            self._drafts[-1].parts.append(
                Observation(
                    content=kept(returned.content),
                    is_error=returned.is_error,
                    extra=kept({"call_id": returned.call_id, "name": returned.name}),
                )
            )

    def _unanswered(self, name: str | None) -> int | None:
        """Return the newest step if it has a call of that name that waits for its result."""
        newest = len(self._drafts) - 1
        return newest if newest >= 0 and self._only_call(newest, name) is not None else None

    def _only_call(self, step: int | None, name: str | None) -> str | None:
        if step is None:
            return None
        for part in self._drafts[step].parts:
            if isinstance(part, ToolCall) and part.call_id not in self._answered and name in (None, "", part.name):
                return part.call_id
        return None

    def _edge(self, source: PartRef, target: int, reason: str) -> None:
        self._edges.append(Dependency(source=source, target=PartRef(step=target), origin="inferred", reason=reason))

    def _final(self) -> Draft | None:
        """Return the last step of the agent's own lane: a sub-agent may end later."""
        return next((draft for draft in reversed(self._drafts) if draft.lane == "0"), self.last)

    def _mark_final_answer(self) -> None:
        last = self._final()
        if last is not None and not any(isinstance(part, ToolCall) for part in last.parts):
            last.parts = [
                part.model_copy(update={"kind": PartKind.FINAL_ANSWER})
                if isinstance(part, Text) and part.kind is PartKind.LLM_RESPONSE
                else part
                for part in last.parts
            ]

    def _last_words(self) -> Json:
        last = self._final()
        words = [
            part.content.get()
            for part in (last.parts if last else ())
            if isinstance(part, Text) and part.kind is PartKind.FINAL_ANSWER
        ]
        return words[0] if len(words) == 1 else words or None

    def _agents(self) -> tuple[Agent, ...]:
        models: dict[str, str | None] = {}
        for draft in self._drafts:
            models[draft.agent] = models.get(draft.agent) or draft.sampling.model
        return tuple(Agent(name=name, model=model) for name, model in models.items())


def task_of(entries: Sequence[Entry]) -> Json:
    """Return what the agent was given before it first decided: the one user message, or all of them."""
    given: list[Given] = []
    for entry in entries:
        if isinstance(entry, Decided):
            break
        if isinstance(entry, Given) and entry.role not in ("system", "developer"):
            given.append(entry)
    return given[0].content if len(given) == 1 else [each.content for each in given] or None


def source_of(record: Record, name: str | None = None) -> SourceSpan:
    """Say where in its file a step came from."""
    return SourceSpan(file=record.file, line=record.line, record=name or record.part)


def _with_ids(parts: list[Part], step: int) -> list[Part]:
    seen: set[str] = set()
    named: list[Part] = []
    for position, part in enumerate(parts):
        if isinstance(part, ToolCall):
            call_id = part.call_id or f"call_{step}_{position}"
            while call_id in seen:
                call_id += "'"
            seen.add(call_id)
            named.append(part if call_id == part.call_id else part.model_copy(update={"call_id": call_id}))
        else:
            named.append(part)
    return named


@lru_cache(maxsize=4096)
def _graded(level: Replayability, missing: tuple[str, ...]) -> Grade:
    """Return one object for all steps of a grade: a long run has few different ones."""
    return Grade(level=level, missing=missing)


@lru_cache(maxsize=4096)
def _shared(sampling: Sampling) -> Sampling:
    """Return one object for equal parameters."""
    return sampling


def _step(index: int, draft: Draft) -> Step:
    level = Replayability.APPROXIMATE if draft.missing else Replayability.EXACT
    return Step(
        index=index,
        agent=draft.agent,
        lane=draft.lane,
        request=draft.request,
        sampling=_shared(draft.sampling),
        parts=tuple(draft.parts),
        response=kept(draft.response),
        started_at=draft.started_at,
        ended_at=draft.ended_at,
        usage=draft.usage,
        grade=_graded(Replayability.VIEW_ONLY if draft.content_missing else level, draft.missing),
        source=draft.source,
        extra=kept(draft.extra),
    )
