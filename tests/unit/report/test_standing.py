"""What a search says of each step, and what it saved."""

import dataclasses

import pytest

from butfor.report.findings import read_finding
from butfor.report.wording import headline, price_words, steps_words
from tests.unit.report.stories import data_of, profile_of


def searched(kind: str, candidates: tuple[int, ...], *, undrawn: tuple[int, ...] = (), **more):
    """A search of five steps in which step 1 leads."""
    document = profile_of(5, decisive=1).to_json()
    for step in document["steps"]:
        step["in_set"], step["role"] = step["step"] in candidates, "inconclusive"
        step["n"] = 0 if step["step"] in undrawn else 64
    if kind == "decisive":
        document["steps"][candidates[0]]["role"] = "decisive"
    document |= {"method": "search", "kind": kind, "candidates": list(candidates), "profile_calls": 960}
    return read_finding(document | {"policy_calls": 240} | more)


def said(finding):
    return headline(dataclasses.replace(data_of(5), finding=finding))


def test_every_step_is_in_the_set_or_ruled_out_or_not_looked_at():
    finding = searched("withheld", (1, 2, 3), undrawn=(3, 4))
    assert [step.role for step in finding.steps] == [
        "ruled out",
        "in the set",
        "in the set",
        "not looked at",
        "ruled out",
    ]
    assert all(step.explanation for step in finding.steps)
    decided = searched("decisive", (1,))
    assert [step.role for step in decided.steps] == ["ruled out", "decisive", *["ruled out"] * 3]


def test_an_answer_without_a_step_leaves_steps_open():
    assert searched("always_fails", (0, 1)).steps[0].role == "left open"


def test_the_headline_names_the_set():
    assert said(searched("withheld", (1, 2))).startswith("The decisive step is one of {1, 2} with 95% confidence;")
    assert "any of the 5 steps {0–4}" in said(searched("withheld", (0, 1, 2, 3, 4)))
    assert said(searched("withheld", (1,))).startswith("If any step decided this outcome it is step 1 with 95%")


def test_the_headline_states_the_assumption():
    for finding in (searched("decisive", (1,), max_help=0.02), searched("withheld", (1, 2), max_help=0.02)):
        assert "no step lowered the chance of failure by more than 0.02" in said(finding)
        assert "Nothing that was drawn speaks against it." in said(finding)
    refuted = searched("decisive", (1,), max_help=0.02, help_refuted=[0, 3])
    assert "search again without the assumption" in said(refuted)


@pytest.mark.parametrize(
    ("steps", "words"), [((1, 2), "{1, 2}"), ((5, 1, 2, 3), "{1–3, 5}"), ((7,), "{7}"), ((0, 2, 4), "{0, 2, 4}")]
)
def test_a_set_is_written_short(steps, words):
    assert steps_words(steps) == words


def test_what_was_saved_is_said_beside_the_price_of_a_profile():
    assert price_words(searched("decisive", (1,))) == (
        "Saved: 75% of the policy calls; 240 were made, `profile` would make about 960 (4.0 times as many)."
    )
    assert price_words(searched("decisive", (1,), policy_calls=1000)).startswith("Nothing saved: 1,000 policy calls")
    assert price_words(searched("withheld", (1, 2))).startswith("Spent: 240 policy calls;")
    assert price_words(read_finding(profile_of(5, decisive=1).to_json())) == ""


def test_step_0_executes_no_earlier_decision():
    document = profile_of(3, decisive=1).to_json()
    for step in document["steps"]:
        step["role"] = "mechanical"
    first, _, last = read_finding(document).steps
    assert "earlier" not in first.explanation
    assert "earlier" in last.explanation
