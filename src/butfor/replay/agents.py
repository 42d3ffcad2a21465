"""The user's agent: found by name, made afresh for every rollout, and recognised when its code changes."""

from __future__ import annotations

import inspect
import os
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from butfor import canonical
from butfor.errors import AgentError, ButforError, NotFound
from butfor.replay.code import code_of
from butfor.replay.plan import import_by_name

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping


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

    def owns(self, module: str) -> bool:
        """Say whether a module is part of the agent: one of its source files, its own module, or the running script."""
        path = module.replace(".", os.sep)
        files = (f"{path}.py", os.path.join(path, "__init__.py"))  # noqa: PTH118  the keys of `code` are plain text
        return module in (self.function.__module__, "__main__") or any(file in self.code for file in files)

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
    except NotFound as error:
        raise AgentError(error.what, fix="write it as module:function, from the folder that holds the module") from None
    except ButforError:
        raise  # it is a sentence about the agent's own code already
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
