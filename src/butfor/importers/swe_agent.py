"""SWE-agent trajectories, and those of its successor mini-swe-agent."""

from __future__ import annotations

from typing import TYPE_CHECKING

from butfor import canonical
from butfor.importers.building import Draft, RunBuilder, source_of, task_of
from butfor.importers.entries import asked, said
from butfor.importers.fields import Fields, kept, listing, mapping, printable
from butfor.importers.growing import GrowingRequest
from butfor.importers.labels import LABELS, first_outcome
from butfor.importers.parsing import unpacked
from butfor.importers.requests import sampling_of
from butfor.importers.tally import Ignored
from butfor.importers.transcripts import CHAT, add_transcript
from butfor.runs import Observation, PartKind

if TYPE_CHECKING:
    from collections.abc import Iterator

    from butfor.canonical import Json
    from butfor.importers.records import Record, Records
    from butfor.importers.tally import Tally
    from butfor.runs import Run

NAME = "swe_agent"
_TOOLS = "tools: no definitions in the file"


def matches(value: Json) -> bool:
    """Say whether a record is a trajectory of either agent."""
    if not isinstance(value, dict):
        return False
    if isinstance(value.get("trajectory"), list) and ("history" in value or "info" in value):
        return True
    return "trajectory_format" in value and isinstance(value.get("messages"), list)


def read(records: Records, tally: Tally) -> Iterator[Run]:
    """Read one run from each trajectory."""
    for record in records.each(tally.problem):
        value = mapping(record.value)
        if not matches(value):
            tally.ignored.add("record of another kind")
            continue
        run = _run(value, record, records.digest)
        if run is None:
            tally.problem(record.malformed("the trajectory has no step of the agent", "history"))
        else:
            yield run


def _run(value: dict[str, Json], record: Record, digest: str | None) -> Run | None:
    builder = RunBuilder(NAME, record)
    history = listing(value.get("history")) or listing(value.get("messages"))
    if history:
        task = _from_history(builder, history, value, record)
    else:
        missing = ("request.messages: no history in the file", _TOOLS)
        _from_trajectory(builder, listing(value.get("trajectory")), record, first=0, missing=missing)
        task = None
    if not len(builder):
        return None
    info = mapping(value.get("info"))
    problem = mapping(mapping(_configuration(value)).get("problem_statement"))
    name = problem.get("id") or info.get("instance_id") or value.get("instance_id")
    known = {key: info[key] for key in ("exit_status", "model_stats", "mini_version") if info.get(key) is not None}
    for key in sorted(info.keys() - {*known, *LABELS, "submission", "config", "instance_id"}):
        builder.ignored.add(f"info.{key}")
    dialect = "mini-swe-agent" if "trajectory_format" in value else "swe-agent"
    mark = canonical.digest([history, value.get("trajectory")]).split(":")[-1][:8]
    return builder.build(
        f"{name}-{mark}" if isinstance(name, str) else f"swe-{mark}",
        task=task,
        output=info.get("submission"),
        outcome=first_outcome(info | value, builder.ignored),
        dialect=dialect,
        digest=digest,
        extra={"info": known} if known else {},
    )


def _configuration(value: dict[str, Json]) -> dict[str, Json]:
    """Return the replay configuration, which SWE-agent writes as an object or as its JSON text."""
    return mapping(unpacked(value.get("replay_config")))


def _from_history(builder: RunBuilder, history: list[Json], value: dict[str, Json], record: Record) -> Json:
    configuration = _configuration(value) or mapping(mapping(value.get("info")).get("config"))
    model = mapping(mapping(configuration.get("agent")).get("model")) or mapping(configuration.get("model"))
    processors = listing(mapping(configuration.get("agent")).get("history_processors"))
    parameters = mapping(model.get("completion_kwargs")) or mapping(model.get("model_kwargs"))
    named = {"model": model.get("name", model.get("model_name")), "temperature": model.get("temperature")}
    body = {key: each for key, each in (named | {"top_p": model.get("top_p")} | parameters).items() if each is not None}
    missing = ["request: rebuilt from the history", _TOOLS]
    if processors:
        missing.append("request.messages: shortened by history processors")
    missing += [f"sampling.{key}: not in the file" for key in ("model", "temperature") if key not in body]
    ended = [message for message in history if mapping(message).get("role") == "exit"]
    history = [message for message in history if mapping(message).get("role") != "exit"]
    builder.ignored.update({"exit message": len(ended)} if ended else {})
    messages = [_message(mapping(message), builder.ignored) for message in history]
    growing = GrowingRequest(body | {"messages": []})
    shown = max((at + 1 for at, message in enumerate(history) if mapping(message).get("is_demo")), default=0)
    growing.extend(messages[:shown])  # a demonstration is part of the prompt: nobody decided it in this run
    entries = add_transcript(
        builder,
        messages[shown:],
        CHAT,
        growing,
        record=record,
        sampling=sampling_of(body, Ignored()),
        missing=tuple(missing),
        path="history",
        first=shown,
    )
    # The last action (submit) is often in the trajectory only.
    rest = listing(value.get("trajectory"))[len(builder) :]
    _from_trajectory(builder, rest, record, first=len(builder), missing=tuple(missing))
    return task_of(entries) or task_of(CHAT.entries(messages[:shown], Ignored()))


def _message(message: dict[str, Json], ignored: Ignored) -> Json:
    """Return a message as the model saw it; what the agent noted beside it is counted."""
    fields = Fields(message, ignored, "history")
    kept = {key: fields.take(key) for key in ("role", "content", "tool_calls") if message.get(key) is not None}
    ids = listing(fields.take("tool_call_ids"))
    call_id = fields.take("tool_call_id") or (ids[0] if len(ids) == 1 else None)
    if isinstance(call_id, str):
        kept = kept | {"role": "tool", "tool_call_id": printable(call_id)}
    fields.known("agent", "message_type", "thought", "action", "is_demo", "extra", "thinking_blocks", "cache_control")
    fields.close()
    return {"role": "user", "content": None} | kept


def _from_trajectory(
    builder: RunBuilder, steps: list[Json], record: Record, *, first: int, missing: tuple[str, ...]
) -> None:
    """Read actions and observations that no history holds."""
    for position, value in enumerate(steps, start=first):
        fields = Fields(value, builder.ignored, "step")
        action, thought = fields.text("action"), fields.text("thought")
        fields.known("response", "execution_time", "state", "query", "extra_info", "messages")
        observation = fields.take("observation")
        parts = [*said(thought, PartKind.REASONING), asked(f"step_{position}", "shell", {"command": action or ""})]
        builder.decide(
            Draft(
                parts=[*parts, Observation(call_id=f"step_{position}", content=kept(observation))],
                missing=missing,
                content_missing=True,
                source=source_of(record, f"trajectory[{position}]"),
            )
        )
        fields.close()
