"""A rollout counts once in each statement, for the arm it was bought for or the first later one that it reached."""

import numpy as np
import pytest

from butfor.attribution.batches import Batch, Statements, Table
from butfor.attribution.elimination import leader_of, neighbours

ARMS = [0, 0, 1, 2, 3]
OUTCOMES = [1.0, 0.0, 0.0, 1.0, None]
HELD = [3, None, 2, None, None]  # the first reached 1, 2 and 3; the third reached 2
GUESSES = np.array([[0.3, 0.3, 0.6, 0.9, 1.0]])
HERE = np.zeros(1, dtype=np.int64)


def table(arms=ARMS, outcomes=OUTCOMES, held=HELD):
    return Table(batch=Batch.of(arms, outcomes, held), guesses=GUESSES)


def statement(coefficients, limit):
    """Write Σ c·w ≤ t, from arm to c."""
    arms = np.array([list(coefficients)])
    return Statements(
        run=HERE, arms=arms, coefficients=np.array([list(coefficients.values())]), limit=np.array([limit])
    )


def counts(arms):
    """Draws that each arm of a statement gets."""
    row = np.array([arms])
    before = row[:, None, :] < row[:, :, None]
    previous = np.where(before, row[:, None, :], -1).max(axis=2)
    return table().count(HERE, row, previous)[0].tolist()


@pytest.mark.parametrize(
    ("arms", "expected"),
    [
        ([0], [2]),
        ([1], [2]),  # its own and the one of arm 0 that reached it
        ([2], [3]),
        ([3], [2]),
        ([2, 0], [2, 2]),  # arm 0's rollouts stay with arm 0; arm 1's counts for 2
        ([3, 2], [1, 3]),  # the one that reached 3 counts for 2, the first it reached
        ([3, 1], [1, 2]),
        ([1, 2, 3], [2, 1, 1]),
    ],
)
def test_each_rollout_counts_once(arms, expected):
    assert counts(arms) == expected
    assert sum(counts(arms)) <= len(ARMS)


def test_own_draws_alone():
    arms = np.array([[0, 1, 2, 3]])
    assert table().count(HERE, arms, arms - 1).tolist() == [[2, 1, 1, 1]]
    assert table().drawn.tolist() == [[True, True, True, True, False]]


def test_a_missing_draw_works_against_the_bet():
    single = statement({3: 1.0}, 0.5)
    gain = table([3], [None], [None]).gain(single)
    assert gain == pytest.approx(table([3], [0.0], [None]).gain(single))
    assert gain < table([3], [1.0], [None]).gain(single)


@pytest.mark.parametrize("held", [HELD, [None] * 5])
@pytest.mark.parametrize("coefficients", [{3: 1.0, 0: -1.0}, {2: 1.0, 1: -1.0}, {3: 1.0, 2: 1.0, 1: -2.0}])
def test_counted_bets_are_those_of_the_draws_one_by_one(coefficients, held):
    # A hair of a grade makes the outcomes graded, so that each draw is bet with by itself.
    graded = [None if y is None else min(y + 1e-12, 1.0) for y in OUTCOMES]
    said = statement(coefficients, 0.1)
    counted = table(held=held).gain(said)
    assert counted != 0.0
    assert counted == pytest.approx(table(outcomes=graded, held=held).gain(said), rel=1e-9)


def test_runs_side_by_side_do_not_see_each_other():
    alone = [table(), table([0, 3, 3], [0.0, 1.0, 1.0], [1, None, None])]
    batches = [each.batch for each in alone]
    together = Table(
        batch=Batch(
            run=np.repeat([0, 1], [5, 3]),
            **{
                name: np.concatenate([getattr(batch, name) for batch in batches])
                for name in ("arm", "low", "high", "reached")
            },
        ),
        guesses=np.repeat(GUESSES, 2, axis=0),
    )
    said = statement({3: 1.0, 0: -1.0}, 0.1)
    both = Statements(
        run=np.array([0, 1]),
        arms=np.repeat(said.arms, 2, axis=0),
        coefficients=np.repeat(said.coefficients, 2, axis=0),
        limit=np.repeat(said.limit, 2),
    )
    assert together.gain(both).tolist() == [float(each.gain(said)[0]) for each in alone]


def drawn(*arms, steps=5):
    return np.isin(np.arange(steps), arms)[None, :]


def test_neighbours_without_an_assumption_are_the_own_arms():
    lower, upper, slack = neighbours(drawn(0, 2, 3), max_help=None)
    assert lower.tolist() == [[0, -1, 2, 3, -1]]
    assert upper.tolist() == [[-1, 2, 3, -1, 5]]
    assert slack.tolist() == [[0.0] * 5]


def test_neighbours_with_limited_help_span_what_was_not_drawn():
    lower, upper, slack = neighbours(drawn(1, 3), max_help=0.1)
    assert lower.tolist() == [[-1, 1, 1, 3, 3]]
    assert upper.tolist() == [[1, 3, 3, 5, 5]]
    assert slack[0] == pytest.approx([0.0, 0.1, 0.1, 0.1, 0.1])


def test_the_leader_needs_both_arms():
    guesses, every = np.array([0.3, 0.9, 0.9, 1.0]), drawn(0, 1, 2, steps=3)[0]
    assert leader_of(guesses, drawn(0, 2, steps=3)[0], every) == 2
    assert leader_of(guesses, every, every) == 0
    assert leader_of(guesses, drawn(0, steps=3)[0], every) is None
    assert leader_of(guesses, every, drawn(1, 2, steps=3)[0]) == 2
