"""Claude Code sessions: one run a session, side chains as agents of their own."""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING

from butfor.importers.building import Draft, RunBuilder, source_of
from butfor.importers.dialects import anthropic
from butfor.importers.entries import Given, Returned
from butfor.importers.fields import Fields, mapping, moment, printable
from butfor.importers.growing import GrowingRequest
from butfor.importers.requests import usage_of
from butfor.importers.spans import traces
from butfor.runs import Agent, Sampling

if TYPE_CHECKING:
    from collections.abc import Iterator
    from datetime import datetime

    from butfor.canonical import Json
    from butfor.importers.records import Record, Records
    from butfor.importers.tally import Tally
    from butfor.runs import Run

NAME = "claude_code"
_MISSING = (
    "request.system: not in the file",
    "tools: no definitions in the file",
    "sampling.temperature: not in the file",
)
_MAIN = "claude"
_SYNTHETIC = "<synthetic>"


def matches(value: Json) -> bool:
    """Say whether a record is a line of a session."""
    if not isinstance(value, dict) or not isinstance(value.get("type"), str):
        return False
    return isinstance(value.get("sessionId"), str) and ("uuid" in value or "message" in value or "operation" in value)


def read(records: Records, tally: Tally) -> Iterator[Run]:
    """Read one run from each session of the file."""
    for session, lines in traces(records, tally, _lines):
        if not session:
            for _, line in lines:
                tally.ignored.add(f"line of type {line.get('type')}" if "type" in line else "line without a type")
            continue
        run = _Session(lines).run(session, records.digest)
        if run.steps:
            yield run
        else:
            tally.ignored.add("session without an answer of the model")


def _lines(record: Record) -> Iterator[tuple[str, dict[str, Json]]]:
    value = mapping(record.value)
    session = value.get("sessionId")
    yield (printable(session) if isinstance(session, str) else ""), value


@dataclasses.dataclass(kw_only=True, slots=True)
class _Answer:
    """One response of the model, which the session spreads over several lines."""

    message_id: str
    content: list[Json]
    started_at: datetime | None
    model: str | None
    ended_at: datetime | None = None
    usage: Json = None


@dataclasses.dataclass(kw_only=True, slots=True)
class _Lane:
    """The main conversation or a side chain."""

    agent: str
    name: str
    growing: GrowingRequest
    step: int | None = None
    compacted: bool = False


class _Session:
    """Reads the lines of one session in the order of their times."""

    def __init__(self, lines: list[tuple[Record, dict[str, Json]]]) -> None:
        self._builder = RunBuilder(NAME, lines[0][0])
        self._lanes: dict[str, _Lane] = {}
        self._task: Json = None
        self._lines = self._once(_in_order(lines))
        self._answers = self._joined()

    def run(self, session: str, digest: str | None) -> Run:
        for record, line in self._lines:
            self._line(record, line)
        chains = {_chain(line) for _, line in self._lines}
        alone = next(iter(chains)) if len(chains) == 1 else None
        return self._builder.build(
            f"{session}-{alone}" if alone else session,
            task=self._task,
            agents=self._agents(),
            digest=digest,
            extra={"dialect": "anthropic"},
        )

    def _once(self, lines: list[tuple[Record, dict[str, Json]]]) -> list[tuple[Record, dict[str, Json]]]:
        seen: dict[Json, None] = {}
        kept = []
        for record, line in lines:
            uuid = line.get("uuid")
            if isinstance(uuid, str) and uuid in seen:
                self._builder.ignored.add("repeated line")
                continue
            seen[uuid if isinstance(uuid, str) else ""] = None
            kept.append((record, line))
        return kept

    def _joined(self) -> dict[tuple[str, str], _Answer]:
        """Join the lines of each API response: results of its first calls can stand between them."""
        answers: dict[tuple[str, str], _Answer] = {}
        for record, line in self._lines:
            message = mapping(line.get("message"))
            if line.get("type") != "assistant" or _is_synthetic(line):
                continue
            key = _answer_key(record, line)
            time = moment(line.get("timestamp"))
            model = message.get("model")
            answer = answers.setdefault(
                key,
                _Answer(
                    message_id=key[1],
                    content=[],
                    started_at=time,
                    model=printable(model) if isinstance(model, str) else None,
                ),
            )
            content = message.get("content")
            blocks = content if isinstance(content, list) else [{"type": "text", "text": content}] if content else []
            # Each line repeats the whole usage, and a resumed session repeats blocks.
            answer.content += [block for block in blocks if block not in answer.content]
            answer.ended_at = time or answer.ended_at
            answer.usage = message.get("usage", answer.usage)
        return answers

    def _agents(self) -> tuple[Agent, ...]:
        main = _MAIN if _MAIN in self._lanes else None
        return tuple(Agent(name=name, parent=None if name == _MAIN else main) for name in self._lanes)

    def _line(self, record: Record, line: dict[str, Json]) -> None:
        fields = Fields(line, self._builder.ignored, "line")
        kind = fields.text("type")
        fields.known("uuid", "parentUuid", "sessionId", "isSidechain", "agentId", "timestamp", "userType", "version")
        fields.known("cwd", "gitBranch", "requestId", "isMeta", "slug", "entrypoint", "promptId", "sourceToolUseID")
        if kind == "assistant":
            fields.known("message", "isApiErrorMessage", "error")
            self._assistant(record, line)
        elif kind == "user":
            self._user(fields, self._lane(line))
        else:
            lane = self._lane(line) if line.get("subtype") == "compact_boundary" else None
            if lane is not None:
                lane.compacted = True
            self._builder.ignored.add(f"line of type {kind}")
            fields.rest()
        fields.close()

    def _lane(self, line: dict[str, Json]) -> _Lane:
        key = _chain(line) or _MAIN
        if key not in self._lanes:
            name = "0" if key == _MAIN else f"0.{len(self._lanes.keys() - {_MAIN}) + 1}"
            self._lanes[key] = _Lane(agent=key, name=name, growing=GrowingRequest({"messages": []}))
        return self._lanes[key]

    def _assistant(self, record: Record, line: dict[str, Json]) -> None:
        """Make a step of an answer at its first line."""
        if _is_synthetic(line):
            self._builder.ignored.add("message that Claude Code wrote itself")
            return
        answer = self._answers.pop(_answer_key(record, line), None)
        if answer is None:
            return
        lane = self._lane(line)
        step = len(self._builder)
        self._builder.decide(
            Draft(
                parts=list(anthropic.decided(answer.content, self._builder.ignored)),
                request=lane.growing.at(step),
                agent=lane.agent,
                lane=lane.name,
                sampling=Sampling(model=answer.model, provider="anthropic"),
                usage=usage_of(answer.usage),
                started_at=answer.started_at,
                ended_at=answer.ended_at,
                missing=(*_MISSING, *(("request: the context was compacted",) if lane.compacted else ())),
                content_missing=True,
                follows=lane.step,
                source=source_of(record, answer.message_id[:100]),
            )
        )
        lane.step = step
        lane.growing.extend([{"role": "assistant", "content": answer.content}])

    def _user(self, fields: Fields, lane: _Lane) -> None:
        content = fields.mapping("message").get("content")
        for entry in anthropic.entries([{"role": "user", "content": content}], self._builder.ignored):
            if isinstance(entry, Returned):
                self._builder.observe(entry)
                self._builder.uses([entry.call_id] if entry.call_id else [], len(self._builder))
            elif isinstance(entry, Given):
                if self._task is None and lane.agent == _MAIN:
                    self._task = entry.content
                if lane.step is not None:
                    self._builder.show(entry, at=lane.step)
        lane.growing.extend([{"role": "user", "content": content}])


def _is_synthetic(line: dict[str, Json]) -> bool:
    return bool(line.get("isApiErrorMessage")) or mapping(line.get("message")).get("model") == _SYNTHETIC


def _answer_key(record: Record, line: dict[str, Json]) -> tuple[str, str]:
    identity = mapping(line.get("message")).get("id")
    name = printable(identity) if isinstance(identity, str) else f"line {record.line} {record.part}"
    return _chain(line) or _MAIN, name


def _chain(line: dict[str, Json]) -> str | None:
    """Return the name of a side chain, None for the main conversation."""
    agent = line.get("agentId")
    if isinstance(agent, str) and agent:
        return printable(agent)
    return "sidechain" if line.get("isSidechain") is True else None


def _in_order(lines: list[tuple[Record, dict[str, Json]]]) -> list[tuple[Record, dict[str, Json]]]:
    """Sort by time; a line without one (a summary) stays behind the line before it."""
    keyed: list[tuple[datetime, tuple[Record, dict[str, Json]]]] = []
    for each in lines:
        time = moment(each[1].get("timestamp")) or (keyed[-1][0] if keyed else None)
        if time is None:
            return lines
        keyed.append((time, each))
    return [each for _, each in sorted(keyed, key=lambda pair: pair[0])]
