"""One policy decision over HTTP, however many requests the client makes for it.

An official client repeats a failed request by itself, and each repetition reaches the transport as a new request. They
are one crossing: a failure that the client may repeat waits (`Session.unsettled`) until the repetition comes, or until
the agent does something else, which shows that it was final.
"""

from __future__ import annotations

import json
import sys
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from butfor import canonical
from butfor.errors import TransportFault
from butfor.replay import codecs
from butfor.replay.http_messages import Asked, Event, EventReader, streamed_answer
from butfor.replay.session import Served

if TYPE_CHECKING:
    from collections.abc import Mapping

    from butfor.canonical import Json
    from butfor.replay.lanes import Lane
    from butfor.replay.session import Live

RETRIED_STATUSES = frozenset({408, 409, 429})
"""Statuses below 500 after which the official clients send a request again."""


@dataclass(slots=True, eq=False)
class Exchange:
    """A decision under way.

    Attributes:
        asked: The request, as the client sent it first.
        lane: Where it was sent.
        ticket: The open crossing.
    """

    asked: Asked
    lane: Lane
    ticket: Live
    _last: dict[str, Json] | BaseException | None = None

    def body(self) -> bytes | None:
        """Return the body to send where it is not the client's own (another seed, an edited history)."""
        if self.ticket.payload is self.asked.payload:
            return None
        return json.dumps(self.ticket.payload["body"]).encode()

    def pause(self, fault: TransportFault) -> float | None:
        """Say after how many seconds this transport sends the request again; None leaves it to the client.

        Raises:
            TransportFault: The session gave up, and with it the rollout.
        """
        session = self.lane.session
        pause = session.retries(self.ticket, fault)
        if pause is not None:
            self.ticket.attempts += 1
        elif session.latched is not None:
            session.fail(self.ticket, fault)
            raise session.latched
        return pause

    def answer(self, answer: dict[str, Json]) -> dict[str, Json]:
        """Complete the crossing with a whole answer, unless the client may send the request again."""
        if self._may_be_repeated(answer):
            self._wait(answer)
            return answer
        answered: dict[str, Json] = self.lane.session.finish(self.ticket, answer)
        return answered

    def failed(self, error: BaseException) -> None:
        """Take note that no answer came; it is final unless the client sends the request again."""
        self._wait(error)

    def abandon(self, error: BaseException) -> None:
        """Complete the crossing with an error that no client repeats (a cancelled task)."""
        self.lane.session.fail(self.ticket, error)

    def settle(self) -> None:
        """Complete the crossing with the last failure: the agent went on without another attempt."""
        last, self._last = self._last, None
        if isinstance(last, BaseException):
            self.lane.session.fail(self.ticket, last)
        elif last is not None:
            self.lane.session.finish(self.ticket, last)

    def is_repeated_by(self, asked: Asked) -> bool:
        """Whether a request is the client's own repetition of this one."""
        return asked.attempt > 0 and self.ticket.text == canonical.encode_exact(asked.payload)

    def _may_be_repeated(self, answer: dict[str, Json]) -> bool:
        says = answer["headers"].get("x-should-retry")
        if not self.asked.client or says == "false":
            return False
        return says == "true" or answer["status"] in RETRIED_STATUSES or answer["status"] >= 500

    def _wait(self, last: dict[str, Json] | BaseException) -> None:
        self._last = last
        self.lane.session.unsettled[self.lane] = self


def open_exchange(lane: Lane, asked: Asked) -> Exchange | Served:
    """Begin a decision, or go on with the one that this request repeats.

    Raises:
        ReplayError: The session refuses it; see `Session.begin`.
    """
    waiting = lane.session.unsettled.get(lane)
    if isinstance(waiting, Exchange) and waiting.is_repeated_by(asked):
        if lane.session.latched is not None:
            raise lane.session.latched
        del lane.session.unsettled[lane]
        return waiting
    verdict = lane.session.begin(lane, "model", asked.name, asked.payload)
    return verdict if isinstance(verdict, Served) else Exchange(asked=asked, lane=lane, ticket=verdict)


@dataclass(slots=True, eq=False)
class Streaming:
    """A streamed answer under way; complete when its consumer closes it, whether or not it was read to its end."""

    exchange: Exchange
    status: int
    headers: Mapping[str, str]
    events: list[Event] = field(default_factory=list)
    _reader: EventReader = field(default_factory=EventReader)
    _open: bool = True

    def start(self) -> None:
        """Count the stream as the answer."""
        self.exchange.lane.session.unsettled[self] = self

    def feed(self, content: bytes) -> list[bytes]:
        """Take bytes from the model; returns the events that they complete, as a replay will send them."""
        events = self._reader.feed(content)
        self.events += events
        return [event.written() for event in events]

    def settle(self) -> None:
        """Complete the crossing of a stream that the agent never closed."""
        self.close()

    def close(self, broken: BaseException | None = None) -> None:
        """Complete the crossing with what has come so far."""
        if not self._open:
            return
        self._open = False
        session = self.exchange.lane.session
        session.unsettled.pop(self, None)
        lost = None if broken is None else (type(broken).__name__, str(broken))
        answer = streamed_answer(self.status, self.headers, self.events, lost)
        session.complete(self.exchange.ticket, canonical.encode_exact(answer), codecs.PLAIN)


def fault_of(status: int, content: bytes) -> TransportFault | None:
    """Say whether a status means that no answer content arrived (429, 5xx)."""
    if status != 429 and status < 500:
        return None
    return TransportFault(f"the model answered with status {status} ({content[:120].decode('utf-8', 'replace')})")


def served_headers(answer: Mapping[str, Json]) -> dict[str, str]:
    """Return an answer's headers as they are served: a recorded failure is final, the client need not repeat it."""
    headers = dict(answer.get("headers") or {})
    if answer["status"] >= 400:
        headers["x-should-retry"] = "false"
    return headers


def client_error(asked: Asked, error: BaseException, request: Any) -> BaseException:
    """Return the error that the official client would raise in the end, so that it raises it without repeating."""
    module = sys.modules.get(asked.client)
    if module is None:
        return error
    if "Timeout" in type(error).__name__:
        timeout: BaseException = module.APITimeoutError(request=request)
        return timeout
    lost: BaseException = module.APIConnectionError(message=str(error) or "Connection error.", request=request)
    return lost
