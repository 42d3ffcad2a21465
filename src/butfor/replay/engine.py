"""Run one rollout, and many of them, on asyncio."""

from __future__ import annotations

import asyncio
import inspect
import threading
from concurrent.futures import ThreadPoolExecutor
from contextvars import copy_context
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal, TypeAlias, TypeVar

from butfor import canonical
from butfor.errors import (
    Abandoned,
    BudgetStop,
    ReplayDivergence,
    TransportFault,
    UnknownLane,
    UnsupportedCall,
)
from butfor.replay import codecs
from butfor.replay.lanes import current, driven, root_task
from butfor.replay.trajectory import Trajectory

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine

    from butfor.canonical import Json
    from butfor.replay.agents import Agent
    from butfor.replay.rollout import RolloutSession
    from butfor.replay.session import Session

T = TypeVar("T")

Status: TypeAlias = Literal["completed", "raised", "timeout", "unsupported", "diverged", "budget", "transport"]

RESULTS: frozenset[str] = frozenset({"completed", "raised", "timeout", "unsupported"})
"""Statuses that are results: such a draw is never made again. The others leave the draw open."""


@dataclass(frozen=True, kw_only=True)
class Ending:
    """How an agent's execution ended.

    Attributes:
        status: See `Status`.
        output: What the agent returned, a JSON value.
        error: One sentence where it did not complete.
        cause: The exception itself.
    """

    status: Status
    output: Json = None
    error: str | None = None
    cause: BaseException | None = field(default=None, compare=False, repr=False)


def run_to_end(work: Coroutine[Any, Any, T]) -> T:
    """Run a coroutine from synchronous code, also where an event loop is running already, as in a notebook."""
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return asyncio.run(work)
    with ThreadPoolExecutor(1, thread_name_prefix="butfor-loop") as pool:
        return pool.submit(asyncio.run, work).result()


async def drive(agent: Agent, task: Json, session: Session, *, time_limit: float | None = None) -> Ending:
    """Run the agent once inside a session, on its own task or thread, and say how it ended.

    Args:
        agent: The user's agent.
        task: Its input; each execution gets its own copy.
        session: Answers its boundaries.
        time_limit: Seconds. A synchronous agent that exceeds it is abandoned: its thread cannot be stopped, but its
            next boundary raises and its slot is free.
    """
    _, argument = canonical.encode_and_copy(task)
    try:
        function = agent.fresh()
        start = _on_task if is_async(function) else _on_thread
        with driven(session):
            ending = _returned(await start(function, argument, session, time_limit))
    except _TimeLimitReached:
        session.latch(Abandoned("the rollout was given up after its time limit"))
        return Ending(status="timeout", error=f"not finished after {time_limit:g} s")
    except asyncio.CancelledError:
        session.latch(Abandoned("the rollout was cancelled"))
        raise
    except Exception as error:  # noqa: BLE001  whatever the user's agent raises is a result
        ending = _raised(error)
    finally:
        session.settle()
    return _latched(session) or ending


def _latched(session: Session) -> Ending | None:
    """What ended the session stands, whatever the agent made of it."""
    error = session.latched
    if error is None:
        return None
    statuses: list[tuple[type[BaseException], Status]] = [
        (ReplayDivergence, "diverged"),
        (UnknownLane, "diverged"),
        (UnsupportedCall, "unsupported"),
        (BudgetStop, "budget"),
        (TransportFault, "transport"),
        (Abandoned, "timeout"),
    ]
    for kind, status in statuses:
        if isinstance(error, kind):
            return Ending(status=status, error=str(error), cause=error)
    return Ending(status="raised", error=str(error), cause=error)


def _returned(output: Any) -> Ending:
    text, codec, copy = codecs.dump_and_copy(output)
    return Ending(status="completed", output=canonical.decode(text) if codec else copy)


def _raised(error: BaseException) -> Ending:
    if isinstance(error, UnknownLane):
        return Ending(status="diverged", error=str(error), cause=error)
    text = str(error) if isinstance(error, _AgentStopped) else f"{type(error).__name__}: {error}"
    return Ending(status="raised", error=text, cause=error)


class _TimeLimitReached(Exception):
    """The time limit, told apart from a TimeoutError of the agent's own."""


async def _on_task(function: Callable[[Any], Any], argument: Json, session: Session, time_limit: float | None) -> Any:
    async def contained(argument: Json) -> Any:
        try:
            return await function(argument)
        except SystemExit as error:  # on a task it would end the event loop, and the other rollouts with it
            raise _AgentStopped(f"SystemExit: {error}") from error

    task = root_task(contained, argument, session.root)
    try:
        done, _ = await asyncio.wait({task}, timeout=time_limit)
    except asyncio.CancelledError:
        task.cancel()
        raise
    if not done:
        session.latch(Abandoned("the rollout was given up after its time limit"))
        task.cancel()
        raise _TimeLimitReached
    return _result_of(task)


def _result_of(finished: asyncio.Future[Any]) -> Any:
    """Return what the agent gave; what would end our own process or be taken for Ctrl-C is its exception only."""
    if finished.cancelled():
        raise _AgentStopped("CancelledError: the agent cancelled itself")
    error = finished.exception()
    if isinstance(error, SystemExit | asyncio.CancelledError):
        raise _AgentStopped(f"{type(error).__name__}: {error}") from error
    return finished.result()


class _AgentStopped(Exception):
    """The agent left by SystemExit or by cancelling itself."""


async def _on_thread(function: Callable[[Any], Any], argument: Json, session: Session, time_limit: float | None) -> Any:
    """Run a synchronous agent on a thread of its own.

    One that never comes back takes nobody's place in a pool, and what an agent leaves on its thread (a client, an event
    loop) reaches no other rollout. Waiting threads would be handed their jobs in 40 µs, where starting one takes 200 on
    a busy machine, and would give the second up: rollouts that share what no recording shows are not independent.
    """
    loop = asyncio.get_running_loop()
    future: asyncio.Future[Any] = loop.create_future()
    context = copy_context()
    context.run(current.set, session.root)

    def settle(result: Any, error: BaseException | None) -> None:
        if future.done():
            return
        if error is not None:
            future.set_exception(error)
        else:
            future.set_result(result)

    def body() -> None:
        try:
            result, error = context.run(function, argument), None
        except BaseException as raised:  # noqa: BLE001  it is handed to the waiting task
            result, error = None, raised if not isinstance(raised, StopIteration) else RuntimeError(str(raised))
        if not loop.is_closed():
            loop.call_soon_threadsafe(settle, result, error)

    threading.Thread(target=body, daemon=True, name="butfor-rollout").start()
    done, _ = await asyncio.wait({future}, timeout=time_limit)
    if not done:
        future.cancel()
        raise _TimeLimitReached
    result = _result_of(future)
    return await result if inspect.isawaitable(result) else result


def is_async(function: Callable[..., Any]) -> bool:
    """Whether calling this gives a coroutine: an async function, or an instance with an async `__call__`."""
    return inspect.iscoroutinefunction(function) or inspect.iscoroutinefunction(vars(type(function)).get("__call__"))


def check_held(session: RolloutSession, ending: Ending) -> Ending:
    """Turn a completed rollout that ended before the held steps did into a divergence."""
    if ending.status != "completed":
        return ending
    reached = sum(each.kind == "model" and each.step < session.plan.hold for each in session.crossings)
    if reached >= session.plan.hold:
        return ending
    error = ReplayDivergence(
        f"the agent ended after {reached} steps where the recording has {session.plan.hold}",
        path="$",
        recorded=session.plan.hold,
        asked=reached,
    )
    return Ending(status="diverged", error=str(error), cause=error)


def trajectory_of(session: RolloutSession, ending: Ending) -> Trajectory:
    """Describe a finished rollout for an outcome function."""
    failure = ending.status if ending.status in ("raised", "timeout") else None
    return Trajectory(
        journal=session.plan.journal,
        crossings=tuple(session.crossings),
        task=session.plan.journal.header.get("input"),
        output=ending.output,
        failure=failure,
        error=ending.error if failure else None,
    )
