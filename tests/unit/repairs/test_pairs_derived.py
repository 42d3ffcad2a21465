"""Which stored repairs become pairs, and why the others do not."""

import pytest

from butfor.errors import InputError
from butfor.repairs.pairs import derive_pairs, sieve
from butfor.repairs.pairs.sieve import differ_by_form
from butfor.store import MemoryStore
from tests.unit.repairs.pair_cases import call, keep, pair, repair, request, verdict


def derived(*repairs, asked=None):
    store = MemoryStore()
    keep(store, "r", asked or request("Q"), *repairs)
    return derive_pairs(store, ["r"])


def test_a_validated_repair_is_a_pair_on_the_exact_request():
    found = derived(repair("r", call("pay"), call("look")))
    (one,) = found.pairs
    assert list(one.prompt.messages) == request("Q")["messages"]
    assert one.chosen["tool_calls"][0]["function"]["name"] == "look"
    assert one.rejected["tool_calls"][0]["function"]["name"] == "pay"
    assert not found.dropped


@pytest.mark.parametrize(
    ("stored", "why"),
    [
        (repair("r", "a", "b", kind="predicted", verdict=None), "predicted, not validated"),
        (repair("r", "a", "b", leaks=("18",)), "it contains what only the verifier knows"),
        (repair("r", "a", "b", verdict=verdict("undecided")), "not accepted"),
        (repair("r", "a", " a\n"), "no-ops"),
        (repair("r", "x = 1", "```python\nx = 1\n```"), "differ by form alone"),
        (repair("r", "a  b", "a b"), "differ by form alone"),
        (repair("r", "a", {"own": 1}), "the action is in a form of the agent's own, neither text nor tool calls"),
        (repair("r", "a", "b\ud800"), "it holds text that UTF-8 cannot write"),
    ],
)
def test_what_may_not_be_learnt_is_dropped_by_its_reason(stored, why):
    found = derived(stored)
    assert found.dropped == {why: 1}
    with pytest.raises(InputError, match="no honest pair can be derived from 1 stored repair ") as error:
        found.checked()
    assert why in str(error.value)
    assert "\n" not in str(error.value)


def test_no_repair_at_all_is_another_sentence():
    with pytest.raises(InputError, match="no repair is stored"):
        derived().checked()


def test_a_repair_of_a_request_that_is_not_known_is_dropped():
    assert derived(repair("r", "a", "b"), asked={"own": 1}).dropped.total() == 1


def test_the_same_pair_from_two_runs_is_written_once():
    twice = [pair("Q", "a", "b", run_id="r1"), pair("Q", "a", "b\n", run_id="r2"), pair("Q2", "a", "b")]
    found = sieve(twice)
    assert [each.repair.run_id for each in found.kept] == ["r1", "r"]
    assert found.dropped == {"duplicates": 1}


def test_an_answer_that_is_chosen_here_and_rejected_there_takes_both_pairs_out():
    found = sieve([pair("Q", "a", "b"), pair("Q", "b", "c"), pair("Q", "d", "e"), pair("other", "b", "a")])
    assert [each.chosen["content"] for each in found.kept] == ["e", "a"]
    assert found.dropped == {"contradictions": 2}
    assert len(found.contradictions) == 1


@pytest.mark.parametrize(
    ("a", "b", "by_form"),
    [
        ("```python\nf()\n```", "f()", True),
        ("See:\n```\nf()\n```\nDone.", "See:\n\nf()\n\nDone.", True),
        ("if x:\n    f()\ng()", "if x:\n    f()\n    g()", False),  # the indentation decides what runs
        ("4 apples", "5 apples", False),
        (call("run", code="f()  "), call("run", code="f()"), True),
        (call("run", code="if x:\n  f()\ng()"), call("run", code="if x:\n  f()\n  g()"), False),
        (call("run", n=1), call("run", n=2), False),
    ],
)
def test_form_is_fences_and_space_but_never_the_meaning_of_code(a, b, by_form):
    one = pair("Q", a, b)
    assert differ_by_form(one.chosen, one.rejected) is by_form
