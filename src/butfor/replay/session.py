"""What answers a boundary: the sans-IO protocol that recording and replaying share.

A boundary calls `begin` with what it is asked. The session answers either `Served` (here is the answer) or `Live` (go
and get it, then call `finish` or `fail`). The session does no input or output of its own, so that one implementation
serves synchronous and asynchronous agents.
"""

from __future__ import annotations

import itertools
import os
import threading
import time
from abc import ABC, abstractmethod
from dataclasses import dataclass
from hashlib import sha256
from typing import TYPE_CHECKING, Any, Protocol, final

from butfor import canonical
from butfor.replay import codecs
from butfor.replay.crossings import Crossing, difference
from butfor.replay.lanes import Lane

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from butfor.canonical import Json


@final
@dataclass(slots=True)
class Served:
    """The session knows the answer.

    Attributes:
        response: JSON text of the answer.
        codec: How it becomes the object that the agent sees.
        error: What to raise instead.
        seconds: How long the answer took.
    """

    response: str | None
    codec: str
    error: tuple[str, str] | None = None
    seconds: float = 0.0

    def deliver(self) -> Any:
        """Return the answer as the agent sees it, or raise the recorded error."""
        if self.error is not None:
            raise codecs.rebuild_error(*self.error)
        return codecs.load(self.codec, self.response or "null")

    @property
    def is_cancelled(self) -> bool:
        """Whether the agent cancelled the call; it will do so again, and must be waited for."""
        return self.error is not None and self.error[0] == codecs.CANCELLED

    def stream(self, *, with_error: bool = True) -> Iterator[Any]:
        """Yield the chunks as the agent saw them, then raise the recorded error, where it came midway.

        What stands in a stream's place and is no list of chunks is its only chunk.
        """
        value = codecs.load(self.codec, self.response or "[]")
        yield from value if isinstance(value, list | tuple) else [value]
        if self.error is not None and with_error:
            raise codecs.rebuild_error(*self.error)


class Live(Lane):
    """The boundary must get the answer itself; while it does, this is the lane of what runs inside the crossing.

    Attributes:
        crossing: What is known of the crossing so far.
        lane: Where it was begun.
        payload: The request to send, which an operation may have changed.
        text: The request's text as the agent asked it.
        policy: Who decides instead of the recorded policy, where an operation says so.
        attempts: How often it was tried.
        started: When it was begun, in seconds.
    """

    __slots__ = ("attempts", "crossing", "lane", "payload", "policy", "started", "text")

    def __init__(self, crossing: Crossing, lane: Lane, payload: Json, text: str) -> None:
        # As `lane.enter` makes it, but in place: one is made for every step of every rollout, and a call to the other
        # constructor would double its cost (1.7 µs against 1.0).
        self.session = lane.session
        self.path = f"{lane.path}/{crossing.occurrence}"
        self.step = lane.step
        self.inside_model = crossing.kind == "model" or lane.inside_model
        self.crossings = self.attempts = 0
        self.parent = self.spawned = self.last = self.noise = self.clock = None
        self.edits = ()
        self.crossing = crossing
        self.lane = lane
        self.payload = payload
        self.text = text
        self.policy: Callable[..., Any] | None = None
        self.started = time.perf_counter()


class Unsettled(Protocol):
    """A crossing that waits for what the agent does next."""

    def settle(self) -> None:
        """Complete it: nothing more will come."""
        ...


class Session(ABC):
    """Counts crossings and steps, keeps what happened, and latches what ends it.

    Attributes:
        crossings: Complete crossings, in order of completion.
        latched: The error that ended the session; every later boundary raises it again, caught or not.
        process: The process that may cross boundaries of this session.
        unsettled: Crossings that wait for what the agent does next. Under its lane, one that failed and that a client
            may repeat by itself; under itself, a stream that is being read.
        ambient: Whether module-level time and randomness are boundaries too (see `ambient`).
    """

    def __init__(self, *, first_seq: int = 0, ambient: bool = False) -> None:
        self.root = Lane(self, "0")
        self.crossings: list[Crossing] = []
        self.latched: BaseException | None = None
        self.process = os.getpid()
        self.ambient = ambient
        self.next_seq = first_seq
        self.steps = 0
        self.unsettled: dict[object, Unsettled] = {}
        self._began = itertools.count()
        # Threads of one agent finish crossings at the same time; counters and the list move together.
        # Reentrant, because a simulator that is asked under it may read the clock.
        self._lock = threading.RLock()

    @abstractmethod
    def begin(self, lane: Lane, kind: str, name: str, payload: Json, effect: str = "") -> Served | Live:
        """Say how a crossing is answered.

        Args:
            lane: Where the boundary was reached.
            kind: Which boundary.
            name: The model's or tool's name.
            payload: The request, a JSON value.
            effect: A tool's declared effect.
        """

    @abstractmethod
    def retries(self, ticket: Live, error: BaseException) -> float | None:
        """Say after how many seconds a failed attempt is repeated with the same draw; None where it is not."""

    def finish(self, ticket: Live, value: Any) -> Any:
        """Complete a crossing with the answer; returns the answer as a replay will serve it."""
        # The agent gets what was read back from the text, so that it meets the same object in a replay.
        # Text is itself, and the most frequent answer.
        if type(value) is str and "$" not in value:
            self.complete(ticket, canonical.quote(value), codecs.PLAIN)
            return value
        response, codec, copy = codecs.dump_and_copy(value)
        self.complete(ticket, response, codec)
        return copy

    def fail(self, ticket: Live, error: BaseException) -> None:
        """Complete a crossing with the error that it raised."""
        ticket.crossing.error = codecs.describe_error(error)
        self.complete(ticket, None, "")

    def complete(self, ticket: Live, response: str | None, codec: str) -> None:
        """Put a finished crossing in its place: models get their step index now, by completion."""
        crossing, lane = ticket.crossing, ticket.lane
        crossing.response = response
        crossing.codec = codec
        crossing.seconds = time.perf_counter() - ticket.started
        if lane.inside_model:
            return  # it belongs to the model call
        with self._lock:
            crossing.seq = self.next_seq
            self.next_seq += 1
            if crossing.kind == "model":
                crossing.step = lane.step = self.steps
                self.steps += 1
                lane.last = (crossing.seq, ticket.text)
            self.crossings.append(crossing)
            self.placed(crossing)

    @abstractmethod
    def noise_seed(self, lane: Lane) -> tuple[bool, int]:
        """Return (whether it is drawn again, seed) of the ambient randomness since the lane's last crossing."""

    @abstractmethod
    def placed(self, crossing: Crossing) -> None:
        """Hear of a crossing that has just been completed, in order; called under the session's lock."""

    def open_crossing(self, lane: Lane, kind: str, name: str, text: str, digest: str, effect: str) -> Crossing:
        """Number a crossing that begins now and express its request as a difference from the last of its lane."""
        if self.unsettled and lane in self.unsettled:
            self.unsettled.pop(lane).settle()
        # Only model requests grow with the history; other kinds are stored whole.
        base, head, middle, tail = difference(lane.last if kind == "model" else None, text)
        began = next(self._began)  # atomic: threads of one agent may begin crossings at the same time
        occurrence = lane.crossings
        lane.crossings = occurrence + 1
        # By position: naming twenty fields takes longer than filling them.
        return Crossing(
            -1, kind, name, lane.path, occurrence, lane.step, self.steps, began, digest, base, head, middle, tail,
            None, None, "", effect,
        )  # fmt: skip

    @abstractmethod
    def unplaced(self, error: BaseException) -> None:
        """Hear that a boundary was refused to code that may be this agent's; called from that code's thread."""

    def settle(self) -> None:
        """Complete what still waits: the agent has ended."""
        while self.unsettled:
            self.unsettled.popitem()[1].settle()

    def latch(self, error: BaseException) -> BaseException:
        """End the session with this error, whatever the agent does about it; the first one stays."""
        if self.latched is None:
            self.latched = error
        return self.latched


def text_and_digest(payload: Json) -> tuple[str, str]:
    """Write a request and hash it."""
    text = canonical.encode(payload)
    return text, "sha256:" + sha256(text.encode("ascii")).hexdigest()
