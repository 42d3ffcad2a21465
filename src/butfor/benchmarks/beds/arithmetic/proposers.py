"""Proposals without a hosted model: what the other solutions of the problem calculate, and structured edits."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from butfor.benchmarks.beds.arithmetic.edits import edits_of, is_grounded, known_at, operands_at
from butfor.benchmarks.beds.arithmetic.expression import evaluate, written
from butfor.benchmarks.beds.arithmetic.solution import Solution
from butfor.repairs import Proposal
from butfor.repairs.edits.tokens import distance

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from butfor.benchmarks.beds.arithmetic.problems import Problem


@dataclass(frozen=True, kw_only=True)
class OtherSolutions:
    """Proposes the calculations of the other solutions, which cost one model call each; right or wrong is not known.

    Attributes:
        problem: The problem.
        model: Whose solution failed.
    """

    problem: Problem
    model: str

    def propose(self, step: int) -> Sequence[Proposal]:
        """Return every calculation of the others once, none that keeps the step's value."""
        factual = _solution(self.problem, self.model).steps[step]
        found: dict[tuple[str, ...], dict[str, object]] = {}
        for model, other in self.problem.solutions.items():
            if model != self.model and isinstance(other, Solution):
                for number, calculation in enumerate(other.steps):
                    if evaluate(calculation.tokens) != factual.value:
                        found.setdefault(calculation.tokens, {"model": model, "its step": number})
        return [
            Proposal(step=step, action=written(tokens), source="other_solution", origin=origin)
            for tokens, origin in found.items()
        ]


@dataclass(frozen=True, kw_only=True)
class Edits:
    """Proposes the edits of one operator or operand, and one operand more or less; they cost no model call.

    Attributes:
        problem: The problem.
        model: Whose solution failed.
    """

    problem: Problem
    model: str

    def propose(self, step: int) -> Sequence[Proposal]:
        """Return every edit of a step once."""
        solution = _solution(self.problem, self.model)
        operands = operands_at(solution, step, self.problem.numbers)
        return [
            Proposal(step=step, action=written(tokens), source="argument_edit", origin={"edit": "operator or operand"})
            for tokens in edits_of(solution.steps[step], operands)
        ]


def in_order(problem: Problem, model: str) -> Iterator[Proposal]:
    """Yield all proposals for all steps in the order in which they are tested; it does not depend on any outcome.

    First what another solution calculated from numbers that this one has too, then edits, then what has a number from
    elsewhere; the smallest change first within each.
    """
    solution = _solution(problem, model)
    proposers: tuple[OtherSolutions | Edits, ...] = (
        OtherSolutions(problem=problem, model=model),
        Edits(problem=problem, model=model),
    )
    ranked: list[tuple[bool, int, int, int, int, Proposal]] = []
    seen: set[tuple[int, str]] = set()
    for step, calculation in enumerate(solution.steps):
        known = known_at(calculation, operands_at(solution, step, problem.numbers))
        for rank, proposer in enumerate(proposers):
            for proposal in proposer.propose(step):
                if (step, proposal.action) not in seen:
                    seen.add((step, proposal.action))
                    tokens = tuple(proposal.action.split())
                    foreign = not is_grounded(tokens, known)
                    ranked.append((foreign, rank, distance(calculation.tokens, tokens), step, len(ranked), proposal))
    yield from (proposal for *_, proposal in sorted(ranked, key=lambda each: each[:-1]))


def _solution(problem: Problem, model: str) -> Solution:
    solution = problem.solutions[model]
    assert isinstance(solution, Solution)
    return solution
