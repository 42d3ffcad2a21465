"""Arithmetic as models write it, read into tokens and evaluated exactly."""

from __future__ import annotations

import re
from fractions import Fraction
from functools import lru_cache
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

OPERATORS = ("+", "-", "*", "/")
_TOKEN = re.compile(r"\s*(?:(\d{1,3}(?:,\d{3})+(?:\.\d+)?|\d+\.?\d*|\.\d+)(%?)|([-+*/()])|([x×·÷]))")
_SAME = {"x": "*", "×": "*", "·": "*", "÷": "/"}


class Unreadable(ValueError):
    """The text is not arithmetic; it never leaves this room."""


def tokens_of(text: str) -> tuple[str, ...]:
    """Split an expression into numbers, operators and brackets; "20,000" is one number and "25%" is (25 / 100).

    Raises:
        Unreadable: Something else stands there, such as a variable.
    """
    found: list[str] = []
    position, text = 0, text.strip().replace("$", "")
    while position < len(text):
        match = _TOKEN.match(text, position)
        if match is None:
            raise Unreadable(text)
        number, percent, operator, spelled = match.groups()
        if number:
            plain = number.replace(",", "")
            found += ["(", plain, "/", "100", ")"] if percent else [plain]
        else:
            found.append(operator or _SAME[spelled])
        position = match.end()
    return tuple(found)


def is_number(token: str) -> bool:
    """Whether a token is a number."""
    return token[0].isdigit() or token[0] == "."


@lru_cache(maxsize=65536)  # a third of a search went into reading the same few numbers
def exact(token: str) -> Fraction:
    """Return the number that a token writes."""
    return Fraction("0" + token if token.startswith(".") else token.rstrip(".") or "0")


def evaluate(tokens: Sequence[str], values: Sequence[Fraction | None] | None = None) -> Fraction | None:
    """Evaluate exactly, with the usual precedence; None where it is no expression, or divides by zero.

    Args:
        tokens: Of `tokens_of`.
        values: One a token: a value that takes the place of a number, or None.
    """
    try:
        value, end = _sum(tokens, values, 0)
    except (IndexError, ZeroDivisionError, Unreadable):
        return None
    return value if end == len(tokens) else None


def _sum(tokens: Sequence[str], values: Sequence[Fraction | None] | None, at: int) -> tuple[Fraction, int]:
    total, at = _product(tokens, values, at)
    while at < len(tokens) and tokens[at] in "+-":
        right, after = _product(tokens, values, at + 1)
        total = total + right if tokens[at] == "+" else total - right
        at = after
    return total, at


def _product(tokens: Sequence[str], values: Sequence[Fraction | None] | None, at: int) -> tuple[Fraction, int]:
    total, at = _atom(tokens, values, at)
    while at < len(tokens) and tokens[at] in "*/":
        right, after = _atom(tokens, values, at + 1)
        total = total * right if tokens[at] == "*" else total / right
        at = after
    return total, at


def _atom(tokens: Sequence[str], values: Sequence[Fraction | None] | None, at: int) -> tuple[Fraction, int]:
    first = tokens[at]
    if first == "(":
        value, at = _sum(tokens, values, at + 1)
        if tokens[at] != ")":
            raise Unreadable(first)
        return value, at + 1
    if first == "-":
        value, at = _atom(tokens, values, at + 1)
        return -value, at
    if not is_number(first):
        raise Unreadable(first)
    replaced = values[at] if values is not None else None
    return exact(first) if replaced is None else replaced, at + 1


def written(tokens: Sequence[str]) -> str:
    """Write tokens as text, with spaces between."""
    return " ".join(tokens)


def decimal(value: Fraction) -> str:
    """Write a value in as few digits as name it, else to six decimals."""
    if value.denominator == 1:
        return str(value.numerator)
    text = f"{float(value):.6f}".rstrip("0")
    return text if Fraction(text) == value else f"{float(value):.6f}"
