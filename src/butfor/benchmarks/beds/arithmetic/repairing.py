"""Repair one failed solution: test proposals in order, shrink the first that is accepted, check the result again."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import chain, combinations
from typing import TYPE_CHECKING

from butfor.benchmarks.beds.arithmetic.edits import is_grounded, known_at, operands_at
from butfor.benchmarks.beds.arithmetic.expression import decimal, evaluate, tokens_of
from butfor.benchmarks.beds.arithmetic.independent import confirms
from butfor.benchmarks.beds.arithmetic.policy import Policy
from butfor.benchmarks.beds.arithmetic.proposers import in_order
from butfor.benchmarks.beds.arithmetic.rerun import Rerun
from butfor.benchmarks.beds.arithmetic.solution import Solution
from butfor.confidence import Undefined
from butfor.repairs import RepairTest, Standard, leaks_of
from butfor.repairs.edits import Change, positional_score, token_distance
from butfor.repairs.shrink import shrink

if TYPE_CHECKING:
    from fractions import Fraction

    from butfor.benchmarks.beds.arithmetic.problems import Problem
    from butfor.repairs import Proposal, Verdict


@dataclass(frozen=True, kw_only=True)
class Fixed:
    """An accepted repair.

    Attributes:
        proposal: What was accepted first.
        action: Its smallest part that still works, accepted again on draws of its own.
        verdict: Of `action`.
        distance: Tokens changed.
        positional: The published score of the whole line, for comparison.
        one_minimal: No smaller part works, by the independent evaluator.
        confirmed: The independent evaluator agrees that it works.
        grounded: It has no number that the run had not.
        in_reference: The reference solution has a step of this value: a sign that the reasoning is right too.
        leaks: The gold answer stands in it and stood nowhere before.
        changes_nothing: The step keeps its value.
    """

    proposal: Proposal
    action: str
    verdict: Verdict
    distance: int
    positional: float
    one_minimal: bool
    confirmed: bool
    grounded: bool
    in_reference: bool
    leaks: bool
    changes_nothing: bool


@dataclass(frozen=True, kw_only=True)
class Searched:
    """One failed run.

    Attributes:
        fixed: The repair, where there is one.
        proposals: That were there to test.
        tested: Hypotheses, shrunk candidates included.
        published: M of the repair that the published rule takes (any of the first three of a step, the final step
            left out, no null arm, the highest M); None where it takes none.
    """

    fixed: Fixed | None
    proposals: int
    tested: int
    published: float | None


def repair(problem: Problem, model: str, *, gold: Fraction, standard: Standard, seed: int) -> Searched:
    """Look for a repair of one failed run.

    Args:
        problem: The problem.
        model: Whose solution failed.
        gold: The answer that counts as right; the true one, or another to see what chance finds.
        standard: What a repair must show.
        seed: Root of the draws of the null arm.
    """
    solution = problem.solutions[model]
    assert isinstance(solution, Solution)
    policy = Policy(question=problem.numbers)
    executor = Rerun(solution=solution, gold=gold, policy=policy, key=f"{problem.number}:{model}", seed=seed)
    proposals = list(in_order(problem, model))
    test = RepairTest(standard=standard)
    fixed = None
    for proposal in proposals:
        if test.test(proposal.step, proposal.action, executor).accepted:
            fixed = _shrunk(problem, solution, proposal, executor, test)
            break
    return Searched(
        fixed=fixed, proposals=len(proposals), tested=test.tested, published=_published(solution, proposals, executor)
    )


def _shrunk(
    problem: Problem, solution: Solution, proposal: Proposal, executor: Rerun, test: RepairTest
) -> Fixed | None:
    factual = " ".join(solution.steps[proposal.step].tokens)
    step = proposal.step
    change = Change(factual, proposal.action)
    if not change.hunks:  # a slip of the pen, computed again: the expression stays
        action, verdict = proposal.action, test.test(step, proposal.action, executor)
    else:
        smallest = shrink(change, lambda each: executor.run(step, each, 0) == 0.0)
        action = " ".join(tokens_of(smallest.action))
        verdict = test.test(step, action, executor)
    if not verdict.accepted:
        return None
    calculation, tokens = solution.steps[step], tokens_of(action)
    score = positional_score(calculation.line(), calculation.line(tokens))
    before = " ".join([problem.question, *(each.line() for each in solution.steps[: step + 1])])
    return Fixed(
        proposal=proposal,
        action=action,
        verdict=verdict,
        distance=token_distance(factual, action),
        positional=0.0 if isinstance(score, Undefined) else score,
        one_minimal=not any(confirms(solution, step, each, executor.gold) for each in smaller(factual, action)),
        confirmed=confirms(solution, step, action, executor.gold),
        grounded=is_grounded(tokens, known_at(calculation, operands_at(solution, step, problem.numbers))),
        in_reference=evaluate(tokens) in problem.reference,
        leaks=bool(leaks_of(action, secrets=(decimal(executor.gold),), before=before)),
        changes_nothing=evaluate(tokens) == calculation.value,
    )


def smaller(factual: str, action: str) -> list[str]:
    """Return every expression that has some, but not all, of the changes; one that differs in space alone has all."""
    change = Change(factual, action)
    places = range(len(change.hunks))
    subsets = chain.from_iterable(combinations(places, size) for size in range(1, len(change.hunks)))
    parts = [change.apply(kept) for kept in subsets]
    return [part for part in parts if part.replace(" ", "") != action.replace(" ", "")]


def _published(solution: Solution, proposals: list[Proposal], executor: Rerun) -> float | None:
    tried: dict[int, int] = {}
    best: float | None = None
    for proposal in proposals:
        step = proposal.step
        if step == len(solution.steps) - 1 or tried.get(step, 0) == 3:
            continue
        tried[step] = tried.get(step, 0) + 1
        if executor.run(step, proposal.action, 0) == 0.0:
            calculation = solution.steps[step]
            score = positional_score(calculation.line(), calculation.line(tokens_of(proposal.action)))
            best = max(best or 0.0, 0.0 if isinstance(score, Undefined) else score)
    return best
