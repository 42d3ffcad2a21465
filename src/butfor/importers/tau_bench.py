"""Results of tau-bench (a list of runs with `traj` and `reward`) and tau2-bench (`simulations`)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from butfor import canonical
from butfor.importers.building import RunBuilder, task_of
from butfor.importers.fields import listing, mapping
from butfor.importers.growing import GrowingRequest
from butfor.importers.labels import outcome_of
from butfor.importers.requests import sampling_of
from butfor.importers.tally import Ignored
from butfor.importers.transcripts import CHAT, add_transcript

if TYPE_CHECKING:
    from collections.abc import Iterator

    from butfor.canonical import Json
    from butfor.importers.records import Record, Records
    from butfor.importers.tally import Tally
    from butfor.runs import Run

NAME = "tau_bench"


def matches(value: Json) -> bool:
    """Say whether a record is a run, or a file of simulations."""
    if not isinstance(value, dict):
        return False
    if isinstance(value.get("traj"), list) and "reward" in value:
        return True
    if isinstance(value.get("simulations"), list) and "tasks" in value:
        return True
    return "reward_info" in value and "task_id" in value and isinstance(value.get("messages"), list)


def read(records: Records, tally: Tally) -> Iterator[Run]:
    """Read one run from each trial."""
    for record in records.each(tally.problem):
        value = mapping(record.value)
        if not matches(value):
            tally.ignored.add("record of another kind")
            continue
        results = mapping(value.get("info")) if "simulations" in value else {}
        for simulation in listing(value.get("simulations")) or [value]:
            run = _run(mapping(simulation), mapping(results.get("agent_info")), record, records.digest)
            if run is None:
                tally.problem(record.malformed("the run has no message of the agent", "traj"))
            else:
                yield run


def _run(value: dict[str, Json], agent: dict[str, Json], record: Record, digest: str | None) -> Run | None:
    builder = RunBuilder(NAME, record)
    is_first = "traj" in value
    messages = listing(value.get("traj" if is_first else "messages"))
    body: dict[str, Json] = {"model": agent["llm"]} if isinstance(agent.get("llm"), str) else {}
    body |= {key: each for key, each in mapping(agent.get("llm_args")).items() if key != "tools"}
    missing = ["request: rebuilt from the transcript", "tools: no definitions in the file"]
    missing += [f"sampling.{key}: not in the file" for key in ("model", "temperature") if key not in body]
    if not is_first:
        missing.append("request.system: not in the file")
    entries = add_transcript(
        builder,
        [_message(mapping(message), builder.ignored) for message in messages],
        CHAT,
        GrowingRequest(body | {"messages": []}),
        record=record,
        sampling=sampling_of(body, Ignored()),
        missing=tuple(missing),
        content_missing=not is_first,
        path="traj" if is_first else "messages",
    )
    if not len(builder):
        return None
    given = mapping(value.get("reward_info"))
    reward = value.get("reward", given.get("reward"))
    mark = canonical.digest(messages).split(":")[-1][:8]
    names = ("task_id", "trial", "seed", "termination_reason", "agent_cost", "duration")
    extra = {key: value[key] for key in names if value.get(key) is not None}
    task = mapping(mapping(value.get("info")).get("task"))
    if isinstance(task.get("instruction"), str):
        extra["instruction"] = task["instruction"]
    return builder.build(
        f"tau-{str(value.get('task_id'))[:40]}-{str(value.get('trial'))[:40]}-{mark}",
        task=task_of(entries),
        outcome=outcome_of(reward, "reward", builder.ignored, given or mapping(value.get("info")).get("reward_info")),
        dialect="tau-bench" if is_first else "tau2-bench",
        digest=digest,
        extra=extra,
    )


def _message(message: dict[str, Json], ignored: Ignored) -> Json:
    """Return a message in Chat Completions form; the simulated user's own tool calls are what it shows."""
    if message.get("role") == "tool" and "id" in message and "tool_call_id" not in message:
        if message.get("requestor") == "user":
            ignored.add("tool result of the simulated user")
            return {"role": "user", "content": message.get("content")}
        result = {"role": "tool", "tool_call_id": message["id"], "content": message.get("content")}
        return result | ({"is_error": True} if message.get("error") else {})
    kept: dict[str, Json] = {key: message[key] for key in ("role", "content", "name", "tool_call_id") if key in message}
    calls = listing(message.get("tool_calls"))
    if calls and message.get("role") == "assistant":
        kept["tool_calls"] = [_call(mapping(call)) for call in calls]
    elif calls:
        ignored.add("tool call of the simulated user", len(calls))
    return {"role": "user", "content": None} | kept


def _call(call: dict[str, Json]) -> Json:
    if isinstance(call.get("function"), dict):
        return call
    arguments = call.get("arguments")
    text = arguments if isinstance(arguments, str) else canonical.encode(arguments)
    return {"id": call.get("id"), "type": "function", "function": {"name": call.get("name"), "arguments": text}}
