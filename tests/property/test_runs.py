"""Laws of the trace model: a document loses nothing, and a run is linear in size."""

import pytest
from hypothesis import given

from butfor import canonical, runs
from butfor.errors import CorruptRecord
from butfor.runs.requests import common_prefix, texts
from tests.property.strategies import json_values, recorded_runs, text


@given(recorded_runs())
def test_a_document_round_trips(run):
    assert runs.from_text(runs.to_text(run)) == run


@given(recorded_runs())
def test_every_request_can_be_rebuilt_one_by_one_or_in_order(run):
    one_by_one = [run.request_text(step) for step in range(len(run.steps))]
    assert list(texts([step.request for step in run.steps])) == one_by_one


@given(text, text, text)
def test_common_prefix(head, a, b):
    shared = common_prefix(head + a, head + b)
    assert (head + a)[:shared] == (head + b)[:shared]
    assert shared >= len(head)
    assert shared == min(len(head + a), len(head + b)) or (head + a)[shared] != (head + b)[shared]


@pytest.mark.parametrize("steps", [50, 400])
def test_a_run_of_n_steps_is_linear_in_size(steps):
    chain = runs.RequestChain()
    history: list[dict[str, str]] = []
    made = []
    for index in range(steps):
        history.append({"role": "user", "content": f"message {index} " + "x" * 100})
        made.append(runs.Step(index=index, request=chain.add({"messages": history, "tools": ["t" * 500]})))
    size = len(runs.to_text(runs.Run(run_id="r", steps=tuple(made))))
    assert size < 600 * steps + 2_000


@given(json_values)
def test_a_changed_request_is_noticed(value):
    chain = runs.RequestChain()
    request = chain.add(value)
    broken = request.model_copy(update={"middle": request.middle + " "})
    run = runs.Run(run_id="r", steps=(runs.Step(index=0, request=broken),))
    with pytest.raises(CorruptRecord, match="does not match its digest"):
        run.request(0)


@pytest.mark.parametrize(
    ("document", "field"),
    [
        ('{"run_id":"r","steps":[{"index":1}]}', "document"),
        ('{"run_id":"r","steps":[{"index":0,"nope":1}]}', "steps.0.nope"),
        ('{"run_id":"r","outcome":{"value":2,"rule":"x"}}', "outcome.value"),
        ('{"run_id":"r","outcome":{"value":{"$float":"nan"},"rule":"x"}}', "outcome.value"),
        ("[]", "document"),
    ],
)
def test_a_malformed_document_names_its_field(document, field):
    with pytest.raises(CorruptRecord, match=f"runs.jsonl:3, field {field}"):
        runs.from_text(document, where="runs.jsonl:3")


def test_values_do_not_alias():
    value = runs.Value.of({"a": [1]})
    value.get()["a"].append(2)
    assert value.get() == {"a": [1]}
    assert canonical.decode(value.text) == {"a": [1]}
