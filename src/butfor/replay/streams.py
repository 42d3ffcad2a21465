"""Answers that come in chunks: journaled as chunks, served as chunks; and calls that the agent gave up."""

from __future__ import annotations

import asyncio
import time
from typing import TYPE_CHECKING, Any

from butfor.errors import ReplayDivergence
from butfor.replay import codecs
from butfor.replay.lanes import current, here
from butfor.replay.session import Served

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Iterator

    from butfor.replay.lanes import Lane
    from butfor.replay.session import Live, Session

_PATIENCE = 10.0
"""Seconds, beyond twice the recorded ones, in which the agent must have given up a call that it gave up before."""


async def until_cancelled(served: Served, lane: Lane) -> None:
    """Wait as the recorded call did, until the agent gives it up: a timeout of its own, or a faster sibling."""
    patience = 2 * served.seconds + _PATIENCE
    await asyncio.sleep(patience)
    raise lane.session.latch(
        ReplayDivergence(
            f"the agent cancelled this call in the recording, and does not after {patience:.0f} s",
            where=f"lane {lane.path}, crossing {lane.crossings - 1}",
        )
    )


class _Chunks:
    """What came of a live stream so far, and what it becomes in the journal."""

    def __init__(self, ticket: Live, session: Session) -> None:
        self.ticket = ticket
        self._session = session
        self._texts: list[str] = []
        self._codecs: list[str] = []

    def add(self, chunk: Any) -> Any:
        """Keep a chunk; returns it as a replay will serve it."""
        text, codec, copy = codecs.dump_and_copy(chunk)
        self._texts.append(text)
        self._codecs.append(codec)
        return copy

    def close(self) -> None:
        """Complete the crossing: the stream ended, or its consumer closed it."""
        self._session.complete(self.ticket, f"[{','.join(self._texts)}]", codecs.stream_codec(self._codecs))

    def fail(self, error: BaseException) -> None:
        """Complete it with an error; the chunks before it stay, since the agent may have acted on them."""
        self.ticket.crossing.error = codecs.describe_error(error)
        self.close()

    def pause(self, error: BaseException) -> float | None:
        """Say after how many seconds the stream is begun again: only where no content had arrived."""
        return None if self._texts else self._session.retries(self.ticket, error)


def sync_stream(function: Any, begin: Any, start: Any) -> Any:
    """Drive a generator function."""

    def call(*args: Any, **kwargs: Any) -> Iterator[Any]:
        lane = here()
        if lane is None:
            yield from function(*args, **kwargs)
            return
        verdict = begin(lane, args, kwargs)
        if type(verdict) is Served:
            yield from verdict.stream()
            return
        chunks = _Chunks(verdict, lane.session)
        while True:
            stream = start(verdict, args, kwargs)
            try:
                while True:
                    # The inner lane is entered only while the stream computes, never while its consumer does.
                    token = current.set(verdict)
                    try:
                        chunk = next(stream)
                    except StopIteration:
                        break
                    finally:
                        current.reset(token)
                    yield chunks.add(chunk)
            except GeneratorExit:
                stream.close()
                chunks.close()
                raise
            except BaseException as error:
                pause = chunks.pause(error)
                if pause is None:
                    chunks.fail(error)
                    raise
            else:
                chunks.close()
                return
            verdict.attempts += 1
            time.sleep(pause)

    return call


def async_stream(function: Any, begin: Any, start: Any) -> Any:
    """Drive an asynchronous generator function."""

    async def call(*args: Any, **kwargs: Any) -> AsyncIterator[Any]:
        lane = here()
        if lane is None:
            async for chunk in function(*args, **kwargs):
                yield chunk
            return
        verdict = begin(lane, args, kwargs)
        if type(verdict) is Served:
            for chunk in verdict.stream(with_error=not verdict.is_cancelled):
                yield chunk
            if verdict.is_cancelled:
                await until_cancelled(verdict, lane)
            return
        chunks = _Chunks(verdict, lane.session)
        while True:
            stream = start(verdict, args, kwargs)
            try:
                while True:
                    token = current.set(verdict)
                    try:
                        chunk = await anext(stream)
                    except StopAsyncIteration:
                        break
                    finally:
                        current.reset(token)
                    yield chunks.add(chunk)
            except GeneratorExit:
                await stream.aclose()
                chunks.close()
                raise
            except BaseException as error:
                pause = chunks.pause(error)
                if pause is None:
                    chunks.fail(error)
                    raise
            else:
                chunks.close()
                return
            verdict.attempts += 1
            await asyncio.sleep(pause)

    return call
