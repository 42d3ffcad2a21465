"""Streamed answers as httpx2 carries them: on their way from the model, or known already."""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING, TypeAlias

import httpx2

from butfor.replay.http_exchange import Exchange, Streaming
from butfor.replay.http_messages import kept_headers
from butfor.replay.lanes import current

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Iterator

Lost: TypeAlias = "tuple[Streaming, httpx2.RequestError]"
"""A stream that broke before its first event."""


@contextlib.contextmanager
def inside(exchange: Exchange) -> Iterator[None]:
    """Run what a decision starts in the lane inside it, so that it moves nothing of the agent's own."""
    token = current.set(exchange.ticket)
    try:
        yield
    finally:
        current.reset(token)


class LiveStream(httpx2.SyncByteStream):
    """A streamed answer on its way from the model to the agent."""

    def __init__(self, exchange: Exchange, response: httpx2.Response) -> None:
        self._streaming = Streaming(exchange, response.status_code, response.headers)
        self._response = response
        self._chunks = response.iter_bytes()
        self._first: list[bytes] = []

    def opened(self) -> httpx2.Response | Lost:
        """Wait for the first event, since a connection lost before it may be tried again."""
        try:
            while not self._first and (chunk := self._next()) is not None:
                self._first = self._streaming.feed(chunk)
        except httpx2.RequestError as error:
            return self._streaming, error
        self._streaming.start()
        return _response(self._response, self)

    def __iter__(self) -> Iterator[bytes]:
        yield from self._first
        try:
            while (chunk := self._next()) is not None:
                yield from self._streaming.feed(chunk)
        except httpx2.RequestError as error:
            self._streaming.close(error)
            raise
        self._streaming.close()

    def _next(self) -> bytes | None:
        # The inner lane is entered only while the stream computes, never while its consumer does.
        with inside(self._streaming.exchange):
            return next(self._chunks, None)

    def close(self) -> None:
        """Complete the crossing: clients stop reading at `[DONE]`, so the end of the body is no sign of it."""
        self._streaming.close()
        self._response.close()


class AsyncLiveStream(httpx2.AsyncByteStream):
    """A streamed answer on its way from the model to an asynchronous agent."""

    def __init__(self, exchange: Exchange, response: httpx2.Response) -> None:
        self._streaming = Streaming(exchange, response.status_code, response.headers)
        self._response = response
        self._chunks = response.aiter_bytes()
        self._first: list[bytes] = []

    async def opened(self) -> httpx2.Response | Lost:
        """Wait for the first event, since a connection lost before it may be tried again."""
        try:
            while not self._first and (chunk := await self._next()) is not None:
                self._first = self._streaming.feed(chunk)
        except httpx2.RequestError as error:
            return self._streaming, error
        self._streaming.start()
        return _response(self._response, self)

    async def __aiter__(self) -> AsyncIterator[bytes]:
        for piece in self._first:
            yield piece
        try:
            while (chunk := await self._next()) is not None:
                for piece in self._streaming.feed(chunk):
                    yield piece
        except httpx2.RequestError as error:
            self._streaming.close(error)
            raise
        self._streaming.close()

    async def _next(self) -> bytes | None:
        with inside(self._streaming.exchange):
            return await anext(self._chunks, None)

    async def aclose(self) -> None:
        """Complete the crossing: clients stop reading at `[DONE]`, so the end of the body is no sign of it."""
        self._streaming.close()
        await self._chunks.aclose()
        await self._response.aclose()


class SentStream(httpx2.SyncByteStream, httpx2.AsyncByteStream):
    """A known streamed answer; where the recorded one was cut off, so is this."""

    def __init__(self, pieces: list[bytes], broken: httpx2.RequestError | None) -> None:
        self._pieces = pieces
        self._broken = broken

    def __iter__(self) -> Iterator[bytes]:
        yield from self._pieces
        if self._broken is not None:
            raise self._broken

    async def __aiter__(self) -> AsyncIterator[bytes]:
        for piece in self._pieces:
            yield piece
        if self._broken is not None:
            raise self._broken


def _response(response: httpx2.Response, stream: LiveStream | AsyncLiveStream) -> httpx2.Response:
    return httpx2.Response(response.status_code, headers=kept_headers(response.headers), stream=stream)
