"""Structured edits of one calculation: its operators, its operands, and one operand more or less."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from butfor.benchmarks.beds.arithmetic.expression import OPERATORS, decimal, evaluate, exact, is_number

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from fractions import Fraction

    from butfor.benchmarks.beds.arithmetic.solution import Calculation, Solution

Tokens = tuple[str, ...]
_NUMBER = re.compile(r"(\d{1,3}(?:,\d{3})+(?:\.\d+)?|\d+\.?\d*|\.\d+)(\s*(?:%|percent))?")
_WORDS = {
    **{
        word: (str(i),)
        for i, word in enumerate(["one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten"], 1)
    },
    "eleven": ("11",),
    "twelve": ("12",),
    "dozen": ("12",),
    "fifteen": ("15",),
    "twenty": ("20",),
    "half": ("2", "0.5"),
    "twice": ("2",),
    "double": ("2",),
    "triple": ("3",),
    "third": ("3",),
    "quarter": ("4",),
    "week": ("7",),
    "weekly": ("7",),
    "year": ("12", "52"),
    "month": ("12",),
    "hour": ("60",),
    "minutes": ("60",),
}


def numbers_in(question: str) -> tuple[str, ...]:
    """Return the numbers that a question states, in digits or words, a percentage also as its share."""
    found: list[str] = []
    for number, percent in _NUMBER.findall(question):
        plain = number.replace(",", "").rstrip(".")
        found.append(plain)
        if percent:
            share = exact(plain) / 100
            found += [decimal(share), decimal(1 + share), decimal(1 - share), "100"]
    for word in re.findall(r"[a-z]+", question.lower()):
        found += _WORDS.get(word, _WORDS.get(word.removesuffix("s"), ()))
    return tuple(dict.fromkeys(each for each in found if exact(each) >= 0))


def operands_at(solution: Solution, step: int, question: Sequence[str]) -> tuple[str, ...]:
    """Return what a step can calculate with: the question's numbers and the values of earlier steps."""
    earlier = [decimal(each.value) for each in solution.steps[:step] if each.value >= 0]
    return tuple(dict.fromkeys([*question, *earlier]))


def edits_of(calculation: Calculation, operands: Sequence[str]) -> Iterator[Tokens]:
    """Yield every edit once, the smallest first; none that keeps the value."""
    seen: set[Tokens] = set()
    kept = calculation.value
    for edit in _all_edits(calculation.tokens, operands):
        if edit not in seen:
            seen.add(edit)
            value = evaluate(edit)
            if value is not None and value != kept:
                yield edit


def single_edits(tokens: Tokens, operands: Sequence[str]) -> Iterator[Tokens]:
    """Yield the edits that change one operator or one operand."""
    for at, each in enumerate(tokens):
        if each in OPERATORS and at > 0 and (is_number(tokens[at - 1]) or tokens[at - 1] == ")"):
            yield from (_with(tokens, at, other) for other in OPERATORS if other != each)
    for at, token in enumerate(tokens):
        if is_number(token):
            same = exact(token)
            yield from (_with(tokens, at, other) for other in operands if exact(other) != same)


def _all_edits(tokens: Tokens, operands: Sequence[str]) -> Iterator[Tokens]:
    yield tokens  # a slip of the pen computed again
    yield from single_edits(tokens, operands)
    if len(tokens) > 2 and tokens[-2] in OPERATORS and is_number(tokens[-1]):
        yield tokens[:-2]
    if len(tokens) == 3:
        yield tokens[::-1]
    for operator in OPERATORS:
        loose = operator in "*/" and any(each in "+-" for each in tokens)
        head = ("(", *tokens, ")") if loose else tokens
        yield from ((*head, operator, operand) for operand in operands)


def _with(tokens: Tokens, at: int, other: str) -> Tokens:
    return (*tokens[:at], other, *tokens[at + 1 :])


def known_at(calculation: Calculation, operands: Sequence[str]) -> frozenset[Fraction]:
    """Return the numbers that stand in the question, in an earlier step or in the step that is replaced."""
    return frozenset(exact(each) for each in (*operands, *filter(is_number, calculation.tokens)))


def is_grounded(tokens: Sequence[str], known: frozenset[Fraction]) -> bool:
    """Whether an expression has no number that is not known."""
    return all(exact(each) in known for each in tokens if is_number(each))
