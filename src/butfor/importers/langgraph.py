"""LangGraph state histories: one run from each thread, from the messages that its states gather."""

from __future__ import annotations

from typing import TYPE_CHECKING

from butfor.importers.building import RunBuilder, task_of
from butfor.importers.dialects import langchain
from butfor.importers.entries import to_chat
from butfor.importers.fields import listing, mapping, printable, whole
from butfor.importers.growing import GrowingRequest
from butfor.importers.spans import traces
from butfor.importers.transcripts import CHAT, add_transcript
from butfor.runs import Sampling

if TYPE_CHECKING:
    from collections.abc import Iterator

    from butfor.canonical import Json
    from butfor.importers.records import Record, Records
    from butfor.importers.tally import Tally
    from butfor.runs import Run

NAME = "langgraph"
_MISSING = (
    "request: rebuilt from the state's messages (a system prompt inside a node is not in the state)",
    "tools: no definitions in the state",
    "sampling.model: not in the state",
    "sampling.temperature: not in the state",
)


def matches(value: Json) -> bool:
    """Say whether a record is a state snapshot, or a list of them."""
    if isinstance(value, list):
        return bool(value) and matches(value[0])
    if not isinstance(value, dict) or not isinstance(value.get("values"), dict | list):
        return False
    return "parent_config" in value or ("config" in value and "metadata" in value)


def read(records: Records, tally: Tally) -> Iterator[Run]:
    """Read one run from each thread."""
    for thread, held in traces(records, tally, _snapshots):
        main = [(record, snapshot) for record, snapshot in held if not _configured(snapshot).get("checkpoint_ns")]
        if len(main) < len(held):
            tally.ignored.add("checkpoint of a subgraph", len(held) - len(main))
        run = _run(thread, main, records.digest, tally) if main else None
        if run is not None:
            yield run


def _snapshots(record: Record) -> Iterator[tuple[str, dict[str, Json]]]:
    for value in listing(record.value) or [record.value]:
        snapshot = mapping(value)
        thread = _configured(snapshot).get("thread_id")
        yield (printable(thread) if isinstance(thread, str) else "thread"), snapshot


def _configured(snapshot: dict[str, Json]) -> dict[str, Json]:
    return mapping(mapping(snapshot.get("config")).get("configurable"))


def _run(thread: str, held: list[tuple[Record, dict[str, Json]]], digest: str | None, tally: Tally) -> Run | None:
    """Read the newest state's messages; each state holds all those before it, unless the thread was forked."""
    line = _newest_line(held)
    if len(line) < len(held):
        tally.ignored.add("checkpoint on another branch of the thread", len(held) - len(line))
    record, last = line[-1]
    builder = RunBuilder(NAME, record)
    values = mapping(last.get("values"))
    raw = listing(last.get("values")) or listing(values.get("messages"))
    entries = langchain.entries(raw, builder.ignored)
    read = add_transcript(
        builder,
        to_chat(entries),
        CHAT,
        GrowingRequest({"messages": []}),
        record=record,
        sampling=Sampling(),
        missing=_MISSING,
        path="values.messages",
    )
    if not len(builder):
        tally.ignored.add("thread without an answer of a model")
        return None
    for key in values:
        if key not in ("messages", "__start__", "__pregel_tasks") and not key.startswith("branch:"):
            builder.ignored.add(f"state channel {key}")
    extra = {"checkpoints": [_configured(snapshot).get("checkpoint_id") for _, snapshot in line]}
    return builder.build(thread, task=task_of(read), digest=digest, extra=extra)


def _newest_line(held: list[tuple[Record, dict[str, Json]]]) -> list[tuple[Record, dict[str, Json]]]:
    """Return the snapshots from the first to the newest, along their parents."""
    by_id = {str(_configured(snapshot).get("checkpoint_id")): (record, snapshot) for record, snapshot in held}
    # Checkpoint ids are time-ordered UUIDs; the step breaks ties where an export dropped them.
    newest = max(
        held,
        key=lambda pair: (
            str(_configured(pair[1]).get("checkpoint_id") or ""),
            whole(mapping(pair[1].get("metadata")).get("step")) or 0,
            len(listing(mapping(pair[1].get("values")).get("messages"))),
        ),
    )
    line = [newest]
    visited = {id(newest[1])}
    while True:
        parent = mapping(mapping(line[-1][1].get("parent_config")).get("configurable")).get("checkpoint_id")
        above = by_id.get(str(parent)) if parent else None
        if above is None or id(above[1]) in visited:
            return line[::-1]
        visited.add(id(above[1]))
        line.append(above)
