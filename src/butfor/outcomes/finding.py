"""From what a user writes to an outcome: a rule, its negation, or a function of their own."""

from __future__ import annotations

import ast
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from butfor import canonical
from butfor.errors import InputError, OutcomeError
from butfor.outcomes.rules import RULES
from butfor.replay.code import code_of
from butfor.replay.jobs import Score
from butfor.replay.plan import import_by_name

if TYPE_CHECKING:
    from collections.abc import Callable

    from butfor.replay.trajectory import Trajectory

_EXAMPLE = "write a rule such as 'tool_called(\"refund\")' or 'not text_matches(\"done\")', or module:function"


def find_outcome(text: str) -> Score:
    """Read an outcome.

    Args:
        text: A rule (``tool_called("refund", amount=900)``), ``not`` and a rule, or ``module:function`` of a
            `Trajectory` that returns a number in [0, 1].

    Raises:
        InputError: It is none of these.
    """
    stripped = text.strip()
    if "(" not in stripped and ":" in stripped:
        return score_of(_imported(stripped), name=stripped)
    try:
        tree = ast.parse(stripped, mode="eval").body
    except SyntaxError:
        raise InputError(f"cannot read the outcome {text!r}", fix=_EXAMPLE) from None
    negated = isinstance(tree, ast.UnaryOp) and isinstance(tree.op, ast.Not)
    rule = _rule(tree.operand if isinstance(tree, ast.UnaryOp) and negated else tree, text)
    function = _negation(rule) if negated else rule
    return Score(
        name=stripped,
        function=function,
        scores_failures=getattr(rule, "butfor_scores_failures", False),
        digest="rule",
    )


def score_of(function: Callable[[Trajectory], float], *, name: str | None = None) -> Score:
    """Make an outcome of a user's function; its draws are its own as long as its module does not change."""
    module = sys.modules.get(getattr(function, "__module__", ""))
    return Score(
        name=name or f"{getattr(function, '__module__', '?')}:{getattr(function, '__qualname__', repr(function))}",
        function=function,
        scores_failures=getattr(function, "butfor_scores_failures", False),
        digest="" if module is None else canonical.digest(code_of(module)),
    )


def scores_failures(function: Callable[[Trajectory], float]) -> Callable[[Trajectory], float]:
    """Mark an outcome function that also scores executions that raised or timed out (see `Trajectory.failure`)."""
    function.butfor_scores_failures = True  # type: ignore[attr-defined]
    return function


def _imported(name: str) -> Callable[[Trajectory], float]:
    if str(Path.cwd()) not in sys.path:
        sys.path.insert(0, str(Path.cwd()))
    try:
        function: Any = import_by_name(name, what="the outcome")
    except InputError:
        raise
    except Exception as error:
        raise OutcomeError(f"importing the outcome {name!r} raised {type(error).__name__}: {error}") from error
    if not callable(function):
        raise InputError(f"the outcome {name!r} is not a function", fix=_EXAMPLE)
    checked: Callable[[Trajectory], float] = function
    return checked


def _rule(tree: ast.expr, text: str) -> Callable[[Trajectory], float]:
    name = tree.id if isinstance(tree, ast.Name) else getattr(getattr(tree, "func", None), "id", None)
    if name not in RULES:
        raise InputError(f"there is no outcome rule {name or text!r}", fix=f"{_EXAMPLE}; rules: {', '.join(RULES)}")
    try:
        args = [_literal(each) for each in getattr(tree, "args", [])]
        named = {each.arg: _literal(each.value) for each in getattr(tree, "keywords", [])}
        return RULES[name](*args, **named)
    except InputError:
        raise
    except (TypeError, ValueError) as error:
        raise InputError(f"cannot read the arguments of the outcome {text!r} ({error})", fix=_EXAMPLE) from None


def _literal(tree: ast.expr) -> Any:
    try:
        return ast.literal_eval(tree)
    except ValueError:
        raise ValueError(f"{ast.unparse(tree)} is not a text, number, list or object") from None


def _negation(rule: Callable[[Trajectory], float]) -> Callable[[Trajectory], float]:
    return lambda trajectory: 1.0 - rule(trajectory)
