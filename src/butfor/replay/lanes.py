"""Lanes: which concurrent part of the agent a boundary was reached from.

A lane is a spawn path. "0" is the agent's own; "0.2" the third task that it started, "0.t2" the third thread or
executor job; "0/5" what runs inside its sixth boundary crossing (a tool that is itself an agent). Paths depend on the
order in which one part spawns others, never on the order in which they finish, so that a replay finds its way whatever
the scheduler does. Tasks and threads are counted apart, since libraries start threads of their own when they please:
the first use of an asynchronous `openai` client does, the second does not, and that must not move the agent's tasks.
"""

from __future__ import annotations

import asyncio
import os
import threading
from concurrent.futures import ThreadPoolExecutor
from contextvars import ContextVar, copy_context
from typing import TYPE_CHECKING, Any

from butfor.errors import UnknownLane

if TYPE_CHECKING:
    from collections.abc import Callable

    from butfor.replay.session import Session

ENVIRONMENT = "BUTFOR_SESSION"
"""Set while sessions are open, so that a child process refuses to cross a boundary instead of acting live."""

_NEVER_STEPPED = -1


class Lane:
    """One concurrent part of the agent; its counters live as long as its session.

    Attributes:
        session: What answers its crossings.
        path: The spawn path.
        crossings: Crossings begun in it so far.
        step: Index of the last step that completed in it, or before it was spawned; -1 before any.
        inside_model: Whether this is the inside of a model call, whose own crossings belong to that call.
        last: Sequence number and text of its last model request, for storing differences.
    """

    __slots__ = ("crossings", "inside_model", "last", "path", "session", "step", "tasks", "threads")

    def __init__(self, session: Session, path: str, *, step: int = _NEVER_STEPPED, inside_model: bool = False) -> None:
        self.session = session
        self.path = path
        self.step = step
        self.inside_model = inside_model
        self.crossings = 0
        self.tasks = 0
        self.threads = 0
        self.last: tuple[int, str] | None = None

    def spawn_task(self) -> Lane:
        """Return the lane of the next task started here."""
        self.tasks += 1
        return self._child(f"{self.tasks - 1}")

    def spawn_thread(self) -> Lane:
        """Return the lane of the next thread or executor job started here."""
        self.threads += 1
        return self._child(f"t{self.threads - 1}")

    def _child(self, number: str) -> Lane:
        return Lane(self.session, f"{self.path}.{number}", step=self.step, inside_model=self.inside_model)

    def enter(self, occurrence: int, *, inside_model: bool) -> Lane:
        """Return the lane of what runs inside a crossing of this one."""
        return Lane(self.session, f"{self.path}/{occurrence}", step=self.step, inside_model=inside_model)


current: ContextVar[Lane | None] = ContextVar("butfor_lane", default=None)

_open_sessions = 0
_lock = threading.Lock()


def here() -> Lane | None:
    """Return the lane of the caller, or None where nothing is recorded or replayed.

    Raises:
        UnknownLane: A session is open but this code runs outside its concurrency tree, so that passing the call
            through could touch the world during a replay.
    """
    lane = current.get()
    if lane is not None and lane.session.process == os.getpid():
        return lane
    if lane is None and not _open_sessions and ENVIRONMENT not in os.environ:
        return None
    raise UnknownLane(
        "a boundary was reached from code that the recorder cannot place",
        fix="start threads and executors inside the agent, and keep boundaries out of child processes",
    )


class Wrapped:
    """While a session is open: tasks, threads and executor jobs carry the lane of whoever started them.

    On Python 3.11 a new thread sees no context variable, and an executor's worker sees those of nobody, so the
    context is copied for each start and each submission.
    """

    def __enter__(self) -> None:
        global _open_sessions
        with _lock:
            if _open_sessions == 0:
                _install()
            _open_sessions += 1

    def __exit__(self, *_: object) -> None:
        global _open_sessions
        with _lock:
            _open_sessions -= 1
            if _open_sessions == 0:
                _remove()


_create_task = asyncio.BaseEventLoop.create_task
_thread_start = threading.Thread.start
_submit = ThreadPoolExecutor.submit
_inside_submit: ContextVar[bool] = ContextVar("butfor_inside_submit", default=False)


def _install() -> None:
    os.environ[ENVIRONMENT] = str(os.getpid())
    asyncio.BaseEventLoop.create_task = _create_task_in_lane  # type: ignore[method-assign,assignment]
    threading.Thread.start = _start_in_lane  # type: ignore[method-assign,assignment]
    ThreadPoolExecutor.submit = _submit_in_lane  # type: ignore[method-assign,assignment]


def _remove() -> None:
    os.environ.pop(ENVIRONMENT, None)
    asyncio.BaseEventLoop.create_task = _create_task  # type: ignore[method-assign]
    threading.Thread.start = _thread_start  # type: ignore[method-assign]
    ThreadPoolExecutor.submit = _submit  # type: ignore[method-assign]


def root_task(function: Callable[[Any], Any], argument: Any, lane: Lane) -> asyncio.Task[Any]:
    """Start an agent's own task in its root lane, which no spawn numbers."""
    context = copy_context()
    context.run(current.set, lane)

    async def body() -> Any:
        return await function(argument)

    loop: Any = asyncio.get_running_loop()
    task: asyncio.Task[Any] = _create_task(loop, body(), context=context)
    return task


def _create_task_in_lane(loop: Any, coro: Any, *, context: Any = None, **rest: Any) -> Any:
    # The spawner's lane is that of the given context where one is given, as with asyncio.Runner.run(context=...).
    lane = current.get() if context is None else context.get(current)
    if lane is not None:
        context = (copy_context() if context is None else context).copy()
        context.run(current.set, lane.spawn_task())
    return _create_task(loop, coro, context=context, **rest)


def _start_in_lane(thread: threading.Thread) -> None:
    lane = current.get()
    # An executor starts workers as it needs them: they get no number, their jobs do.
    if lane is not None and not _inside_submit.get():
        context = copy_context()
        context.run(current.set, lane.spawn_thread())
        run: Callable[[], None] = thread.run
        thread.run = lambda: context.run(run)  # type: ignore[method-assign]
    _thread_start(thread)


def _submit_in_lane(executor: ThreadPoolExecutor, fn: Any, /, *args: Any, **kwargs: Any) -> Any:
    lane = current.get()
    if lane is None:
        return _submit(executor, fn, *args, **kwargs)
    context = copy_context()
    context.run(current.set, lane.spawn_thread())
    token = _inside_submit.set(True)
    try:
        return _submit(executor, context.run, fn, *args, **kwargs)
    finally:
        _inside_submit.reset(token)
