"""Two evaluators that share no code agree on every expression and every re-executed solution."""

from fractions import Fraction

from hypothesis import given
from hypothesis import strategies as st

from butfor.benchmarks.beds.arithmetic.expression import decimal, evaluate, tokens_of, written
from butfor.benchmarks.beds.arithmetic.independent import _value, confirms
from butfor.benchmarks.beds.arithmetic.rerun import answer_after
from butfor.benchmarks.beds.arithmetic.solution import Solution, read

numbers = st.one_of(st.integers(0, 500).map(str), st.decimals(0, 50, places=2).map(str))
expressions = st.recursive(
    numbers,
    lambda inner: st.one_of(
        st.tuples(inner, st.sampled_from("+-*/"), inner).map(" ".join),
        inner.map("({})".format),
        inner.map("-{}".format),
    ),
    max_leaves=8,
)


@given(expressions)
def test_both_evaluators_agree(text):
    tokens = tokens_of(text)
    try:
        expected = _value(text, {})
    except ZeroDivisionError:
        expected = None
    assert evaluate(tokens) == expected
    assert evaluate(tokens_of(written(tokens))) == expected


@given(
    st.lists(st.tuples(st.integers(1, 40), st.sampled_from("+-*"), st.integers(1, 40)), min_size=1, max_size=5),
    st.data(),
)
def test_a_changed_step_gives_the_same_answer_by_both(moves, data):
    lines: list[str] = []
    value = 7
    for left, operator, right in moves:
        # Every second step uses the value before it.
        left = value if len(lines) % 2 else left
        text = f"{left}{operator}{right}" if left >= 0 else f"2*{right}"
        result = evaluate(tokens_of(text))
        assert result is not None
        value = int(result)
        lines.append(f"so <<{text}={value}>>{value}")
    solution = read("\n".join([*lines, f"A: {value}"]), frozenset())
    assert isinstance(solution, Solution)
    step = data.draw(st.integers(0, len(solution.steps) - 1))
    new = data.draw(expressions)
    answer = answer_after(solution, step, tokens_of(new))
    assert answer is None or confirms(solution, step, new, answer)
    assert answer is None or not confirms(solution, step, new, answer + 1 + abs(answer))


@given(st.fractions(min_value=-1000, max_value=1000, max_denominator=50))
def test_a_written_value_is_read_again(value):
    text = decimal(value)
    assert abs(Fraction(text) - value) <= Fraction(1, 10**6)
