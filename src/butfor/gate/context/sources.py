"""The five kinds of source, each of which ends by itself."""

from __future__ import annotations

import asyncio
import contextlib
import http.client
import importlib
import inspect
import os
import re
import signal
import subprocess
import threading
from typing import TYPE_CHECKING, Any, TypeVar
from urllib.parse import quote, urlsplit, urlunsplit

from butfor.errors import InputError
from butfor.gate.context.reading import MOST_TEXT, Source, parsed

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from pathlib import Path

    from butfor.canonical import Json

_T = TypeVar("_T")
_HOLE = re.compile(r"\{([A-Za-z_][A-Za-z0-9_.]*)\}")


def from_argument(path: str, arguments: Mapping[str, Json]) -> Json:
    """Return an argument of the call; ``a.b`` looks inside an object.

    Raises:
        InputError: The call has no such argument.
    """
    if path in arguments:
        return arguments[path]
    value: Json = arguments
    for name in path.split("."):
        if not isinstance(value, dict) or name not in value:
            raise InputError(f"the call has no argument {path!r}", fix="pass it, or name another in the policy")
        value = value[name]
    return value


def argument_source(path: str, **limits: Any) -> Source:
    """Read an argument of the call."""
    return Source(kind="argument", read=lambda arguments: from_argument(path, arguments), **limits)


def callable_source(name: str, *, timeout: float, **limits: Any) -> Source:
    """Call ``module:function`` with the call's arguments; a coroutine function is awaited.

    Raises:
        InputError: It cannot be imported.
    """
    function = imported(name)

    def read(arguments: Mapping[str, Json]) -> Any:
        def call() -> Any:
            found = function(**arguments)
            return asyncio.run(_awaited(found)) if inspect.isawaitable(found) else found

        return ended(call, timeout)

    return Source(kind="callable", read=read, timeout=timeout, **limits)


async def _awaited(value: Any) -> Any:
    return await value


def imported(name: str) -> Callable[..., Any]:
    """Import ``module:function``.

    Raises:
        InputError: There is no such module or function.
    """
    module, _, attribute = name.partition(":")
    try:
        found = getattr(importlib.import_module(module), attribute)
    except Exception as error:  # noqa: BLE001  a user's module may raise anything when it is imported
        raise InputError(f"{name!r} cannot be imported ({error})", fix="write module:function") from None
    if not callable(found):
        raise InputError(f"{name!r} is no function", fix="write module:function")
    return found  # type: ignore[no-any-return]


def command_source(command: Sequence[str], *, timeout: float, directory: Path, **limits: Any) -> Source:
    """Run a program without a shell, in the policy's directory; it and what it started are ended when time is up."""

    def read(arguments: Mapping[str, Json]) -> Any:
        return parsed(_run([filled(part, arguments) for part in command], timeout, directory))

    return Source(kind="command", read=read, timeout=timeout, **limits)


def filled(part: str, arguments: Mapping[str, Json]) -> str:
    """Put arguments in the place of ``{name}``.

    Raises:
        InputError: An argument is missing, is no plain value, or would be taken for an option.
    """
    found = _HOLE.sub(lambda hole: plain_text(hole[1], arguments), part)
    # A value such as --output=/etc/passwd must not become an option of the program.
    if found != part and found.startswith("-") and not part.startswith("-"):
        raise InputError(f"the argument in {part!r} starts with '-'", fix="the call is refused")
    return found


def plain_text(name: str, arguments: Mapping[str, Json]) -> str:
    """Return an argument as text.

    Raises:
        InputError: It is missing, or an object or a list.
    """
    value = from_argument(name, arguments)
    if isinstance(value, bool) or not isinstance(value, str | int | float):
        raise InputError(f"the argument {name!r} is no text and no number", fix="pass a plain value")
    if "\x00" in str(value):
        raise InputError(f"the argument {name!r} holds a zero byte", fix="the call is refused")
    return str(value)


def _run(command: list[str], timeout: float, directory: Path) -> bytes:
    try:
        process = subprocess.Popen(  # noqa: S603  the policy names the program; no shell is involved
            command,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            cwd=directory,
            start_new_session=True,
        )
    except OSError as error:
        raise InputError(f"{command[0]!r} cannot be run ({error.strerror})", fix="check the command") from None
    try:
        out, _ = process.communicate(timeout=timeout)
    except subprocess.TimeoutExpired:
        raise InputError(f"{command[0]!r} took more than {timeout:g} s", fix="raise its timeout or mend it") from None
    finally:
        _end(process)
    if process.returncode != 0:
        raise InputError(f"{command[0]!r} ended with exit code {process.returncode}", fix="run it by hand")
    return out


def _end(process: subprocess.Popen[bytes]) -> None:
    """End the program and everything it started: it leads a session of its own."""
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(process.pid, signal.SIGKILL)
    if process.stdout is not None:
        process.stdout.close()
    process.wait()


def http_source(url: str, *, timeout: float, **limits: Any) -> Source:
    """GET a URL; redirects are not followed.

    Raises:
        InputError: The URL is neither http nor https.
    """
    if not url.startswith(("http://", "https://")):
        raise InputError(f"{url!r} is no http address", fix="write http:// or https://")

    def read(arguments: Mapping[str, Json]) -> Any:
        address = _HOLE.sub(lambda hole: quote(plain_text(hole[1], arguments), safe=""), url)
        return parsed(ended(lambda: _get(address, timeout), timeout))

    return Source(kind="http", read=read, timeout=timeout, **limits)


def _get(address: str, timeout: float) -> bytes:
    parts = urlsplit(address)
    kind = http.client.HTTPSConnection if parts.scheme == "https" else http.client.HTTPConnection
    connection = kind(parts.netloc, timeout=timeout)
    try:
        connection.request("GET", urlunsplit(("", "", parts.path or "/", parts.query, "")))
        answer = connection.getresponse()
        if answer.status != 200:
            raise InputError(f"the server answered {answer.status}", where=address, fix="check the address")
        return answer.read(MOST_TEXT + 1)
    except (OSError, http.client.HTTPException) as error:
        raise InputError(f"the server cannot be asked ({error})", where=address, fix="check the address") from None
    finally:
        connection.close()


def sql_source(query: str, database: str, *, timeout: float, **limits: Any) -> Source:
    """Run a query that gives one row with one value; ``:name`` is bound to an argument, never written into the text."""
    names = re.findall(r"(?<![:\w]):([A-Za-z_]\w*)", query)

    def read(arguments: Mapping[str, Json]) -> Any:
        from sqlalchemy import create_engine, text
        from sqlalchemy.exc import SQLAlchemyError
        from sqlalchemy.pool import NullPool

        bound = {name: from_argument(name, arguments) for name in names}

        def ask() -> list[tuple[Any, ...]]:
            engine = create_engine(database, poolclass=NullPool)
            try:
                with engine.connect() as connection:
                    return [tuple(row) for row in connection.execute(text(query), bound).fetchmany(2)]
            except SQLAlchemyError as error:
                raise InputError(f"the query fails ({str(error).splitlines()[0][:120]})", fix="mend it") from None
            finally:
                engine.dispose()

        rows = ended(ask, timeout)
        if len(rows) != 1 or len(rows[0]) != 1:
            raise InputError("the query does not give one row with one value", fix="select one value")
        return rows[0][0]

    return Source(kind="sql", read=read, timeout=timeout, **limits)


def ended(function: Callable[[], _T], timeout: float) -> _T:
    """Run a function for at most so many seconds.

    A thread cannot be killed: one that does not end goes on, as a daemon, and what it returns is dropped.

    Raises:
        InputError: Time is up.
    """
    result: list[_T] = []
    fault: list[BaseException] = []

    def run() -> None:
        try:
            result.append(function())
        except BaseException as error:  # noqa: BLE001  raised again by the caller
            fault.append(error)

    thread = threading.Thread(target=run, daemon=True, name="butfor context")
    thread.start()
    thread.join(timeout)
    if fault:
        raise fault[0]
    if not result:
        raise InputError(f"no answer within {timeout:g} s", fix="raise its timeout or mend it")
    return result[0]
