"""The baseline that looks at one step at a time: the first equation that does not hold."""

from __future__ import annotations

import itertools
import re
from typing import TYPE_CHECKING

from butfor.benchmarks.beds.arithmetic.expression import Unreadable, evaluate, tokens_of

if TYPE_CHECKING:
    from collections.abc import Sequence
    from fractions import Fraction

_SIDE = re.compile(r"[-+*/() \d.]*\d[-+*/() \d.]*")


def first_wrong_equation(steps: Sequence[str]) -> int | None:
    """Return the first step in which two neighbours of an equation differ; None where no step has one.

    No state is carried from step to step, so a step that is right in itself and starts from a wrong value passes.
    """
    for number, step in enumerate(steps):
        sides = [_value(side) for side in step.split("=")]
        pairs = itertools.pairwise(sides)
        if any(a is not None and b is not None and a != b for a, b in pairs):
            return number
    return None


def _value(side: str) -> Fraction | None:
    text = side.partition(". So")[0].strip().rstrip(".")
    if not _SIDE.fullmatch(text):
        return None
    try:
        return evaluate(tokens_of(text))
    except Unreadable:
        return None
