import json

import pytest

from butfor.errors import CorruptRecord
from butfor.estimation import EffectEstimate, Insufficient, effect_from_json

ESTIMATE = EffectEstimate(
    point=0.2,
    lower=0.1,
    upper=0.3,
    alpha=0.05,
    n_per_arm={"0": 10, "1": 12},
    target="contrast",
    estimator="difference in means",
    assumptions=("independent units",),
    diagnostics={"largest share": 0.1},
    guarantee="asymptotic",
)
REFUSAL = Insufficient(reason_code="positivity", sentence="no overlap", diagnostics={"clipped share": 0.4})


@pytest.mark.parametrize("answer", [ESTIMATE, REFUSAL])
def test_answers_survive_json(answer):
    assert effect_from_json(json.loads(json.dumps(answer.to_json()))) == answer


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("lower", float("nan")),
        ("lower", True),
        ("point", "0.2"),
        ("target", "ratio"),
        ("n_per_arm", {"0": -1}),
        ("assumptions", "none"),
        ("schema", "butfor.estimate/0"),
    ],
)
def test_a_malformed_estimate_is_refused(field, value):
    with pytest.raises(CorruptRecord):
        effect_from_json({**ESTIMATE.to_json(), field: value})


def test_a_surplus_field_is_refused():
    with pytest.raises(CorruptRecord, match="surplus"):
        effect_from_json({**REFUSAL.to_json(), "note": ""})


def test_an_unknown_reason_is_refused():
    with pytest.raises(CorruptRecord, match="unknown reason"):
        effect_from_json({**REFUSAL.to_json(), "reason_code": "bad luck"})
