"""A Python tool that asks the gate before it runs."""

from __future__ import annotations

import functools
import inspect
from typing import TYPE_CHECKING, Any, ParamSpec, TypeVar

from butfor.errors import ActionRefused
from butfor.gate.action import Action

if TYPE_CHECKING:
    from collections.abc import Callable

    from butfor.gate.gate import Gate
    from butfor.gate.ruling import Ruling

_P = ParamSpec("_P")
_R = TypeVar("_R")


def guard(gate: Gate, tool: Callable[_P, _R], *, name: str | None = None, agent: str = "default") -> Callable[_P, _R]:
    """Wrap a tool, a function or a coroutine function, so that it runs only where the gate allows it.

    Args:
        gate: The gate.
        tool: The tool. Its arguments, defaults included, are the call's arguments by name.
        name: The tool's name in the policy; by default the function's.
        agent: Who asks.

    Returns:
        The tool. It raises `ActionRefused`, with the certificate, where the call may not run.
    """
    signature = inspect.signature(tool)
    called: str = name or str(getattr(tool, "__name__", "tool"))

    def action(*args: Any, **kwargs: Any) -> Action:
        bound = signature.bind(*args, **kwargs)
        bound.apply_defaults()
        return Action(tool=called, arguments=_named(signature, bound.arguments), agent=agent)

    if inspect.iscoroutinefunction(tool):

        @functools.wraps(tool)
        async def awaited(*args: Any, **kwargs: Any) -> Any:
            _refuse(called, await gate.adecide(action(*args, **kwargs)))
            return await tool(*args, **kwargs)

        return awaited  # type: ignore[return-value]  # the wrapped tool is a coroutine function too

    @functools.wraps(tool)
    def guarded(*args: _P.args, **kwargs: _P.kwargs) -> _R:
        _refuse(called, gate.decide(action(*args, **kwargs)))
        return tool(*args, **kwargs)

    return guarded


def _named(signature: inspect.Signature, arguments: dict[str, Any]) -> dict[str, Any]:
    """Return arguments by name; what a ``**`` parameter took is spread out, a ``*`` parameter is a list."""
    found: dict[str, Any] = {}
    for name, value in arguments.items():
        kind = signature.parameters[name].kind
        if kind is inspect.Parameter.VAR_KEYWORD:
            found.update(value)
        else:
            found[name] = list(value) if kind is inspect.Parameter.VAR_POSITIONAL else value
    return found


def _refuse(name: str, ruling: Ruling) -> None:
    if not ruling.allowed:
        raise ActionRefused(
            f"the call of {name!r} may not run: {ruling.in_words()}",
            verdict=ruling.verdict,
            reason=ruling.reason,
            decision=ruling.id,
            certificate=ruling.certificate,
        )
