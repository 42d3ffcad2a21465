"""π of this bed, declared: what a step would be, were it decided again."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from butfor.benchmarks.beds.arithmetic.edits import operands_at, single_edits

if TYPE_CHECKING:
    import random

    from butfor.benchmarks.beds.arithmetic.solution import Solution


@dataclass(frozen=True, kw_only=True)
class Policy:
    """Decides a step as it was with probability `keep`, else one operator or operand of it anew, uniformly.

    Attributes:
        question: The numbers that the question states.
        keep: Probability of the factual expression.
    """

    question: tuple[str, ...]
    keep: float = 0.5

    @property
    def words(self) -> str:
        """Say what π is."""
        return f"keeps the expression with probability {self.keep:g}, else changes one operator or operand, uniformly"

    def decide(self, solution: Solution, step: int, source: random.Random) -> tuple[str, ...]:
        """Draw a_k ~ π(· | s_k)."""
        tokens = solution.steps[step].tokens
        if source.random() < self.keep:
            return tokens
        others = list(single_edits(tokens, operands_at(solution, step, self.question)))
        return source.choice(others) if others else tokens
