"""A second evaluator, which shares no code with the first: Python's own parser, fractions and decimal rounding."""

from __future__ import annotations

import ast
import re
from decimal import ROUND_DOWN, ROUND_HALF_UP, Decimal, localcontext
from fractions import Fraction
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from butfor.benchmarks.beds.arithmetic.rounding import Rounding
    from butfor.benchmarks.beds.arithmetic.solution import Solution

_NUMBER = re.compile(r"\d+\.?\d*|\.\d+")
_MODES = {"rounded": ROUND_HALF_UP, "cut off": ROUND_DOWN}


def confirms(solution: Solution, step: int, expression: str, gold: Fraction) -> bool:
    """Whether the answer is right with step `step` set to an expression: the whole run is computed from its text."""
    values: list[Fraction] = []
    try:
        for number, calculation in enumerate(solution.steps):
            factual = calculation.value
            if number < step:
                value = factual
            elif number == step:
                value = _value(expression, {})
            else:
                inputs = _inputs(solution, number, values)
                value = _value("".join(calculation.tokens), inputs) if inputs else factual
            values.append(value)
        source = solution.link.step
        moved = values[source] != solution.steps[source].value
        answer = _rounded(solution.link.rounding, values[source]) if moved else solution.answer
    except (SyntaxError, ZeroDivisionError):
        return False
    return abs(answer - gold) <= max(Fraction(1), abs(gold)) / 10**6


def _inputs(solution: Solution, number: int, values: list[Fraction]) -> dict[int, Fraction]:
    """Return the numbers of a step, by their place among its numbers, that come from a step whose value moved."""
    calculation, inputs, place = solution.steps[number], {}, 0
    for token, link in zip(calculation.tokens, calculation.links, strict=True):
        if _NUMBER.fullmatch(token):
            if link is not None and values[link.step] != solution.steps[link.step].value:
                inputs[place] = _rounded(link.rounding, values[link.step])
            place += 1
    return inputs


def _value(expression: str, inputs: dict[int, Fraction]) -> Fraction:
    found = _NUMBER.findall(expression)
    names = iter(range(len(found)))
    tree = ast.parse(_NUMBER.sub(lambda _: f" n{next(names)} ", expression).strip(), mode="eval")
    numbers = {f"n{place}": inputs.get(place, Fraction(Decimal(text))) for place, text in enumerate(found)}
    return _walk(tree.body, numbers)


def _walk(node: ast.expr, numbers: dict[str, Fraction]) -> Fraction:
    match node:
        case ast.Name(id=name):
            return numbers[name]
        case ast.UnaryOp(op=ast.USub(), operand=operand):
            return -_walk(operand, numbers)
        case ast.BinOp(left=left, op=ast.Add(), right=right):
            return _walk(left, numbers) + _walk(right, numbers)
        case ast.BinOp(left=left, op=ast.Sub(), right=right):
            return _walk(left, numbers) - _walk(right, numbers)
        case ast.BinOp(left=left, op=ast.Mult(), right=right):
            return _walk(left, numbers) * _walk(right, numbers)
        case ast.BinOp(left=left, op=ast.Div(), right=right):
            return _walk(left, numbers) / _walk(right, numbers)
    raise SyntaxError(ast.dump(node))


def _rounded(rounding: Rounding, value: Fraction) -> Fraction:
    if rounding.kind == "as is":
        return value
    with localcontext(prec=100):
        exact = Decimal(value.numerator) / Decimal(value.denominator)
        return Fraction(exact.quantize(Decimal(1).scaleb(-rounding.places), rounding=_MODES[rounding.kind]))
