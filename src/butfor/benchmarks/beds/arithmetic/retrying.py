"""The baselines that ask a model, on these problems."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING

from butfor.benchmarks.beds.arithmetic.expression import exact
from butfor.benchmarks.beds.arithmetic.rerun import is_right
from butfor.benchmarks.beds.baselines import asker, self_refine, self_reflection

if TYPE_CHECKING:
    from collections.abc import Sequence
    from fractions import Fraction

    from butfor.benchmarks.beds.arithmetic.problems import Problem

_NUMBER = re.compile(r"\d[\d,]*\.?\d*")


@dataclass(kw_only=True)
class Tally:
    """What a baseline reached.

    Attributes:
        right: One a problem.
        calls: Extra model calls, one a problem.
    """

    right: list[bool] = field(default_factory=list)
    calls: list[float] = field(default_factory=list)


def ask_again(model: str, problems: Sequence[Problem], writer: str) -> dict[str, Tally]:
    """Let a model refine, and reflect on, the solutions that `writer` wrote."""
    ask = asker(model)
    refined, reflected = Tally(), Tally()
    for problem in problems:
        task = f"{problem.question}\nEnd with a line 'A: NUMBER'."
        first = problem.texts[writer]
        final = self_refine(ask, task, first)
        refined.right.append(_is_right(final.text, problem.gold))
        refined.calls.append(final.calls)
        final = self_reflection(ask, task, first, partial(_is_right, gold=problem.gold))
        reflected.right.append(_is_right(final.text, problem.gold))
        reflected.calls.append(final.calls)
    return {"Self-Refine": refined, "Self-Reflection": reflected}


def _is_right(text: str, gold: Fraction) -> bool:
    """Judge the number after the last ``A:``, else the last number."""
    numbers = _NUMBER.findall(text.rpartition("A:")[2])
    return bool(numbers) and is_right(exact(numbers[-1].replace(",", "")), gold)
