"""GSM8K solutions as runs: read, executed again, edited, repaired."""

from fractions import Fraction

import pytest

from butfor.benchmarks.beds.arithmetic.edits import edits_of, numbers_in
from butfor.benchmarks.beds.arithmetic.expression import Unreadable, evaluate, tokens_of
from butfor.benchmarks.beds.arithmetic.independent import confirms
from butfor.benchmarks.beds.arithmetic.policy import Policy
from butfor.benchmarks.beds.arithmetic.problems import Problem
from butfor.benchmarks.beds.arithmetic.proposers import in_order
from butfor.benchmarks.beds.arithmetic.repairing import repair, smaller
from butfor.benchmarks.beds.arithmetic.rerun import Rerun, answer_after
from butfor.benchmarks.beds.arithmetic.rounding import Rounding, rounding_between
from butfor.benchmarks.beds.arithmetic.solution import Solution, read
from butfor.noise import generator
from butfor.repairs import Standard

QUESTION = "A hen lays 16 eggs. She eats three and bakes with 4. She sells the rest at $2 each. How much does she make?"
WRONG = "She keeps 16 - 3 = <<16-3=13>>13 eggs\nShe makes 13 * 2 = $<<13*2=26>>26\nA: 26"
RIGHT = "She uses 3 + 4 = <<3+4=7>>7\nShe sells 16 - 7 = <<16-7=9>>9\nShe makes 9 * 2 = $<<9*2=18>>18\nA: 18"


def solution_of(text: str) -> Solution:
    solution = read(text, frozenset())
    assert isinstance(solution, Solution), solution
    return solution


def problem_of(wrong: str = WRONG, other: str = RIGHT) -> Problem:
    return Problem(
        number=0,
        question=QUESTION,
        numbers=numbers_in(QUESTION),
        gold=Fraction(18),
        reference=frozenset({Fraction(9), Fraction(18)}),
        solutions={"a": read(wrong, frozenset()), "b": read(other, frozenset())},
        right={"a": False, "b": True},
        texts={"a": wrong, "b": other},
    )


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("16-3-4", 9),
        ("2*(3+4)", 14),
        ("7-2*3", 1),
        ("-3 - -4", 1),
        ("1,200/4", 300),
        ("50%*80", 40),
        (".5*10", 5),
        ("3 x 4", 12),
        ("1/3", Fraction(1, 3)),
    ],
)
def test_arithmetic_as_models_write_it(text, value):
    assert evaluate(tokens_of(text)) == value


@pytest.mark.parametrize("text", ["3+", "(3", "1/0", "3 4", "", "/2"])
def test_what_is_no_expression_has_no_value(text):
    assert evaluate(tokens_of(text)) is None


def test_variables_are_not_read():
    with pytest.raises(Unreadable):
        tokens_of("2*y+3")
    assert evaluate(tokens_of("28-2x")) is None


def test_values_flow_to_later_steps_and_to_the_answer():
    solution = solution_of(WRONG)
    assert [step.value for step in solution.steps] == [13, 26]
    assert answer_after(solution, 0, tokens_of("16-3-4")) == 18
    assert answer_after(solution, 1, tokens_of("13*3")) == 39
    assert answer_after(solution, 0, tokens_of("16-3")) == 26


def test_a_rounded_value_is_rounded_again():
    solution = solution_of("Each 200/3 = <<200/3=66.66666666666667>>66.67\nBoth <<66.67*2=133.34>>133.34\nA: 133")
    assert answer_after(solution, 0, tokens_of("100/3")) == 67  # 33.33 · 2 = 66.66, rounded as before
    assert solution.steps[1].links[0] is not None
    assert solution.steps[1].links[0].rounding == Rounding(kind="rounded", places=2)


def test_how_a_value_was_written():
    assert rounding_between(Fraction(2, 3), "0.66", Fraction(66, 100)) == Rounding(kind="cut off", places=2)
    assert rounding_between(Fraction(5, 2), "3", Fraction(3)) == Rounding(kind="rounded", places=0)
    assert rounding_between(Fraction(5, 2), "4", Fraction(4)) is None


def test_a_slip_of_the_pen_stays_until_its_step_changes():
    solution = solution_of("One <<10*2=30>>30\nTwo <<30+1=31>>31\nA: 31")
    assert solution.steps[0].slipped
    assert answer_after(solution, 1, tokens_of("30+2")) == 32
    assert answer_after(solution, 0, tokens_of("10*2")) == 21


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("Nothing is computed\nA: 3", "no calculation"),
        ("So <<1+1=2>>2", "no answer"),
        ("So <<1+1=2>>2\nA: 5", "the answer is no step's value"),
        ("So <<2*x=4>>4\nA: 4", "a calculation that is no arithmetic"),
    ],
)
def test_a_solution_that_cannot_be_executed_again_says_why(text, why):
    assert read(text, frozenset()) == why


def test_numbers_of_a_question_in_digits_and_words():
    assert numbers_in("Two dozen eggs at $1,200, 25% off") == ("1200", "25", "0.25", "1.25", "0.75", "100", "2", "12")


def test_every_edit_changes_the_value():
    calculation = solution_of(WRONG).steps[0]
    edits = list(edits_of(calculation, numbers_in(QUESTION)))
    assert ("16", "-", "3", "-", "4") in edits
    assert ("16", "+", "3") in edits
    assert len(edits) == len(set(edits))
    assert all(evaluate(edit) not in (None, calculation.value) for edit in edits)


def test_a_division_by_zero_later_is_a_failure_and_no_fault():
    solution = solution_of("One <<3-1=2>>2\nTwo <<8/2=4>>4\nA: 4")
    executor = Rerun(solution=solution, gold=Fraction(4), policy=Policy(question=("3",)), key="x", seed=1)
    assert executor.run(0, "3 - 3", 0) == 1.0
    assert not confirms(solution, 0, "3 - 3", Fraction(4))
    assert executor.run(0, "no arithmetic", 0) == 1.0


def test_the_null_arm_is_drawn_from_the_declared_policy():
    solution = solution_of(WRONG)
    policy = Policy(question=numbers_in(QUESTION))
    drawn = [policy.decide(solution, 0, generator("π", i)) for i in range(400)]
    kept = sum(each == solution.steps[0].tokens for each in drawn)
    assert 140 <= kept <= 260  # 400 draws at one half: outside with probability 2·10⁻⁹
    executor = Rerun(solution=solution, gold=Fraction(18), policy=policy, key="x", seed=1)
    assert [executor.run(0, None, i) for i in range(20)] == [executor.run(0, None, i) for i in range(20)]
    assert executor.deterministic_tail(0, "16 - 3")
    assert not executor.deterministic_tail(0, None)


def test_a_repair_is_small_confirmed_and_not_a_no_op():
    found = repair(problem_of(), "a", gold=Fraction(18), standard=Standard(), seed=1)
    assert found.fixed is not None
    assert found.fixed.verdict.accepted
    assert found.fixed.confirmed
    assert found.fixed.one_minimal
    assert not found.fixed.changes_nothing
    assert found.fixed.proposal.step in (0, 1)


def test_a_repair_from_another_solution_is_shrunk():
    wrong = "She makes (16+3+4)*5 = <<(16+3+4)*5=115>>115\nA: 115"
    other = "She makes (16-3-4)*2 = <<(16-3-4)*2=18>>18\nA: 18"
    found = repair(problem_of(wrong, other), "a", gold=Fraction(18), standard=Standard(), seed=1)
    assert found.fixed is not None
    assert found.fixed.action == "( 16 - 3 - 4 ) * 2"
    assert found.fixed.one_minimal
    assert len(smaller("( 16 + 3 + 4 ) * 5", found.fixed.action)) == 6


def test_the_order_of_proposals_knows_no_answer():
    problem = problem_of()
    without = Problem(**{**vars(problem), "gold": Fraction(1), "right": {"a": True, "b": False}})
    assert list(in_order(problem, "a")) == list(in_order(without, "a"))
    assert all(each.action for each in in_order(problem, "a"))


def test_no_repair_where_nothing_works():
    found = repair(problem_of(), "a", gold=Fraction(123457), standard=Standard(), seed=1)
    assert found.fixed is None
    assert found.tested == found.proposals
