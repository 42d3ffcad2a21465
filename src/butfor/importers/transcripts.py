"""Steps from one list of messages that holds the whole conversation."""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING

from butfor.importers.building import Draft, source_of
from butfor.importers.dialects import anthropic, chat, responses
from butfor.importers.entries import Decided, Entry, Returned

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from butfor.canonical import Json
    from butfor.importers.building import RunBuilder
    from butfor.importers.growing import GrowingRequest
    from butfor.importers.records import Record
    from butfor.importers.tally import Ignored
    from butfor.runs import Sampling


@dataclasses.dataclass(frozen=True, kw_only=True)
class Dialect:
    """How a list of messages is read.

    Attributes:
        key: Where the list stands in a request body.
        joins: Whether several items in a row can be one response of the model.
    """

    name: str
    entries: Callable[[list[Json], Ignored], list[Entry]]
    key: str = "messages"
    joins: bool = False


CHAT = Dialect(name="chat", entries=chat.entries)
RESPONSES = Dialect(name="responses", entries=responses.entries, key="input", joins=True)
ANTHROPIC = Dialect(name="anthropic", entries=anthropic.entries)


def units(messages: list[Json], dialect: Dialect, ignored: Ignored) -> Iterator[tuple[list[Json], list[Entry]]]:
    """Yield (messages, what they say), one unit for each decision and each thing that is not one."""
    held: list[Json] = []
    decided: Decided | None = None
    for message in messages:
        entries = dialect.entries([message], ignored)
        if dialect.joins and len(entries) == 1 and isinstance(entries[0], Decided):
            held.append(message)
            decided = Decided(parts=(decided.parts if decided else ()) + entries[0].parts)
            continue
        if decided is not None:
            yield held, [decided]
            held, decided = [], None
        yield [message], entries
    if decided is not None:
        yield held, [decided]


def add_transcript(
    builder: RunBuilder,
    messages: list[Json],
    dialect: Dialect,
    growing: GrowingRequest,
    *,
    record: Record,
    sampling: Sampling,
    missing: tuple[str, ...],
    content_missing: bool = False,
    path: str = "messages",
    first: int = 0,
) -> list[Entry]:
    """Add a step for every decision in the messages, with the messages before it as its request.

    Args:
        builder: Takes the steps.
        messages: The conversation.
        dialect: How it is written.
        growing: The request, without messages yet.
        record: Where the conversation stands.
        sampling: Parameters of every step.
        missing: What keeps every step from exact replay.
        content_missing: Whether part of every request is known to be missing.
        path: Name of the list in the record.
        first: Position of the first message in the record's list.

    Returns:
        The conversation's entries.
    """
    seen: list[Entry] = []
    results: list[str] = []
    position = first
    for raw, entries in units(messages, dialect, builder.ignored):
        for entry in entries:
            if isinstance(entry, Decided):
                step = len(builder)
                draft = Draft(
                    parts=list(entry.parts),
                    request=growing.at(step),
                    agent=entry.name or "agent",
                    sampling=sampling,
                    missing=missing,
                    content_missing=content_missing,
                    follows=step - 1 if step else None,
                    source=source_of(record, f"{path}[{position}]"),
                )
                builder.decide(draft)
                builder.uses(results, step)
                results = []
            elif isinstance(entry, Returned):
                builder.observe(entry)
                results += [entry.call_id] if entry.call_id else []
            else:
                builder.show(entry)
        growing.extend(raw)
        seen += entries
        position += len(raw)
    return seen
