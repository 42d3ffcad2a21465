"""Multistep arithmetic: a formula over named parts, the parts, and what they add up to."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from butfor.benchmarks.beds.arithmetic.expression import Unreadable, decimal, evaluate, tokens_of

if TYPE_CHECKING:
    from fractions import Fraction

_FORMULA = re.compile(r'written as "([^"]*)"')
_PART = re.compile(r"\b([A-Z]\d?) = (.*?)(?=,? (?:and )?[A-Z]\d? = |\.?$)")
_RESULT = re.compile(r"calculate ([A-Z]\d?) = .*=\s*([-\d.() ]*\d[).]*)\s*$")
_LETTER = re.compile(r"\b[A-Z]\d?\b")


class Arithmetic:
    """A trace of this task.

    Args:
        question: Such as ``((5 + 2) * (3 - 1)) =``.
        steps: The written steps.

    Raises:
        Unreadable: A step is written in another form.
    """

    def __init__(self, question: str, steps: list[str]) -> None:
        formula = _FORMULA.search(steps[0])
        self._question = question.partition("=")[0]
        self._parts = dict(_PART.findall(steps[0].partition("where")[2].strip()))
        if formula is None or not self._parts or _value(self._question, {}) is None:
            raise Unreadable(steps[0])
        self._formula = formula[1]
        self._results: list[tuple[str, Fraction | None] | None] = [None]
        for step in steps[1:-1]:
            found = _RESULT.search(step)
            if found is None:
                raise Unreadable(step)
            self._results.append((found[1], _value(found[2].rstrip("."), {})))

    def answer_from(self, step: int) -> str | None:
        """Return the answer with the parts of earlier steps as written."""
        if step == 0:
            return _written(_value(self._question, {}))
        known = {name: value for each in self._results[:step] if each for name, value in [each] if value is not None}
        parts = {name: f"({text})" for name, text in self._parts.items()}
        return _written(_value(self._formula, {**parts, **{name: f"({decimal(v)})" for name, v in known.items()}}))


def _value(text: str, parts: dict[str, str]) -> Fraction | None:
    for _ in range(5):  # parts may be made of parts
        if not _LETTER.search(text):
            break
        text = _LETTER.sub(lambda found: parts.get(found[0], "?"), text)
    text = text.strip().rstrip(".")
    # "C = ((-5 * -8 + 4)": a bracket that was forgotten at the end is no other value.
    text += ")" * max(text.count("(") - text.count(")"), 0)
    try:
        return evaluate(tokens_of(text))
    except Unreadable:
        return None


def _written(value: Fraction | None) -> str | None:
    return None if value is None else decimal(value)
