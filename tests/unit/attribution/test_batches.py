"""A rollout counts once in each statement, for the arm it was bought for or the first later one that it reached."""

import numpy as np
import pytest

from butfor.attribution.batches import Entered, Statements, Table
from butfor.attribution.elimination import arms_of, leader_of, neighbours


def entered(arm, outcome, held_until=None):
    return Entered(arm=arm, outcome=outcome, held_until=arm if held_until is None else held_until)


BATCH = [
    entered(0, 1.0, 3),  # reached 1, 2 and 3
    entered(0, 0.0),
    entered(1, 0.0, 2),
    entered(2, 1.0),
    entered(3, None),
]
GUESSES = np.array([0.3, 0.3, 0.6, 0.9, 1.0])


def counts(arms):
    """Draws that each arm of a statement gets."""
    table = Table.of(BATCH, GUESSES)
    row = np.array([arms])
    before = row[:, None, :] < row[:, :, None]
    previous = np.where(before, row[:, None, :], -1).max(axis=2)
    return table.bought_after[row, previous + 1][0].tolist()


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
    assert sum(counts(arms)) <= len(BATCH)


def test_own_draws_alone():
    table = Table.of(BATCH, GUESSES)
    assert [int(table.bought_after[a, a]) for a in range(4)] == [2, 1, 1, 1]


def test_a_missing_draw_works_against_the_bet():
    single = Statements(arms=np.array([[3]]), coefficients=np.array([[1.0]]), limit=np.array([0.5]))
    gain = Table.of([entered(3, None)], GUESSES).gain(single)
    assert gain == pytest.approx(Table.of([entered(3, 0.0)], GUESSES).gain(single))
    assert gain < Table.of([entered(3, 1.0)], GUESSES).gain(single)


def test_neighbours_without_an_assumption_are_the_own_arms():
    lower, upper, slack = neighbours([0, 2, 3], steps=5, max_help=None)
    assert lower.tolist() == [0, -1, 2, 3, -1]
    assert upper.tolist() == [-1, 2, 3, -1, 5]
    assert slack.tolist() == [0.0] * 5


def test_neighbours_with_limited_help_span_what_was_not_drawn():
    lower, upper, slack = neighbours([1, 3], steps=5, max_help=0.1)
    assert lower.tolist() == [-1, 1, 1, 3, 3]
    assert upper.tolist() == [1, 3, 3, 5, 5]
    assert slack == pytest.approx([0.0, 0.1, 0.1, 0.1, 0.1])


def test_the_leader_needs_both_arms():
    assert leader_of(np.array([0.3, 0.9, 0.9, 1.0]), [0, 2], range(3)) == 2
    assert leader_of(np.array([0.3, 0.9, 0.9, 1.0]), [0, 1, 2], range(3)) == 0
    assert leader_of(np.array([0.3, 0.9, 0.9, 1.0]), [0], range(3)) is None
    assert arms_of(BATCH, 3) == [0, 1, 2]
