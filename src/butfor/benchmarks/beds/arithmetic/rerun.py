"""Execute a solution again with one step changed: what used the step's value is computed again, the rest stays."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import TYPE_CHECKING

from butfor.benchmarks.beds.arithmetic.expression import Unreadable, evaluate, tokens_of
from butfor.noise import generator

if TYPE_CHECKING:
    from collections.abc import Sequence

    from butfor.benchmarks.beds.arithmetic.policy import Policy
    from butfor.benchmarks.beds.arithmetic.solution import Solution
    from butfor.canonical import Json

Tokens = tuple[str, ...]
_TOLERANCE = Fraction(1, 10**6)


def values_after(solution: Solution, step: int, tokens: Sequence[str]) -> list[Fraction] | None:
    """Return every step's value with step `step` replaced; None where a later step divides by zero.

    Args:
        solution: The run.
        step: The step that is replaced.
        tokens: Its new expression; the steps before it are held, so its numbers mean themselves.
    """
    values = [each.value for each in solution.steps]
    replaced = evaluate(tokens)
    if replaced is None:
        return None
    values[step] = replaced
    changed = {step} if replaced != solution.steps[step].value else set()
    for later in range(step + 1, len(values)):
        calculation = solution.steps[later]
        new = [
            link.rounding.of(values[link.step]) if link is not None and link.step in changed else None
            for link in calculation.links
        ]
        # Nothing flows in: the step stays as written, a slip of the pen included.
        if any(each is not None for each in new):
            value = evaluate(calculation.tokens, new)
            if value is None:
                return None
            values[later] = value
            if value != calculation.value:
                changed.add(later)
    return values


def answer_after(solution: Solution, step: int, tokens: Sequence[str]) -> Fraction | None:
    """Return the answer with step `step` replaced; None where there is none."""
    values = values_after(solution, step, tokens)
    if values is None:
        return None
    source = solution.link.step
    if values[source] == solution.steps[source].value:
        return solution.answer
    return solution.link.rounding.of(values[source])


def is_right(answer: Fraction | None, gold: Fraction) -> bool:
    """Whether an answer is the gold answer, to 10⁻⁶ relative."""
    return answer is not None and abs(answer - gold) <= _TOLERANCE * max(Fraction(1), abs(gold))


@dataclass(frozen=True, kw_only=True)
class Rerun:
    """Executes one failed solution again: the `Executor` of this bed. An action is an expression as text.

    Attributes:
        solution: The run.
        gold: What the verifier knows and no proposer sees.
        policy: π, which draws the null arm.
        key: Names the run in every draw's key.
        seed: Root of every draw.
    """

    solution: Solution
    gold: Fraction
    policy: Policy
    key: str
    seed: int

    def run(self, step: int, action: Json, draw: int) -> float:
        """Return y: 0 where the answer is right, else 1.

        Args:
            step: The step that is replaced.
            action: Its new expression; None for the null arm, which decides the step again with π.
            draw: The draw's id; it matters for the null arm only, since the tail is deterministic.
        """
        if action is None:
            source = generator(self.seed, "null arm", self.key, step, draw)
            tokens = self.policy.decide(self.solution, step, source)
        else:
            tokens = _tokens_of(action)
        return 0.0 if is_right(answer_after(self.solution, step, tokens), self.gold) else 1.0

    def deterministic_tail(self, step: int, action: Json) -> bool:
        """Say that arithmetic comes out the same every time; the null arm alone is drawn."""
        del step
        return action is not None


@lru_cache(maxsize=65536)
def _tokens_of(action: str) -> Tokens:
    try:
        return tokens_of(action)
    except Unreadable:
        return ()
