"""A model endpoint's HTTP messages as JSON values: what is asked, and whole, streamed and failed answers.

No input or output happens here, and no HTTP library is needed.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from butfor.canonical import Json

ENDPOINTS = ("/chat/completions", "/responses", "/messages", "/completions")
"""Addresses, by their end, at which a POST is a policy decision."""

DONE = "[DONE]"

_KEPT = ("content-type", "location", "x-request-id", "request-id", "retry-after", "retry-after-ms", "x-should-retry")
_KEPT_FAMILIES = ("x-ratelimit-", "anthropic-ratelimit-")


@dataclass(frozen=True, kw_only=True)
class Asked:
    """A request to a model endpoint.

    Attributes:
        name: The model's name.
        payload: ``{"path", "body"}``: the state s_k.
        streamed: Whether the answer is asked for as a stream.
        attempt: How often the client's own retries have sent it before.
        client: The official client that sent it, by its package's name; "" for any other.
    """

    name: str
    payload: dict[str, Json]
    streamed: bool
    attempt: int
    client: str


def is_model_endpoint(method: str, path: str) -> bool:
    """Whether a request to this address asks a model to decide."""
    # Adding a message to a thread that the provider keeps decides nothing.
    return method == "POST" and path.rstrip("/").endswith(ENDPOINTS) and "/threads/" not in path


def read_request(path: str, headers: Mapping[str, str], content: bytes) -> Asked | None:
    """Read a request to a model endpoint; None where it is no JSON object."""
    body = _parsed(content)
    if not isinstance(body, dict):
        return None
    count = headers.get("x-stainless-retry-count", "")
    agent = headers.get("user-agent", "").lower()
    return Asked(
        name=str(body.get("model") or "model"),
        payload={"path": path, "body": body},
        streamed=body.get("stream") is True,
        attempt=int(count) if count.isdigit() else 0,
        client=next((name for name in ("openai", "anthropic") if f"{name}/" in agent), ""),
    )


def kept_by_provider(request: Json) -> tuple[str, ...]:
    """Name the fields by which a request refers to a history that only the provider has: it cannot be decided again."""
    body = request.get("body") if isinstance(request, dict) else None
    if not isinstance(body, dict):
        return ()
    fields = ("previous_response_id", "conversation")
    return tuple(f"body.{name}: the history is with the provider" for name in fields if body.get(name) is not None)


def seconds_to_wait(answer: Mapping[str, Json]) -> float:
    """Return how long an answer asks to wait before the next attempt, at most a minute; 0 where it does not say."""
    headers = answer["headers"]
    for name, unit in (("retry-after-ms", 1e-3), ("retry-after", 1.0)):
        try:
            return min(max(float(headers[name]) * unit, 0.0), 60.0)
        except (KeyError, ValueError):  # not given, or given as a date
            continue
    return 0.0


def kept_headers(headers: Mapping[str, str]) -> dict[str, str]:
    """Select what of an answer's headers is kept: never a cookie, nothing of the connection."""
    names = ((name.lower(), value) for name, value in headers.items())
    return {name: value for name, value in names if name in _KEPT or name.startswith(_KEPT_FAMILIES)}


def is_event_stream(headers: Mapping[str, str]) -> bool:
    """Whether an answer comes as server-sent events."""
    return headers.get("content-type", "").startswith("text/event-stream")


def whole_answer(status: int, headers: Mapping[str, str], content: bytes) -> dict[str, Json]:
    """Keep a whole answer: ``{"status", "headers", "body"}``; what is not JSON as ``"text"`` or ``"bytes"``."""
    answer: dict[str, Json] = {"status": status, "headers": kept_headers(headers)}
    body = _parsed(content)
    if body is not _UNREADABLE:
        return answer | {"body": body}
    try:
        return answer | {"text": content.decode()}
    except UnicodeDecodeError:
        return answer | {"bytes": content}


def answer_of(value: Json) -> dict[str, Json]:
    """Read an answer that a policy or an operation put in the model's place; it may be a bare body."""
    headers = {"content-type": "application/json"}
    if isinstance(value, dict) and "status" in value:
        return {"headers": headers} | value
    return {"status": 200, "headers": headers, "body": value}


def streamed_answer(
    status: int, headers: Mapping[str, str], events: Sequence[Event], broken: tuple[str, str] | None
) -> dict[str, Json]:
    """Keep a streamed answer: ``{"status", "headers", "events"}``.

    ``"names"`` are the events' names where they have any; ``"broken"`` is [type, message] of the error that ended it.
    """
    answer: dict[str, Json] = {
        "status": status,
        "headers": kept_headers(headers),
        "events": [event.data for event in events],
    }
    if any(event.name is not None for event in events):
        answer["names"] = [event.name for event in events]
    return answer if broken is None else answer | {"broken": list(broken)}


@dataclass(frozen=True, slots=True)
class Event:
    """A server-sent event: its name, and its data, parsed where it is JSON."""

    name: str | None
    data: Json

    def written(self) -> bytes:
        """Return the event as it is sent, in recordings and in replays alike."""
        data = self.data if isinstance(self.data, str) else json.dumps(self.data)
        lines = "".join(f"data: {line}\n" for line in data.split("\n"))
        return (lines if self.name is None else f"event: {self.name}\n{lines}").encode("utf-8", "surrogatepass") + b"\n"


class EventReader:
    """Cuts a stream of bytes into events; comments, ids and reconnection times are dropped."""

    def __init__(self) -> None:
        self._rest = b""
        self._name: str | None = None
        self._data: list[str] = []

    def feed(self, content: bytes) -> list[Event]:
        """Return the events that these bytes complete."""
        lines = (self._rest + content).splitlines(keepends=True)
        # A line is complete when something follows it: a "\r" at the end may be half of a "\r\n".
        self._rest = lines.pop() if lines and not lines[-1].endswith(b"\n") else b""
        found = (self._line(line.rstrip(b"\r\n").decode("utf-8", "replace")) for line in lines)
        return [event for event in found if event is not None]

    def _line(self, line: str) -> Event | None:
        if line:
            field, _, value = line.partition(":")
            value = value.removeprefix(" ")
            if field == "data":
                self._data.append(value)
            elif field == "event":
                self._name = value
            return None
        event = None if not self._data else Event(self._name, _event_data("\n".join(self._data)))
        self._name, self._data = None, []
        return event


def events_of(answer: Mapping[str, Json], *, streamed: bool) -> list[Event] | None:
    """Return the events in which an answer is sent; None where it is sent whole.

    A whole answer to a request for a stream (an action that was put in the place of a streamed one) becomes events.
    """
    events = answer.get("events")
    if isinstance(events, list):
        names = answer.get("names") or [None] * len(events)
        return [Event(name, data) for name, data in zip(names, events, strict=True)]
    body = answer.get("body")
    if streamed and answer.get("status") == 200 and isinstance(body, dict) and isinstance(body.get("choices"), list):
        return [*(Event(None, chunk) for chunk in _chunks(body)), Event(None, DONE)]
    return None


def whole_content(answer: Mapping[str, Json]) -> bytes:
    """Return the bytes of an answer that is sent whole."""
    if "body" in answer:
        return json.dumps(answer["body"]).encode()
    return bytes(answer["bytes"]) if "bytes" in answer else str(answer.get("text", "")).encode("utf-8", "surrogatepass")


def _chunks(body: dict[str, Any]) -> list[dict[str, Any]]:
    """Write a chat completion as chunks: one for each choice, one for its end, one for the usage."""
    head = {key: value for key, value in body.items() if key not in ("choices", "usage", "object")}
    head["object"] = "chat.completion.chunk"
    chunks = []
    for choice in body["choices"]:
        delta = {key: value for key, value in choice["message"].items() if key != "tool_calls"}
        calls = choice["message"].get("tool_calls")
        if calls:
            delta["tool_calls"] = [{"index": i, **call} for i, call in enumerate(calls)]
        index = choice.get("index", 0)
        chunks.append(head | {"choices": [{"index": index, "delta": delta, "finish_reason": None}]})
        end = {"index": index, "delta": {}, "finish_reason": choice.get("finish_reason")}
        chunks.append(head | {"choices": [end]})
    return [*chunks, head | {"choices": [], "usage": body["usage"]}] if body.get("usage") else chunks


_UNREADABLE = object()


def _parsed(content: bytes) -> Any:
    try:
        return json.loads(content)
    except (ValueError, RecursionError):
        return _UNREADABLE


def _event_data(text: str) -> Json:
    value = _parsed(text.encode("utf-8", "surrogatepass"))
    # A JSON string would come back as text without its quotes.
    return text if value is _UNREADABLE or isinstance(value, str) else value
