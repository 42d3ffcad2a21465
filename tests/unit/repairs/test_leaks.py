"""Proposals that know what only the verifier should know."""

import pytest

from butfor.repairs import Failure, Proposal, checked_for_leaks, leaks_of, literals_of


def failure(**fields):
    return Failure(**{"run_id": "r", "task": "Add 3 apples and 15 pears.", "actions": ("3+15=19",)} | fields)


def test_a_gold_answer_that_was_not_there_before_is_flagged():
    proposals = [Proposal(step=0, action="The answer is 18.", source="model")]
    assert checked_for_leaks(proposals, failure(secrets=("18",)))[0].leaks == ("18",)


def test_a_literal_that_the_task_already_held_is_no_leak():
    proposals = [Proposal(step=0, action="There are 15 pears.", source="model")]
    assert checked_for_leaks(proposals, failure(secrets=("15",)))[0].leaks == ()


@pytest.mark.parametrize("text", ["180", "1.18", "18.5", "a18"])
def test_a_secret_is_found_only_as_a_word(text):
    assert leaks_of(text, secrets=["18"], before="") == ()


@pytest.mark.parametrize("text", ["18", "=18", "'18'", "18.", "x=18;", {"tool": "answer", "arguments": {"n": 18}}])
def test_a_secret_is_found_in_any_dress(text):
    assert leaks_of(text, secrets=["18"], before="") == ("18",)


def test_several_words_leak_together():
    assert leaks_of("it is Ada\nLovelace!", secrets=["ada lovelace"], before="") == ("ada lovelace",)


def test_a_secret_in_the_state_of_the_step_is_no_leak():
    held = failure(secrets=("42",), states=({"messages": ["the code is 42"]},))
    assert checked_for_leaks([Proposal(step=0, action="42", source="model")], held)[0].leaks == ()


def test_literals_of_tests():
    found = literals_of(["assert f([1, 22]) == 'abc'", 'assert g(-3.5) == "x"'])
    assert found == ("abc", "22", "-3.5")


def test_a_proposal_survives_json():
    proposal = Proposal(step=1, action=["a", {"tool": "t"}], source="user", origin={"file": "x"}, leaks=("q",))
    assert Proposal.from_json(proposal.to_json()) == proposal
