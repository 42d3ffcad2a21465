"""Mutations of programs, and what counts as a deterministic one."""

import ast
import gzip
import json

from butfor.benchmarks.beds.code.mutation import mutants, normal
from butfor.benchmarks.beds.code.repairing import broken, smaller
from butfor.benchmarks.beds.code.rerun import Policy, is_deterministic
from butfor.benchmarks.beds.code.tasks import Task, human_eval, mbpp
from butfor.noise import generator

PROGRAM = normal(
    "def clip(values, low, high):\n    # keep the middle\n    kept = []\n    for value in values:\n"
    "        if low <= value and value < high:\n            kept.append(value + 1)\n    return max(kept[0], 2)"
)


def test_every_mutant_is_another_program_that_parses():
    made = mutants(PROGRAM, breaking=True)
    sources = [each.source for each in made]
    assert len(sources) == len(set(sources))
    assert PROGRAM not in sources
    assert all(normal(each) == each for each in sources)
    assert {each.operator for each in made} >= {
        "comparison",
        "arithmetic",
        "logic",
        "constant",
        "condition",
        "call",
        "variable",
        "off by one",
        "deleted statement",
    }


def test_mutating_leaves_the_program_as_it_was():
    assert mutants(PROGRAM) == mutants(PROGRAM)
    assert len(mutants(PROGRAM)) < len(mutants(PROGRAM, breaking=True))


def test_the_mutation_that_undoes_a_mutation_is_there():
    for each in mutants(PROGRAM):
        if each.operator in ("comparison", "logic", "constant", "condition", "off by one") and "-1" not in each.source:
            assert PROGRAM in [back.source for back in mutants(each.source)], each


def test_layout_is_no_change():
    assert normal("x = 1  # one") == normal("x=1")
    assert "#" not in PROGRAM


def test_a_careless_escape_in_the_data_is_read_all_the_same():
    assert normal("x = '\\W'") == "x = '\\\\W'"


def test_breaking_is_seeded_and_never_gives_the_reference():
    task = Task(name="t", text="", reference=PROGRAM, setup="", tests=())
    faults = [broken(task, seed) for seed in range(30)]
    assert faults == [broken(task, seed) for seed in range(30)]
    assert {len(each.operators) for each in faults if each} == {1, 2}
    assert broken(Task(name="t", text="", reference="pass", setup="", tests=()), 1) is None


def test_the_policy_keeps_half():
    drawn = [Policy().decide(PROGRAM, generator("π", i)) for i in range(100)]
    assert 20 <= sum(each == PROGRAM for each in drawn) <= 80  # outside with probability 10⁻⁹


def test_what_is_called_deterministic():
    assert is_deterministic(PROGRAM)
    assert is_deterministic("import math\nprint(math.pi)")
    assert is_deterministic("not a program")
    assert not is_deterministic("import random\nrandom.random()")
    assert not is_deterministic("from time import time as clock")
    assert not is_deterministic("x = id(3)")


def test_smaller_parts_of_a_change():
    assert smaller("a = 1\nb = 2", "a = 1\nb = 3") == []
    assert set(smaller("a = 1\nb = 2", "a = 4\nb = 3")) == {"a = 4\nb = 2", "a = 1\nb = 3"}


def test_tasks_are_read_from_their_files(tmp_path):
    row = {
        "task_id": 1,
        "text": "Add.",
        "code": "def add(a,b):\r\n  return a+b",
        "test_list": ["assert add(1, 2) == 3"],
        "test_setup_code": "",
        "challenge_test_list": ["assert add(0, 0) == 0"],
    }
    (tmp_path / "mbpp_test.jsonl").write_text(json.dumps(row) + "\n")
    (task,) = mbpp(tmp_path)
    assert task.reference == "def add(a, b):\n    return a + b"
    assert task.held_out == ("assert add(0, 0) == 0",)
    other = {
        "task_id": "HumanEval/0",
        "prompt": "def add(a, b):\n",
        "canonical_solution": "    return a + b\n",
        "test": "def check(f):\n    assert f(1, 2) == 3\n",
        "entry_point": "add",
    }
    with gzip.open(tmp_path / "HumanEval.jsonl.gz", "wt") as file:
        file.write(json.dumps(other) + "\n")
    (human,) = human_eval(str(tmp_path / "HumanEval.jsonl.gz"))
    assert human.tests[0].endswith("check(add)")
    assert ast.unparse(ast.parse(human.reference)) == human.reference
    assert human_eval(str(tmp_path / "absent.jsonl")) == []
