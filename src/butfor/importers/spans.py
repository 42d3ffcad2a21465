"""A span in no vendor's vocabulary: a model call, a tool call, an agent, or something around them."""

from __future__ import annotations

import dataclasses
from enum import StrEnum
from typing import TYPE_CHECKING, TypeVar

from butfor.importers.tally import Ignored
from butfor.runs import Sampling, Usage

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator
    from datetime import datetime

    from butfor.canonical import Json
    from butfor.importers.entries import Decided
    from butfor.importers.records import Record, Records
    from butfor.importers.tally import Tally


Item = TypeVar("Item")


class Kind(StrEnum):
    """What a span stands for."""

    MODEL = "model"
    TOOL = "tool"
    AGENT = "agent"
    JUDGE = "judge"
    """An evaluator: what happens below it is no decision of the agent."""
    OTHER = "other"


@dataclasses.dataclass(kw_only=True, slots=True)
class Span:
    """One span.

    Attributes:
        clock: (end, start) in nanoseconds: the order of recorded completion.
        messages: What a model was sent, as Chat Completions messages; None where it was not captured.
        decided: What it answered; None where it was not captured.
        tools: Tool definitions; None where they were not captured.
        request: The body as recorded, where the source has it in a provider's dialect.
        result: What a tool returned; None where it was not captured.
        given: What an agent was given (or the root span's input).
        returned: What it returned.
        scores: Evaluations of the trace: (name, value, detail).
        ignored: What the decoder could not place.
    """

    trace_id: str
    span_id: str
    parent_id: str | None
    kind: Kind
    record: Record
    name: str = ""
    clock: tuple[int, int] = (0, 0)
    started_at: datetime | None = None
    ended_at: datetime | None = None
    agent: str | None = None
    messages: list[Json] | None = None
    decided: Decided | None = None
    tools: list[Json] | None = None
    request: dict[str, Json] | None = None
    sampling: Sampling = dataclasses.field(default_factory=Sampling)
    usage: Usage = dataclasses.field(default_factory=Usage)
    missing: tuple[str, ...] = ()
    content_missing: bool = False
    call_id: str | None = None
    arguments: Json = None
    result: Json = None
    is_error: bool = False
    given: Json = None
    returned: Json = None
    scores: list[tuple[str, Json, Json]] = dataclasses.field(default_factory=list)
    session: str | None = None
    ignored: Ignored = dataclasses.field(default_factory=Ignored)


def traces(
    records: Records, tally: Tally, items_of: Callable[[Record], Iterable[tuple[str, Item]]]
) -> Iterator[tuple[str, list[tuple[Record, Item]]]]:
    """Yield (trace id, its items, each with its place), holding only traces that are not complete yet.

    Items of a trace may stand anywhere in the file, so a first reading notes the last record of each trace; the second
    hands a trace over when that record has passed. Memory is what is open at once, not the file.

    Args:
        records: The file.
        tally: Told what cannot be read.
        items_of: Yields (trace id, item) for every item of a record.
    """
    last: dict[str, int] = {}
    for position, record in enumerate(records.each()):
        for key, _ in items_of(record):
            last[key] = position
    held: dict[str, list[tuple[Record, Item]]] = {}
    for position, record in enumerate(records.each(tally.problem)):
        place = dataclasses.replace(record, value=None)  # an item must not keep its whole batch alive
        complete: dict[str, None] = {}
        for key, item in items_of(record):
            held.setdefault(key, []).append((place, item))
            if last[key] == position:
                complete[key] = None
        del record
        for key in complete:
            yield key, held.pop(key)
