"""A broken program is repaired behind the walls, and the repair is the smallest that works."""

import pytest

from butfor.benchmarks.beds.code.mutation import normal
from butfor.benchmarks.beds.code.repairing import Broken, repair
from butfor.benchmarks.beds.code.rerun import CodeRerun, Policy
from butfor.benchmarks.beds.code.tasks import Task
from butfor.benchmarks.sandbox import Limits, Sandbox, why_refused
from butfor.repairs import Standard

_WHY = why_refused()
pytestmark = pytest.mark.skipif(_WHY is not None, reason=str(_WHY))

TASK = Task(
    name="count",
    text="Count the values below a bound.",
    reference=normal("def count(values, bound):\n    return len([value for value in values if value < bound])"),
    setup="",
    tests=("assert count([1, 2, 3], 3) == 2", "assert count([], 3) == 0", "assert count([5], 7) == 1"),
)
LIMITS = Limits(seconds=2)


def test_a_broken_comparison_is_repaired():
    fault = Broken(program=TASK.reference.replace("<", ">="), operators=("comparison",))
    with Sandbox(limits=LIMITS) as sandbox:
        found = repair(TASK, fault, sandbox, standard=Standard(), seed=3)
    assert not found.survived
    assert found.fixed is not None
    assert found.fixed.verdict.accepted
    assert found.fixed.verdict.null_draws > 0
    assert found.fixed.one_minimal
    assert found.fixed.edit.kind == "ast"
    assert found.fixed.edit.distance == 1
    assert found.fixed.leaks == ()


def test_a_program_that_passes_has_nothing_to_repair():
    with Sandbox(limits=LIMITS) as sandbox:
        found = repair(TASK, Broken(program=TASK.reference, operators=()), sandbox, standard=Standard(), seed=3)
    assert found.survived
    assert found.fixed is None


def test_a_fault_that_no_mutation_undoes_has_no_repair():
    fault = Broken(program="def count(values, bound):\n    pass", operators=("deleted statement",))
    with Sandbox(limits=LIMITS) as sandbox:
        found = repair(TASK, fault, sandbox, standard=Standard(), seed=3)
    assert found.fixed is None
    assert not found.survived


def test_an_endless_program_fails_and_a_run_is_bought_once():
    with Sandbox(limits=Limits(seconds=0.3)) as sandbox:
        program = "def count(values, bound):\n    while True:\n        pass"
        executor = CodeRerun(task=TASK, program=program, sandbox=sandbox, policy=Policy(), seed=1)
        assert executor.run(0, program, 0) == 1.0
        assert executor.run(0, program, 1) == 1.0
        assert executor.runs == 1
        assert executor.tried == ("limit of time",)
        assert executor.run(0, TASK.reference, 0) == 0.0
