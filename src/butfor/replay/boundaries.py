"""The boundaries that an agent's non-determinism passes: model calls, tool calls, time, randomness, identifiers.

Outside a recording or a replay they do nothing but call through.
"""

from __future__ import annotations

import asyncio
import functools
import inspect
import random
import time
import uuid as uuid_module
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, ParamSpec, TypeVar, cast

from butfor import canonical
from butfor.errors import InputError
from butfor.replay import codecs
from butfor.replay.ambient import real_time
from butfor.replay.lanes import Lane, current, here
from butfor.replay.session import Live, Served
from butfor.replay.streams import async_stream, sync_stream, until_cancelled

if TYPE_CHECKING:
    from collections.abc import Callable

    from butfor.canonical import Json
    from butfor.replay.session import Session

P = ParamSpec("P")
R = TypeVar("R")

EFFECTS = ("none", "read", "write")

_PLAIN = frozenset({str, dict, list, int, float, bool, type(None)})


def model(function: Callable[P, R], *, name: str | None = None) -> Callable[P, R]:
    """Wrap any callable that asks a model, so that each call is one policy decision.

    The callable may be synchronous, asynchronous, or a generator of either kind (a stream). Its arguments are the
    state s_k and must have a JSON form; its result, the action a_k, may also be a pydantic model or a dataclass.

    Args:
        function: What asks the model.
        name: Its name in journals; the callable's own by default.

    Returns:
        A callable of the same kind.
    """
    label = name or _name_of(function)
    return _wrapped(Boundary(function=function, kind="model", name=label, effect="", pack=_pack, unpack=_unpack))


def tool(
    function: object = None, /, *, effect: str = "", name: str | None = None
) -> Callable[[Callable[P, R]], Callable[P, R]]:
    """Declare a function as a tool, with what it does to the world.

    Args:
        function: Never given: `@butfor.tool` without its effect is refused with a sentence, not a TypeError.
        effect: ``"none"`` (a function of its arguments), ``"read"`` (looks at the world), ``"write"`` (changes it).
            Only `write` tools are kept from running in rollouts, so a tool that changes anything must say so.
        name: Its name; the function's own by default.

    Raises:
        InputError: The effect is none of the three.
    """
    if function is not None or effect not in EFFECTS:
        given = f"not {effect!r}" if effect else "and has to be given"
        raise InputError(
            f"a tool's effect is one of {', '.join(EFFECTS)}, {given}",
            fix='write @butfor.tool(effect="write") if it changes anything',
        )

    def declare(function: Callable[P, R]) -> Callable[P, R]:
        pack = functools.partial(_bind, inspect.signature(function))
        label = name or _name_of(function)
        return _wrapped(Boundary(function=function, kind="tool", name=label, effect=effect, pack=pack, unpack=_call))

    return declare


def now() -> datetime:
    """Return the time, in UTC; recorded, and in a replay the recorded one."""
    lane = here()
    seconds = real_time() if lane is None else cast("float", _value(lane, "now", real_time))
    return datetime.fromtimestamp(seconds, UTC)


def rng() -> random.Random:
    """Return a generator whose seed is recorded; a decision drawn again gets another one."""
    lane = here()
    return random.Random() if lane is None else random.Random(_seeded(lane, "rng"))


def uuid4() -> uuid_module.UUID:
    """Return a random UUID; recorded, and in a replay the recorded one."""
    lane = here()
    if lane is None:
        return uuid_module.uuid4()
    return uuid_module.UUID(int=random.Random(_seeded(lane, "uuid")).getrandbits(128), version=4)


def _value(lane: Lane, kind: str, read: Callable[[], Json]) -> Json:
    verdict = lane.session.begin(lane, kind, kind, None)
    if isinstance(verdict, Served):
        return verdict.deliver()
    return lane.session.finish(verdict, read())


def _seeded(lane: Lane, kind: str) -> int:
    verdict = lane.session.begin(lane, kind, kind, None)
    if isinstance(verdict, Served):
        return int(verdict.deliver())
    return int(lane.session.finish(verdict, verdict.crossing.seed))


# The drivers: one for each kind of callable, all thin over begin, finish and fail.


@dataclass(frozen=True, kw_only=True)
class Boundary:
    """What a wrapped callable crosses.

    Attributes:
        function: The callable.
        kind: "model" or "tool".
        name: Its name in journals.
        effect: A tool's declared effect.
        pack: From its arguments to the request.
        unpack: Calls it with the request, which an operation may have changed.
    """

    function: Callable[..., Any]
    kind: str
    name: str
    effect: str
    pack: Callable[[tuple[Any, ...], dict[str, Any]], Json]
    unpack: Callable[[Callable[..., Any], Json, tuple[Any, ...], dict[str, Any]], Any]

    def begin(self, lane: Lane, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Served | Live:
        """Ask the session how a call is answered."""
        return lane.session.begin(lane, self.kind, self.name, self.pack(args, kwargs), self.effect)

    def start(self, ticket: Live, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """Call it."""
        return self.unpack(ticket.policy or self.function, ticket.payload, args, kwargs)


def _wrapped(boundary: Boundary) -> Callable[..., Any]:
    function = boundary.function
    if inspect.isasyncgenfunction(function):
        driver: Any = async_stream(function, boundary.begin, boundary.start)
    elif inspect.isgeneratorfunction(function):
        driver = sync_stream(function, boundary.begin, boundary.start)
    elif _is_async(function):
        driver = _async_call(boundary)
    else:
        driver = _sync_call(boundary)
    functools.update_wrapper(driver, function)
    driver.butfor_boundary = (boundary.kind, boundary.name, boundary.effect)
    return cast("Callable[..., Any]", driver)


def _sync_call(boundary: Boundary) -> Any:
    # Names of its own instead of attributes, and no method between: this is the path of every step of every rollout.
    function, kind, name, effect = boundary.function, boundary.kind, boundary.name, boundary.effect
    pack, unpack, enter, leave = boundary.pack, boundary.unpack, current.set, current.reset

    def call(*args: Any, **kwargs: Any) -> Any:
        lane = here()
        if lane is None:
            return function(*args, **kwargs)
        session = lane.session
        verdict = session.begin(lane, kind, name, pack(args, kwargs), effect)
        if type(verdict) is Served:
            return verdict.deliver()
        while True:
            token = enter(verdict)
            try:
                value = unpack(verdict.policy or function, verdict.payload, args, kwargs)
            except BaseException as error:
                pause = session.retries(verdict, error)
                if pause is None:
                    session.fail(verdict, error)
                    raise
            else:
                if type(value) not in _PLAIN and inspect.isawaitable(value):  # async, but does not look like it
                    leave(token)
                    return _finish_later(value, verdict, session)
                return session.finish(verdict, value)
            finally:
                if current.get() is verdict:
                    leave(token)
            verdict.attempts += 1
            time.sleep(pause)

    return call


async def _finish_later(value: Any, ticket: Live, session: Session) -> Any:
    token = current.set(ticket)
    try:
        result = await value
    except BaseException as error:
        session.fail(ticket, error)
        raise
    finally:
        current.reset(token)
    return session.finish(ticket, result)


def _async_call(boundary: Boundary) -> Any:
    function = boundary.function

    async def call(*args: Any, **kwargs: Any) -> Any:
        lane = here()
        if lane is None:
            return await function(*args, **kwargs)
        session = lane.session
        verdict = boundary.begin(lane, args, kwargs)
        if isinstance(verdict, Served):
            if verdict.is_cancelled:
                await until_cancelled(verdict, lane)
            return verdict.deliver()
        while True:
            token = current.set(verdict)
            try:
                value = boundary.start(verdict, args, kwargs)
                value = await value if inspect.isawaitable(value) else value
            except BaseException as error:
                pause = session.retries(verdict, error)
                if pause is None:
                    session.fail(verdict, error)
                    raise
            else:
                return session.finish(verdict, value)
            finally:
                current.reset(token)
            verdict.attempts += 1
            await asyncio.sleep(pause)

    return call


# Requests: from a call's arguments to one JSON value, and back where an operation changed it.


def _pack(args: tuple[Any, ...], kwargs: dict[str, Any]) -> Json:
    """Say what a model call asks: its keyword arguments, or its only argument, or both kinds by name."""
    if not args:
        for value in kwargs.values():
            kind = type(value)
            if kind not in _PLAIN or (kind is list and value and type(value[0]) not in _PLAIN):
                return {key: _jsonable(value) for key, value in kwargs.items()}
        return kwargs  # the call's own dictionary: nobody else has it
    if len(args) == 1 and not kwargs and isinstance(args[0], dict):
        return args[0]
    return {"args": [_jsonable(value) for value in args], "kwargs": {k: _jsonable(v) for k, v in kwargs.items()}}


def _unpack(function: Callable[..., Any], payload: Json, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    if payload is kwargs:
        return function(**kwargs)
    if not args:
        return function(**_restored(payload, kwargs))
    if len(args) == 1 and not kwargs and isinstance(args[0], dict):
        return function(payload)
    changed = [new if _differs(new, old) else old for new, old in zip(payload["args"], args, strict=True)]
    return function(*changed, **_restored(payload["kwargs"], kwargs))


def _restored(payload: dict[str, Json], kwargs: dict[str, Any]) -> dict[str, Any]:
    """Keep the caller's own objects where nothing changed: a JSON copy of a typed argument is not that argument."""
    return {
        key: kwargs[key] if key in kwargs and not _differs(value, kwargs[key]) else value
        for key, value in payload.items()
    }


def _differs(new: Json, old: Any) -> bool:
    return new is not old and bool(new != _jsonable(old))


def _jsonable(value: Any) -> Json:
    """Give pydantic models and dataclasses their JSON form; anything else is written as it is."""
    if type(value) in (str, int, float, bool, list, dict, tuple, type(None)):
        if isinstance(value, list) and value and type(value[0]) not in (str, int, float, dict):
            return [_jsonable(each) for each in value]
        return value
    text, _ = codecs.dump(value)
    return canonical.decode(text)


def _bind(signature: inspect.Signature, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Json:
    if not args and len(kwargs) == len(signature.parameters):
        return {key: _jsonable(value) for key, value in kwargs.items()}
    bound = signature.bind(*args, **kwargs)
    bound.apply_defaults()
    return {key: _jsonable(value) for key, value in bound.arguments.items() if key != "self"}


def _call(function: Callable[..., Any], payload: Json, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    del payload  # a tool's arguments are never changed on their way
    return function(*args, **kwargs)


def _is_async(function: Any) -> bool:
    # An instance with an async __call__ is asynchronous too; for a function, its type's __call__ is a plain slot.
    method = vars(type(function)).get("__call__")
    return inspect.iscoroutinefunction(function) or inspect.iscoroutinefunction(method)


def _name_of(function: Any) -> str:
    return str(getattr(function, "__name__", None) or type(function).__name__)
