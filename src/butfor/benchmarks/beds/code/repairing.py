"""Break a reference program, and repair it by tested mutations."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import chain, combinations
from typing import TYPE_CHECKING

from butfor.benchmarks.beds.code.mutation import mutants
from butfor.benchmarks.beds.code.rerun import CodeRerun, Policy
from butfor.noise import generator
from butfor.repairs import Proposal, RepairTest, Standard, Verdict, leaks_of, literals_of
from butfor.repairs.edits import Change, Edit, measure
from butfor.repairs.shrink import shrink

if TYPE_CHECKING:
    from collections.abc import Iterator

    from butfor.benchmarks.beds.code.tasks import Task
    from butfor.benchmarks.sandbox import Sandbox

SINGLE = 60
PARENTS = 3
PAIRS = 25


@dataclass(frozen=True, kw_only=True)
class Broken:
    """A program with a fault put in.

    Attributes:
        program: The program.
        operators: Which mutations broke it.
    """

    program: str
    operators: tuple[str, ...]


@dataclass(frozen=True, kw_only=True)
class Fixed:
    """An accepted repair.

    Attributes:
        program: The repaired program, shrunk.
        verdict: Of it.
        edit: Its size: nodes of the syntax tree, and the published score.
        one_minimal: The search tried every smaller part and none works.
        is_reference: It is the reference program again.
        leaks: Literals of the tests that stand in it and stood nowhere before.
        source: One mutation or two.
    """

    program: str
    verdict: Verdict
    edit: Edit
    one_minimal: bool
    is_reference: bool
    leaks: tuple[str, ...]
    source: str


@dataclass(frozen=True, kw_only=True)
class Searched:
    """One broken program.

    Attributes:
        task: The task.
        broken: Its broken program.
        survived: The program passes all its tests, so there is nothing to repair.
        fixed: The repair, where there is one.
        tested: Hypotheses.
        runs: Programs run in the sandbox for the search.
        by_rule: M of what the published rule takes: of the first three proposals those that pass, the highest M.
        by_retry: Whether blind draws from π, as many as ours ran programs, hold one that passes.
        tried: What programs tried that the sandbox contained.
    """

    task: Task
    broken: Broken
    survived: bool
    fixed: Fixed | None = None
    tested: int = 0
    runs: int = 0
    by_rule: float | None = None
    by_retry: bool = False
    tried: tuple[str, ...] = ()


def broken(task: Task, seed: int) -> Broken | None:
    """Break a reference: one mutation, or two in one of three; None where no operator applies."""
    source = generator(seed, "broken", task.name)
    program = task.reference
    operators: list[str] = []
    for _ in range(2 if source.random() < 1 / 3 else 1):
        others = mutants(program, breaking=True)
        if not others:
            break
        chosen = source.choice(others)
        program, operators = chosen.source, [*operators, chosen.operator]
    return Broken(program=program, operators=tuple(operators)) if operators else None


def repair(task: Task, fault: Broken, sandbox: Sandbox, *, standard: Standard, seed: int) -> Searched:
    """Look for a repair of one broken program."""
    executor = CodeRerun(task=task, program=fault.program, sandbox=sandbox, policy=Policy(), seed=seed)
    if executor.finding(fault.program).passed:
        return Searched(task=task, broken=fault, survived=True)
    test = RepairTest(standard=standard)
    fixed: Fixed | None = None
    first: list[str] = []
    for proposal in proposals(task, executor):
        first += [proposal.action] if len(first) < 3 else []
        if test.test(0, proposal.action, executor).accepted:
            fixed = _shrunk(task, proposal, executor, test)
            break
    runs = executor.runs
    return Searched(
        task=task,
        broken=fault,
        survived=False,
        fixed=fixed,
        tested=test.tested,
        runs=runs,
        by_rule=_by_rule(fault.program, first, executor),
        by_retry=any(executor.run(0, None, -1 - draw) == 0.0 for draw in range(runs)),
        tried=executor.tried,
    )


def proposals(task: Task, executor: CodeRerun) -> Iterator[Proposal]:
    """Yield mutations of the program in a seeded order, then second mutations of those that pass more tests."""
    source = generator(executor.seed, "proposals", task.name)
    singles = mutants(executor.program)
    source.shuffle(singles)
    yield from (_proposal(each.source, each.operator) for each in singles[:SINGLE])
    start = passes(executor, executor.program)
    better = [each for each in singles[:SINGLE] if passes(executor, each.source) > start]
    for parent in sorted(better, key=lambda each: -passes(executor, each.source))[:PARENTS]:
        pairs = mutants(parent.source)
        source.shuffle(pairs)
        yield from (_proposal(each.source, f"{parent.operator}, {each.operator}") for each in pairs[:PAIRS])


def passes(executor: CodeRerun, program: str) -> int:
    """Count the tests that a program passes."""
    return sum(result is None for result in executor.finding(program).results)


def _proposal(program: str, operator: str) -> Proposal:
    return Proposal(step=0, action=program, source="mutation", origin={"operator": operator})


def _shrunk(task: Task, proposal: Proposal, executor: CodeRerun, test: RepairTest) -> Fixed | None:
    found = shrink(Change(executor.program, proposal.action), lambda each: executor.run(0, each, 0) == 0.0)
    verdict = test.test(0, found.action, executor)
    if not verdict.accepted:
        return None
    before = f"{task.text}\n{executor.program}"
    return Fixed(
        program=found.action,
        verdict=verdict,
        edit=measure(executor.program, found.action),
        one_minimal=found.one_minimal,
        is_reference=found.action == task.reference,
        leaks=leaks_of(found.action, secrets=literals_of(task.tests), before=before),
        source=str(proposal.origin["operator"]),
    )


def smaller(program: str, repaired: str) -> list[str]:
    """Return every program that has some, but not all, of the changes."""
    change = Change(program, repaired)
    places = range(len(change.hunks))
    subsets = chain.from_iterable(combinations(places, size) for size in range(1, len(change.hunks)))
    return [change.apply(kept) for kept in subsets]


def _by_rule(program: str, first: list[str], executor: CodeRerun) -> float | None:
    passing = [measure(program, each).positional or 0.0 for each in first if executor.run(0, each, 0) == 0.0]
    return max(passing, default=None)
