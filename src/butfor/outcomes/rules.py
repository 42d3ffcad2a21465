"""Ready-made outcome rules: functions of a finished execution, 1 = bad."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, TypeAlias

from butfor import canonical
from butfor.errors import InputError, OutcomeError

if TYPE_CHECKING:
    from collections.abc import Callable

    from butfor.canonical import Json
    from butfor.replay.trajectory import Trajectory

Rule: TypeAlias = "Callable[[Trajectory], float]"

_MISSING = object()


def tool_called(name: str, **arguments: Json) -> Rule:
    """Bad where a tool was called.

    Args:
        name: The tool.
        arguments: Where given, only calls with these argument values count.
    """

    def rule(trajectory: Trajectory) -> float:
        return float(
            any(
                call.name == name and all(_get(call.arguments, key) == wanted for key, wanted in arguments.items())
                for call in trajectory.calls
            )
        )

    return rule


def text_matches(pattern: str) -> Rule:
    """Bad where the output, or anything that the policy said, matches a regular expression.

    Raises:
        InputError: The pattern is not a regular expression.
    """
    try:
        compiled = re.compile(pattern)
    except re.error as error:
        raise InputError(f"{pattern!r} is not a regular expression ({error})") from None

    def rule(trajectory: Trajectory) -> float:
        output = trajectory.output
        said = [output if isinstance(output, str) else canonical.encode(output), *trajectory.texts]
        return float(any(compiled.search(text) for text in said))

    return rule


def json_path(path: str, value: Json = True) -> Rule:
    """Bad where the output has this value at a path.

    Args:
        path: Keys and positions joined by dots, such as ``result.items.0.status``; ``$`` is the whole output.
        value: What counts as bad there.
    """

    def rule(trajectory: Trajectory) -> float:
        found: Json = trajectory.output
        for key in [] if path in ("", "$") else path.removeprefix("$.").split("."):
            found = _get(found, key)
        if found is _MISSING:
            raise OutcomeError(f"the output has nothing at {path!r}", fix="check the path against `butfor runs RUN`")
        return float(canonical.first_difference(found, value) is None)

    return rule


def exit_code(good: int = 0) -> Rule:
    """Bad where the output (a number, or an object with `exit_code` or `returncode`) is not the good exit code."""

    def rule(trajectory: Trajectory) -> float:
        output = trajectory.output
        for key in ("exit_code", "returncode"):
            if isinstance(output, dict) and key in output:
                output = output[key]
        if isinstance(output, bool) or not isinstance(output, int):
            raise OutcomeError(
                f"the output {str(trajectory.output)[:60]!r} is not an exit code",
                fix='return a number, or {"exit_code": number}',
            )
        return float(output != good)

    return rule


def failed() -> Rule:
    """Bad where the agent raised or ran into its time limit."""

    def rule(trajectory: Trajectory) -> float:
        return float(trajectory.failure is not None)

    rule.butfor_scores_failures = True  # type: ignore[attr-defined]
    return rule


RULES: dict[str, Callable[..., Rule]] = {
    "tool_called": tool_called,
    "text_matches": text_matches,
    "json_path": json_path,
    "exit_code": exit_code,
    "failed": failed,
}
"""Rules that the command line knows by name."""


def _get(node: Json, key: str) -> Json:
    if isinstance(node, dict) and key in node:
        return node[key]
    if isinstance(node, list) and key.lstrip("-").isdigit() and -len(node) <= int(key) < len(node):
        return node[int(key)]
    return _MISSING
