"""Dyck languages: a stack of open brackets, and the brackets that close them."""

from __future__ import annotations

import re

from butfor.benchmarks.beds.arithmetic.expression import Unreadable

_CLOSING = {"(": ")", "[": "]", "{": "}", "<": ">"}
_MOVE = re.compile(r"^([()\[\]{}<>]) ; stack: (.*)$")
_QUOTED = re.compile(r'"([^"]*)"')


class Brackets:
    """A trace of this task: its state is the stack as written, and how many brackets were read.

    Args:
        question: The brackets, with spaces between.
        steps: The written steps.

    Raises:
        Unreadable: No step is written as a move.
    """

    def __init__(self, question: str, steps: list[str]) -> None:
        self._brackets = question.split()
        # One entry a step: the state after it, as (stack, brackets read).
        self._after: list[tuple[list[str], int]] = []
        stack: list[str] = []
        read = 0
        for step in steps:
            move = _MOVE.match(step.strip())
            if move is not None:
                stack, read = _stack(move[2]), read + 1
            elif "final stack is" in step:
                stack, read = _stack(_first_quoted(step)), len(self._brackets)
            elif "pop out" in step:
                stack, read = [symbol for text in reversed(_QUOTED.findall(step)) for symbol in text.split()], read
            self._after.append((stack, read))
        if read == 0:
            raise Unreadable(steps[0])

    def answer_from(self, step: int) -> str | None:
        """Return the closing brackets, reading on from the stack as written."""
        stack, read = self._after[step - 1] if step else ([], 0)
        stack = list(stack)
        for symbol in self._brackets[read:]:
            if symbol in _CLOSING:
                stack.append(symbol)
            elif stack and _CLOSING.get(stack[-1]) == symbol:
                stack.pop()
            else:
                return None
        if any(symbol not in _CLOSING for symbol in stack):
            return None
        return " ".join(_CLOSING[symbol] for symbol in reversed(stack))


def _stack(text: str) -> list[str]:
    return [] if "empty" in text else text.split()


def _first_quoted(step: str) -> str:
    found = _QUOTED.search(step)
    return found[1] if found else "empty"
