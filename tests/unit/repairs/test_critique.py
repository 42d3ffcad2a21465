"""Three agents on one repair."""

import json
from typing import Any

import pytest

from butfor.confidence import Estimate, Undefined
from butfor.repairs import Critique, Failure, Opinion, Proposal, agreement_with_truth, critique_of
from butfor.repairs.critique import consensus, read_opinion

PROPOSAL = Proposal(step=0, action="2 + 2 = 4", source="model")
FAILURE = Failure(run_id="r", task="Add 2 and 2.", actions=("2 + 2 = 5",), secrets=("4711",))


class Critic:
    """Says one thing, and remembers what it was asked."""

    def __init__(self, verdict, confidence, reason=""):
        self.text = json.dumps({"verdict": verdict, "confidence": confidence, "reason": reason})
        self.asked: list[Any] = []

    def __call__(self, **request):
        self.asked.append(request)
        return self.text


@pytest.mark.parametrize(
    ("crs", "critic", "meta", "expected"),
    [
        (1.0, ("AGREE", 1.0), ("AGREE", 1.0), 1.0),
        (1.0, ("PARTIAL", 1.0), ("DISAGREE", 1.0), 0.5),
        (1.0, ("AGREE", 0.6), ("PARTIAL", 0.8), (1 + 0.6 + 0.4) / 3),
        (0.0, ("AGREE", 0.7), ("AGREE", 0.7), 1.4 / 3),
    ],
)
def test_the_consensus_is_the_published_one(crs, critic, meta, expected):
    found = critique_of(PROPOSAL, FAILURE, crs=crs, critic=Critic(*critic), meta=Critic(*meta))
    assert found.consensus == pytest.approx(expected)
    assert found.kept == (expected >= 0.5)


def test_critics_that_are_skipped_leave_no_score():
    # Public code with its critics skipped reports perfect scores.
    for critic, meta in [(None, None), (Critic("AGREE", 1.0), None), (None, Critic("AGREE", 1.0))]:
        found = critique_of(PROPOSAL, FAILURE, crs=1.0, critic=critic, meta=meta)
        assert isinstance(found.consensus, Undefined)
        assert not found.kept
        assert found.to_json()["consensus"] == {"undefined": found.consensus.reason}


def test_a_step_without_a_crs_has_no_consensus():
    crs = Undefined(reason="nothing was drawn")
    found = critique_of(PROPOSAL, FAILURE, crs=crs, critic=Critic("AGREE", 1), meta=Critic("AGREE", 1))
    assert isinstance(found.consensus, Undefined)


@pytest.mark.parametrize(
    "answer",
    ["", "AGREE", "{}", '{"verdict": "YES", "confidence": 1}', '{"verdict": "AGREE"}',
     '{"verdict": "AGREE", "confidence": 2}', '{"verdict": "AGREE", "confidence": true}', '{"verdict": '],
)  # fmt: skip
def test_an_answer_that_cannot_be_read_is_no_opinion(answer):
    assert isinstance(read_opinion(answer), Undefined)


def test_an_opinion_is_read_out_of_prose():
    text = 'I think:\n```json\n{"verdict": "partial", "confidence": 0.25, "reason": "half"}\n```'
    assert read_opinion(text) == Opinion(agreement="PARTIAL", confidence=0.25, reason="half")


def test_the_meta_critic_sees_the_critic_and_nobody_sees_a_secret():
    critic, meta = Critic("DISAGREE", 0.9, "the sum is wrong"), Critic("AGREE", 0.5)
    critique_of(PROPOSAL, FAILURE, crs=1.0, critic=critic, meta=meta, temperature=0)
    prompts = [chat.asked[0]["messages"][0]["content"] for chat in (critic, meta)]
    assert "the sum is wrong" in prompts[1]
    assert all("4711" not in prompt for prompt in prompts)
    assert [chat.asked[0]["temperature"] for chat in (critic, meta)] == [0, 0]


def judged(kept, truth):
    weight = 1.0 if kept else 0.0
    opinion = Opinion(agreement="AGREE", confidence=weight)
    found = consensus(weight, opinion, opinion)
    return Critique(proposal=PROPOSAL, crs=weight, critic=opinion, meta=opinion, consensus=found), truth


def test_precision_and_recall_are_held_against_rollouts_with_intervals():
    pairs = [judged(True, True)] * 6 + [judged(True, False)] * 2 + [judged(False, True)] * 4
    found = agreement_with_truth(pairs)
    assert isinstance(found.precision, Estimate)
    assert isinstance(found.recall, Estimate)
    assert (found.precision.point, found.precision.n) == (0.75, 8)
    assert (found.recall.point, found.recall.n) == (0.6, 10)


def test_without_a_consensus_there_is_no_perfect_precision():
    skipped = critique_of(PROPOSAL, FAILURE, crs=1.0, critic=None, meta=None)
    found = agreement_with_truth([(skipped, True)] * 5)
    assert isinstance(found.precision, Undefined)
    assert isinstance(found.recall, Undefined)
    assert (found.judged, found.without_consensus) == (0, 5)
