"""The smallest part of a repair that still works."""

from itertools import combinations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from butfor.errors import InputError
from butfor.repairs.edits import Change
from butfor.repairs.shrink import shrink

WORDS = [f"w{i}" for i in range(12)]
FACTUAL = " ".join(WORDS)


def repaired(changed):
    return " ".join(f"W{i}" if i in changed else word for i, word in enumerate(WORDS))


def needs(needed):
    def works(action):
        return all(f"W{i}" in action.split() for i in needed)

    return works


@given(st.sets(st.integers(0, 11), min_size=1, max_size=4))
def test_only_what_is_needed_is_left(needed):
    found = shrink(Change(FACTUAL, repaired(set(range(12)))), needs(needed), calls=500)
    assert found.action == repaired(needed)
    assert found.one_minimal
    # Independently: no smaller set of changes works.
    assert not any(
        needs(needed)(repaired(smaller)) for size in range(len(needed)) for smaller in combinations(needed, size)
    )


def test_a_repair_that_needs_all_of_it_stays_whole():
    changed = {0, 4, 8}
    found = shrink(Change(FACTUAL, repaired(changed)), needs(changed))
    assert found.kept == (0, 1, 2)
    assert found.one_minimal


def test_a_pair_that_only_works_together_is_found_where_one_by_one_removal_sticks():
    # Works with all three changes, or with the first alone: no single removal works, one subset does.
    def works(action):
        present = {i for i in range(12) if f"W{i}" in action.split()}
        return present in ({0, 4, 8}, {0})

    found = shrink(Change(FACTUAL, repaired({0, 4, 8})), works)
    assert found.action == repaired({0})


def test_a_candidate_is_looked_at_once():
    seen = []

    def works(action):
        seen.append(action)
        return needs({1, 7})(action)

    found = shrink(Change(FACTUAL, repaired(set(range(12)))), works, calls=500)
    assert len(seen) == len(set(seen)) == found.calls


def test_a_budget_ends_the_search_without_a_claim():
    found = shrink(Change(FACTUAL, repaired(set(range(12)))), needs({3}), calls=2)
    assert found.calls == 2
    assert not found.one_minimal
    assert needs({3})(found.action)


def test_an_executor_that_stops_ends_the_search_without_a_claim():
    found = shrink(Change(FACTUAL, repaired({1, 2})), lambda action: None)
    assert found.kept == (0, 1)
    assert not found.one_minimal


def test_what_changes_nothing_is_refused():
    with pytest.raises(InputError, match="changes nothing"):
        shrink(Change("a", "a"), needs(set()))
