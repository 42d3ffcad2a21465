"""The transport that carries an official client's requests past the boundary, synchronous and asynchronous.

Both are thin drivers over `http_exchange`. This module needs httpx2; `openai_transport` imports it when it is called.
"""

from __future__ import annotations

import asyncio
import contextlib
import functools
import inspect
import time
from typing import TYPE_CHECKING, Any, TypeAlias

import httpx2

from butfor.errors import InputError, TransportFault
from butfor.replay.http_exchange import Exchange, client_error, fault_of, open_exchange, served_headers
from butfor.replay.http_messages import (
    Asked,
    answer_of,
    events_of,
    is_event_stream,
    is_model_endpoint,
    kept_headers,
    read_request,
    seconds_to_wait,
    whole_answer,
    whole_content,
)
from butfor.replay.httpx_streams import AsyncLiveStream, LiveStream, Lost, SentStream, inside
from butfor.replay.lanes import Lane, current, here
from butfor.replay.session import Served

if TYPE_CHECKING:
    import ssl
    from collections.abc import Iterator

    from butfor.canonical import Json

Whole: TypeAlias = "dict[str, Json]"
Outcome: TypeAlias = "Whole | httpx2.Response | Lost | httpx2.RequestError"


class ModelTransport(httpx2.BaseTransport, httpx2.AsyncBaseTransport):
    """Passes each POST to a model endpoint as one policy decision; everything else goes straight through.

    Args:
        inner: What sends requests; by default httpx2's own transports.
    """

    def __init__(self, inner: httpx2.BaseTransport | httpx2.AsyncBaseTransport | None = None) -> None:
        self._sync = inner if isinstance(inner, httpx2.BaseTransport) else None
        self._async = inner if isinstance(inner, httpx2.AsyncBaseTransport) else None
        self._given = inner is not None

    def handle_request(self, request: httpx2.Request) -> httpx2.Response:
        """Send a request, or serve its recorded answer."""
        asked = _asked(request, request.read()) if _is_decision(request) else None
        lane = current.get() if asked is None else here()
        if asked is None or lane is None:
            with _aside(lane):
                return self._sender().handle_request(request)
        verdict = open_exchange(lane, asked)
        if isinstance(verdict, Served):
            return _served(asked, verdict, request)
        while True:
            try:
                outcome = self._attempt(verdict, request)
            except httpx2.RequestError as error:
                outcome = error
            except BaseException as error:
                verdict.abandon(error)
                raise
            ended = _judged(verdict, outcome)
            if isinstance(ended, httpx2.Response):
                return ended
            time.sleep(ended)

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        """Send a request, or serve its recorded answer."""
        asked = _asked(request, await request.aread()) if _is_decision(request) else None
        lane = current.get() if asked is None else here()
        if asked is None or lane is None:
            with _aside(lane):
                return await self._async_sender().handle_async_request(request)
        verdict = open_exchange(lane, asked)
        if isinstance(verdict, Served):
            return _served(asked, verdict, request)
        while True:
            try:
                outcome = await self._attempt_async(verdict, request)
            except httpx2.RequestError as error:
                outcome = error
            except BaseException as error:
                verdict.abandon(error)
                raise
            ended = _judged(verdict, outcome)
            if isinstance(ended, httpx2.Response):
                return ended
            await asyncio.sleep(ended)

    def close(self) -> None:
        """Close what sends synchronous requests."""
        if self._sync is not None:
            self._sync.close()

    async def aclose(self) -> None:
        """Close what sends asynchronous requests."""
        if self._async is not None:
            await self._async.aclose()

    def _attempt(self, exchange: Exchange, request: httpx2.Request) -> Outcome:
        with inside(exchange):
            if exchange.ticket.policy is not None:
                return answer_of(exchange.ticket.policy(exchange.ticket.payload["body"]))
            response = self._sender().handle_request(_as_asked(request, exchange))
            if not _is_stream(response):
                return whole_answer(response.status_code, response.headers, response.read())
        return LiveStream(exchange, response).opened()

    async def _attempt_async(self, exchange: Exchange, request: httpx2.Request) -> Outcome:
        with inside(exchange):
            if exchange.ticket.policy is not None:
                value = exchange.ticket.policy(exchange.ticket.payload["body"])
                return answer_of(await value if inspect.isawaitable(value) else value)
            response = await self._async_sender().handle_async_request(_as_asked(request, exchange))
            if not _is_stream(response):
                return whole_answer(response.status_code, response.headers, await response.aread())
        return await AsyncLiveStream(exchange, response).opened()

    def _sender(self) -> httpx2.BaseTransport:
        if self._sync is None:
            self._refuse_other("synchronous")
            self._sync = httpx2.HTTPTransport(verify=_certificates())
        return self._sync

    def _async_sender(self) -> httpx2.AsyncBaseTransport:
        if self._async is None:
            self._refuse_other("asynchronous")
            self._async = httpx2.AsyncHTTPTransport(verify=_certificates())
        return self._async

    def _refuse_other(self, kind: str) -> None:
        if self._given:
            raise InputError(
                f"the transport given to openai_transport() cannot send {kind} requests",
                fix="give one of the client's kind, or none",
            )


@functools.cache
def _certificates() -> ssl.SSLContext:
    """Read the certificates once: it takes 45 ms, and an agent often makes a client for every run."""
    return httpx2.create_ssl_context()


def _judged(exchange: Exchange, outcome: Outcome) -> httpx2.Response | float:
    """Turn what an attempt came to into a response, or into the pause in seconds before the next attempt.

    Raises:
        RequestError: No answer came, and the client is to deal with it.
        TransportFault: The rollout was given up.
    """
    if isinstance(outcome, httpx2.Response):
        return outcome
    pause = None if (fault := _fault(outcome)) is None else exchange.pause(fault)
    if pause is not None:
        return max(pause, seconds_to_wait(outcome)) if isinstance(outcome, dict) else pause
    if isinstance(outcome, tuple):
        streaming, error = outcome
        streaming.close(error)
        return httpx2.Response(streaming.status, headers=kept_headers(streaming.headers), stream=SentStream([], error))
    if isinstance(outcome, httpx2.RequestError):
        exchange.failed(outcome)
        raise outcome
    answer = exchange.answer(outcome)
    return _response(exchange.asked, answer, dict(answer["headers"]))


def _fault(outcome: Whole | Lost | httpx2.RequestError) -> TransportFault | None:
    """Say whether an attempt failed before any answer content.

    A read that timed out is a result: to repeat it would condition on answers that come fast.
    """
    if isinstance(outcome, dict):
        return fault_of(outcome["status"], whole_content(outcome))
    error = outcome[1] if isinstance(outcome, tuple) else outcome
    if isinstance(error, httpx2.ReadTimeout | httpx2.WriteTimeout) or not isinstance(error, httpx2.TransportError):
        return None
    return TransportFault(f"the connection to the model failed ({type(error).__name__}: {error})")


def _served(asked: Asked, verdict: Served, request: httpx2.Request) -> httpx2.Response:
    try:
        answer = answer_of(verdict.deliver())
    except httpx2.RequestError as error:
        raise client_error(asked, error, request) from None
    return _response(asked, answer, served_headers(answer))


def _response(asked: Asked, answer: Whole, headers: dict[str, str]) -> httpx2.Response:
    events = events_of(answer, streamed=asked.streamed)
    if events is None:
        return httpx2.Response(answer["status"], headers=headers, content=whole_content(answer))
    stream = SentStream([event.written() for event in events], _broken(answer))
    return httpx2.Response(answer["status"], headers=headers | {"content-type": "text/event-stream"}, stream=stream)


def _broken(answer: Whole) -> httpx2.RequestError | None:
    if "broken" not in answer:
        return None
    name, message = answer["broken"]
    kind: Any = getattr(httpx2, name, None)
    if not (isinstance(kind, type) and issubclass(kind, httpx2.RequestError)):
        kind = httpx2.ReadError
    error: httpx2.RequestError = kind(message)
    return error


def _is_decision(request: httpx2.Request) -> bool:
    return is_model_endpoint(request.method, request.url.path)


def _asked(request: httpx2.Request, content: bytes) -> Asked | None:
    return read_request(request.url.path, request.headers, content)


def _is_stream(response: httpx2.Response) -> bool:
    return response.status_code < 400 and is_event_stream(response.headers)


def _as_asked(request: httpx2.Request, exchange: Exchange) -> httpx2.Request:
    """Return the request to send: the client's own, or one with the body that an operation made of it."""
    body = exchange.body()
    if body is None:
        return request
    headers = [(name, value) for name, value in request.headers.multi_items() if name.lower() != "content-length"]
    return httpx2.Request(
        request.method, request.url, headers=headers, content=body, extensions=dict(request.extensions)
    )


@contextlib.contextmanager
def _aside(lane: Lane | None) -> Iterator[None]:
    """Keep threads that a request starts (to look a host up) out of the lane: a replay would not start them."""
    if lane is None:
        yield
        return
    token = current.set(lane.enter(lane.crossings, inside_model=True))
    try:
        yield
    finally:
        current.reset(token)
