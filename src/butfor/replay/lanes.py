"""Lanes: which concurrent part of the agent a boundary was reached from.

A lane is a spawn path. "0" is the agent's own; "0.2" the third task that it started, "0.t2" the third thread, "0.j2"
the third executor job, "0.Worker-2" the third thread of the class Worker; "0/5" what runs inside its sixth boundary
crossing (a tool that is itself an agent). Paths depend on the order in which one part spawns others, never on the
order in which they finish, so that a replay finds its way whatever the scheduler does. Each kind counts for itself,
because libraries keep helper threads of their own classes and start them only when none is idle: in one replay and
not in the next.
"""

from __future__ import annotations

import asyncio
import os
import threading
from collections.abc import Coroutine
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from contextvars import ContextVar, copy_context
from typing import TYPE_CHECKING, Any

from butfor.errors import UnknownLane

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from contextvars import Context
    from types import TracebackType

    from butfor.canonical import Json
    from butfor.replay.ambient import Noise
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
        step: Index of the last step that completed in it, before it was spawned, or in a part that it spawned and that
            has ended; -1 before any.
        inside_model: Whether this is the inside of a model call, whose own crossings belong to that call.
        last: Sequence number and text of its last model request, for storing differences.
        edits: (original, edited) requests whose history a rollout changed, in the order of the changes.
        parent: The lane that spawned it; None for a root and for the inside of a crossing.
        noise: Its ambient randomness, where it drew any (see `ambient`).
        clock: The lane of its ambient readings of the time, since its last crossing.
    """

    __slots__ = (
        "clock", "crossings", "edits", "inside_model", "last", "noise", "parent", "path", "session", "spawned", "step",
    )  # fmt: skip

    def __init__(
        self,
        session: Session,
        path: str,
        *,
        step: int = _NEVER_STEPPED,
        inside_model: bool = False,
        parent: Lane | None = None,
    ) -> None:
        self.session = session
        self.path = path
        self.step = step
        self.inside_model = inside_model
        self.parent = parent
        self.crossings = 0
        self.spawned: dict[str, int] | None = None
        self.last: tuple[int, str] | None = None if parent is None else parent.last
        self.edits: tuple[tuple[Json, Json], ...] = () if parent is None else parent.edits
        self.noise: Noise | None = None
        self.clock: Lane | None = None

    def spawn(self, kind: str = "") -> Lane:
        """Return the lane of the next concurrent part started here.

        Args:
            kind: What is numbered together: "" tasks, "t" threads, "j" executor jobs.
        """
        if self.spawned is None:
            self.spawned = {}
        number = self.spawned.get(kind, 0)
        self.spawned[kind] = number + 1
        path = f"{self.path}.{kind}{number}"
        return Lane(self.session, path, step=self.step, inside_model=self.inside_model, parent=self)

    def end(self) -> None:
        """Tell the spawner that this part is over: what it does from now on follows the steps that were made here.

        Without this, an agent that awaits each model call in a task or thread of its own (`wait_for`, `to_thread`)
        would have observations that follow no step, and histories that begin anew with each request.
        """
        spawner = self.parent
        if spawner is not None and spawner.step < self.step:
            spawner.step = self.step
            spawner.last = self.last
            spawner.edits += tuple(each for each in self.edits if each not in spawner.edits)

    def enter(self, occurrence: int, *, inside_model: bool) -> Lane:
        """Return the lane of what runs inside a crossing of this one."""
        return Lane(self.session, f"{self.path}/{occurrence}", step=self.step, inside_model=inside_model)


current: ContextVar[Lane | None] = ContextVar("butfor_lane", default=None)


class _Started(threading.local):
    lane: Lane | None = None


_started = _Started()

_process = os.getpid()


def _note_fork() -> None:
    global _process
    _process = os.getpid()


os.register_at_fork(after_in_child=_note_fork)
"""The lane that the running thread or executor job was started with."""

_child_of_a_session = ENVIRONMENT in os.environ
"""Read once: later it is set by this process alone, while it has sessions of its own."""

_open_sessions = 0
_driven: set[Session] = set()
_lock = threading.Lock()


@contextmanager
def driven(session: Session) -> Iterator[None]:
    """While its agent runs, a session hears of every boundary that was reached from code that nobody can place."""
    with _lock:
        _driven.add(session)
    try:
        yield
    finally:
        with _lock:
            _driven.discard(session)


def at() -> Lane | None:
    """Return the lane of the caller as far as it is known.

    Where a job or thread runs in a copy of its spawner's context (`ctx.run`, as frameworks do), the context names the
    spawner's lane and the thread knows better.
    """
    lane = current.get()
    started = _started.lane
    if started is None:
        return lane
    outer: Lane | None = started
    while outer is not None and lane is not None:
        outer = outer.parent
        if outer is lane:
            return started
    return lane


def here() -> Lane | None:
    """Return the lane of the caller, or None where nothing is recorded or replayed.

    Raises:
        UnknownLane: A session is open but this code runs outside its concurrency tree, so that passing the call
            through could touch the world during a replay. Nobody knows whose agent's it is, so every agent that is
            running is told: one that caught the error and went on would have done what no recording shows.
    """
    lane = current.get() if _started.lane is None else at()
    if lane is not None and lane.session.process == _process:
        return lane
    if lane is None and not _open_sessions and not _child_of_a_session:
        return None
    with _lock:
        perhaps = list(_driven)
    for session in perhaps:
        session.unplaced(_unknown())  # one each: whoever raises it again adds to its traceback
    raise _unknown()


def _unknown() -> UnknownLane:
    return UnknownLane(
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


def _create_task_in_lane(loop: Any, coro: Any, *, context: Context | None = None, **rest: Any) -> Any:
    # The spawner's lane is that of the given context where one is given, as with asyncio.Runner.run(context=...).
    lane = at() if context is None else context.get(current)
    # An event loop closes forgotten asynchronous generators in tasks that start whenever it comes to that.
    if lane is None or type(coro).__name__ == "async_generator_athrow":
        return _create_task(loop, coro, context=context, **rest)
    child = lane.spawn()
    if context is None:
        # In the copy, and without naming it: task factories from before Python 3.11 take no context.
        context = copy_context()
        context.run(current.set, child)
        create: Any = _create_task
        task = context.run(create, loop, coro, **rest)
    else:
        # The caller shares this context with others, who must neither see this lane nor lose what the task sets.
        task = _create_task(loop, _InLane(coro, child), context=context, **rest)
    task.add_done_callback(lambda _: child.end())
    return task


class _InLane(Coroutine[Any, Any, Any]):
    """A coroutine that is in its lane only while it runs, in a context that others use too."""

    def __init__(self, inner: Coroutine[Any, Any, Any], lane: Lane) -> None:
        self._inner = inner
        self._lane: Lane | None = lane

    def send(self, value: Any) -> Any:
        """Run to the next suspension."""
        return self._step(self._inner.send, value)

    def throw(self, kind: Any, value: BaseException | object = None, traceback: TracebackType | None = None) -> Any:
        """Raise inside, and run to the next suspension."""
        return self._step(self._inner.throw, kind if value is None else value)

    def close(self) -> None:
        """End it."""
        self._step(self._inner.close)

    def __await__(self) -> Any:
        return (yield from self._inner.__await__())

    def _step(self, advance: Callable[..., Any], *arguments: Any) -> Any:
        token = current.set(self._lane)
        try:
            return advance(*arguments)
        finally:
            self._lane = current.get()  # a crossing that is under way keeps its inner lane over the suspension
            current.reset(token)


def _start_in_lane(thread: threading.Thread) -> None:
    lane = at()
    # An executor starts workers as it needs them: they get no number, their jobs do.
    if lane is not None and not _inside_submit.get():
        kind = "t" if type(thread) is threading.Thread else f"{type(thread).__name__}-"
        child = lane.spawn(kind)
        context = copy_context()
        run: Callable[[], None] = thread.run
        thread.run = lambda: context.run(_run_in_lane, child, run)  # type: ignore[method-assign]
    _thread_start(thread)


def _submit_in_lane(executor: ThreadPoolExecutor, fn: Any, /, *args: Any, **kwargs: Any) -> Any:
    lane = at()
    if lane is None:
        return _submit(executor, fn, *args, **kwargs)
    context = copy_context()
    token = _inside_submit.set(True)
    try:
        return _submit(executor, context.run, _run_in_lane, lane.spawn("j"), fn, *args, **kwargs)
    finally:
        _inside_submit.reset(token)


def _run_in_lane(lane: Lane, function: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Any:
    current.set(lane)
    before, _started.lane = _started.lane, lane
    try:
        return function(*args, **kwargs)
    finally:
        _started.lane = before
        lane.end()
