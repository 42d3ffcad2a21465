"""Repairs that a model predicts: labelled, without a verdict, never exported."""

import json
from typing import Any

import pytest

from butfor.errors import NotFound
from butfor.repairs import GivenProposals, Repair, predict_run, repairs_of
from butfor.runs import Run, Step, Text, Value
from butfor.store import MemoryStore


def stored():
    store = MemoryStore()
    run = Run(
        run_id="view-only",
        task=Value.of("Add 2 and 2."),
        steps=(Step(index=0, parts=(Text(content=Value.of("2 + 2 = 5")),)),),
    )
    store.save_run(run)
    return store


class Predictor:
    """Says one answer after the other, and remembers what it was asked."""

    def __init__(self, *answers):
        self.answers, self.asked = list(answers), list[Any]()

    def __call__(self, **request):
        self.asked.append(request)
        return self.answers.pop(0)


GIVEN = GivenProposals({0: ["2 + 2 = 4", "2 + 2 = 6", "2 + 2 = 5"]})


def test_a_predicted_repair_is_labelled_and_has_no_verdict():
    store = stored()
    found = predict_run("view-only", store=store, proposers=[GIVEN], chat=Predictor("0.2", "I say 0.9"))
    assert [(each.repaired, each.predicted) for each in found] == [("2 + 2 = 6", 0.9), ("2 + 2 = 4", 0.2)]
    assert all(each.kind == "predicted" and each.verdict is None and not each.exportable for each in found)


def test_nothing_that_reads_validated_repairs_sees_a_predicted_one():
    store = stored()
    predict_run("view-only", store=store, proposers=[GIVEN], chat=Predictor("1", "1"))
    assert repairs_of(store, "view-only") == []
    assert {each.kind for each in store.list_results("view-only")} == {"repair-predicted"}


def test_an_answer_without_a_number_is_no_prediction():
    found = predict_run("view-only", store=stored(), proposers=[GIVEN], chat=Predictor("certainly!", "0.5"))
    assert len(found) == 1


def test_the_predictors_temperature_is_sent_as_it_is():
    chat = Predictor("0.5", "0.5")
    predict_run("view-only", store=stored(), proposers=[GIVEN], chat=chat)
    assert [each["temperature"] for each in chat.asked] == [0.0, 0.0]


def test_a_predicted_repair_survives_json():
    (first, _) = predict_run("view-only", store=stored(), proposers=[GIVEN], chat=Predictor("0.5", "0.5"))
    assert Repair.from_json(json.loads(json.dumps(first.to_json()))) == first


def test_a_step_that_is_not_there_is_refused():
    with pytest.raises(NotFound, match="no step 4"):
        predict_run("view-only", store=stored(), steps=[4], proposers=[GIVEN], chat=Predictor())
