"""A written solution as a run: one step a calculation ``<<expression=value>>``, linked by the values that flow."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from butfor.benchmarks.beds.arithmetic.expression import (
    Unreadable,
    decimal,
    evaluate,
    exact,
    is_number,
    tokens_of,
    written,
)
from butfor.benchmarks.beds.arithmetic.rounding import Rounding, rounding_between

if TYPE_CHECKING:
    from collections.abc import Sequence
    from fractions import Fraction

_CALCULATION = re.compile(r"<<([^<>]*)=([^<>=]*)>>\s*\$?(-?\d[\d,]*\.?\d*|-?\.\d+)?")
_ANSWER = re.compile(r"^A:\s*\$?(-?[\d,]*\.?\d+)", re.MULTILINE)


@dataclass(frozen=True, kw_only=True)
class Link:
    """A number that came from an earlier step.

    Attributes:
        step: The step.
        rounding: How the number comes from the step's value.
        ambiguous: The question holds the same number: it may have come from there.
    """

    step: int
    rounding: Rounding
    ambiguous: bool = False


@dataclass(frozen=True, kw_only=True)
class Calculation:
    """One step.

    Attributes:
        tokens: The expression.
        links: One a token; None where it is no number or came from no step.
        value: The value that the step gives to later ones, as the model wrote it.
        slipped: The model wrote a value that its own expression does not have.
        around: The text of its line before and after the calculation.
    """

    tokens: tuple[str, ...]
    links: tuple[Link | None, ...]
    value: Fraction
    slipped: bool
    around: tuple[str, str]

    def line(self, tokens: Sequence[str] | None = None) -> str:
        """Write the step's line, with another expression where one is given; the prose is kept."""
        tokens = self.tokens if tokens is None else tokens
        value = self.value if tokens == self.tokens else evaluate(tokens)
        shown = "nothing" if value is None else decimal(value)
        return f"{self.around[0]}<<{written(tokens)}={shown}>>{shown}{self.around[1]}".strip()


@dataclass(frozen=True, kw_only=True)
class Solution:
    """A run that can be executed again.

    Attributes:
        steps: Its calculations.
        answer: The number after ``A:``.
        link: Where the answer comes from.
    """

    steps: tuple[Calculation, ...]
    answer: Fraction
    link: Link


def read(text: str, question_numbers: frozenset[Fraction]) -> Solution | str:
    """Read a solution, or say why its tail cannot be executed again.

    A number is linked to the latest earlier step that has this value, as written or rounded as written.
    """
    answer = answer_of(text)
    if answer is None:
        return "no answer"
    if not _CALCULATION.search(text):
        return "no calculation"
    steps: list[Calculation] = []
    for line in text.splitlines():
        for match in _CALCULATION.finditer(line):
            step = _calculation(match, line, steps, question_numbers)
            if step is None:
                return "a calculation that is no arithmetic"
            steps.append(step)
    link = _link_to(answer[0], answer[1], steps, question_numbers, places=0)
    if link is None:
        return "the answer is no step's value"
    return Solution(steps=tuple(steps), answer=answer[1], link=replace(link, ambiguous=False))


def answer_of(text: str) -> tuple[str, Fraction] | None:
    """Return the number after ``A:`` as it is written and as a value."""
    found = _ANSWER.search(text)
    if found is None:
        return None
    plain = found[1].replace(",", "")
    return plain, -exact(plain[1:]) if plain.startswith("-") else exact(plain)


def _calculation(
    match: re.Match[str], line: str, before: list[Calculation], question: frozenset[Fraction]
) -> Calculation | None:
    try:
        tokens = tokens_of(match[1])
        result = evaluate(tokens_of(match[2]))
    except Unreadable:
        return None
    computed = evaluate(tokens)
    if computed is None or result is None:
        return None
    links = tuple(
        _link_to(token, exact(token), before, question, places=1) if is_number(token) else None for token in tokens
    )
    slipped = rounding_between(computed, match[2], result) is None
    return Calculation(
        tokens=tokens,
        links=links,
        value=result if slipped else computed,
        slipped=slipped,
        around=(line[: match.start()], line[match.end() :]),
    )


def _link_to(
    text: str, value: Fraction, before: list[Calculation], question: frozenset[Fraction], *, places: int
) -> Link | None:
    """Link a number to the latest step that it can come from, if it is rounded then to at least so many places."""
    for step in reversed(range(len(before))):
        rounding = rounding_between(before[step].value, text, value)
        if rounding is not None and (rounding.kind == "as is" or rounding.places >= places):
            return Link(step=step, rounding=rounding, ambiguous=value in question)
    return None
