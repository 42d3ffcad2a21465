"""The user's agent: found by name, made afresh for every rollout, and recognised when its code changes."""

from __future__ import annotations

import functools
import inspect
import os
import site
import sys
import sysconfig
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from butfor import canonical
from butfor.errors import AgentError, InputError
from butfor.replay.plan import import_by_name

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from types import ModuleType


@dataclass(frozen=True, kw_only=True)
class Agent:
    """An agent that can be called again.

    Attributes:
        name: ``module:function``; None for one that cannot be imported by name (a closure, a notebook's).
        function: The contract is ``f(input) -> output``, synchronous or asynchronous.
        code: File (relative to its root) to digest, of the user's own modules that were imported with it.
    """

    name: str | None
    function: Callable[..., Any]
    code: Mapping[str, str]

    def fresh(self) -> Callable[[Any], Any]:
        """Return the callable of one rollout: the factory's product, or the function itself.

        Raises:
            AgentError: The factory raised, or gave something that cannot be called.
        """
        if not getattr(self.function, "butfor_factory", False):
            return self.function
        try:
            made: Callable[[Any], Any] = self.function()
        except Exception as error:
            raise AgentError(f"the factory {self.name} raised {type(error).__name__}: {error}") from error
        if not callable(made):
            raise AgentError(f"the factory {self.name} returned a {type(made).__name__}, which cannot be called")
        return made

    @property
    def code_digest(self) -> str:
        """Digest of all of the agent's own code."""
        return canonical.digest(dict(self.code))


def factory(function: Callable[[], Callable[[Any], Any]]) -> Callable[[], Callable[[Any], Any]]:
    """Mark a function that returns a fresh agent: it is called once for every rollout."""
    function.butfor_factory = True  # type: ignore[attr-defined]
    return function


def find_agent(name: str) -> Agent:
    """Import an agent by name, with the current folder on the path as `python -m` has it.

    Raises:
        AgentError: The name is not ``module:function``, or the module cannot be imported.
    """
    module_name, _, _ = name.partition(":")
    if "" not in sys.path and str(Path.cwd()) not in sys.path:
        sys.path.insert(0, str(Path.cwd()))
    try:
        function = import_by_name(name, what="the agent")
    except InputError as error:
        raise AgentError(error.what, fix="write it as module:function, from the folder that holds the module") from None
    except Exception as error:
        raise AgentError(
            f"importing {module_name!r} raised {type(error).__name__}: {error}", fix="import it in a Python shell first"
        ) from error
    if not callable(function):
        raise AgentError(f"the agent {name!r} is a {type(function).__name__}, which cannot be called")
    return Agent(name=name, function=function, code=code_of(sys.modules[module_name]))


def wrap_agent(function: Callable[..., Any]) -> Agent:
    """Take an agent that was given as an object; it has a name where importing that name gives the same object."""
    name = f"{function.__module__}:{getattr(function, '__qualname__', '<instance>')}"
    module = sys.modules.get(function.__module__)
    importable = "<" not in name and function.__module__ != "__main__" and module is not None
    return Agent(name=name if importable else None, function=function, code={} if module is None else code_of(module))


def code_of(module: ModuleType) -> dict[str, str]:
    """Hash the user's own source files: the module's, and those of modules under the same root that it has loaded."""
    file = getattr(module, "__file__", None)
    if not file:
        return {}
    root = _root_of(module.__name__, Path(file))
    # Thousands of modules may be loaded: plain text comparison, where paths would cost a third of a second.
    inside, installed = f"{root}{os.sep}", _installed()
    files = {file} | {
        path
        for other in list(sys.modules.values())
        if (path := getattr(other, "__file__", None))
        and path.endswith(".py")
        and path.startswith(inside)
        and not path.startswith(installed)
    }
    return {os.path.relpath(path, root): _digest_of_file(path, Path(path).stat().st_mtime_ns) for path in sorted(files)}


def check_signature(function: Callable[..., Any], name: str) -> None:
    """Refuse a callable that does not take one input.

    Raises:
        AgentError: It takes none, or needs more than one argument.
    """
    try:
        inspect.signature(function).bind(None)
    except TypeError as error:
        raise AgentError(f"the agent {name} does not take one input ({error})", fix="write it as f(input)") from None
    except ValueError:
        return


def _root_of(module_name: str, file: Path) -> Path:
    levels = module_name.count(".") + (file.name == "__init__.py")
    return file.parents[levels]


def is_installed(path: str) -> bool:
    """Whether a source file belongs to the standard library or an installed package."""
    return path.startswith(_installed())


@functools.cache
def _installed() -> tuple[str, ...]:
    return tuple(f"{place}{os.sep}" for place in (*site.getsitepackages(), sysconfig.get_paths()["stdlib"]))


@functools.lru_cache(maxsize=4096)
def _digest_of_file(path: str, modified: int) -> str:
    del modified  # part of the cache's key: an edited file is read again
    return canonical.digest_text(Path(path).read_bytes())
