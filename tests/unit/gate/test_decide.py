"""The four verdicts, and that whatever is not a proven bound fails closed."""

import dataclasses
import math
from typing import Any

import numpy as np
import pytest

from butfor.estimation import Cells
from butfor.gate import DEFAULT, PAPER, REASONS, Sample
from butfor.gate import decide as deciding
from butfor.identification import Adjustment, Proof, Query
from tests.unit.gate.worlds import BOW, GRAPH, QUERY, RULES, TRIAL, columns, inputs, rows


def decide(asked) -> Any:
    """Decide; what a test looks at is there, or it fails."""
    return deciding.decide(asked)


def rules(**changes):
    return dataclasses.replace(RULES, **changes)


def test_a_proven_bound_executes():
    found = decide(inputs())
    assert (found.verdict, found.reason, found.missing) == ("EXECUTE", "bound_met", ())
    assert found.lower > RULES.tau_u


def test_cells_give_the_verdict_and_nearly_the_bound_of_their_rows():
    from_rows = decide(inputs())
    from_cells = decide(inputs(sample=Sample(data=Cells.of(columns(), ["Z"]))))
    assert from_cells.verdict == "EXECUTE"
    assert from_cells.lower == pytest.approx(from_rows.lower, abs=1e-3)


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"tau_u": 0.5}, "shown_harmful"),
        ({"tau_u": 0.3}, "insufficient_evidence"),
        ({"cost": 0.6}, "cost_exceeded"),
        ({"cost": math.nan}, "error"),
        ({"tau_c": math.nan}, "cost_exceeded"),
        ({"tau_u": math.nan}, "error"),
        ({"tau_r": 0.2}, "risk_exceeded"),
        ({"tau_r": math.nan}, "risk_exceeded"),
        ({"max_age": 10.0}, "stale"),
        ({"outcome_range": (0.0, 0.5)}, "error"),
        ({"alpha": 0.7}, "error"),
        ({"alpha": 5e-324}, "error"),
        ({"to": "x"}, "error"),
        ({"to": 7.0}, "insufficient_evidence"),
        ({"demands": dataclasses.replace(RULES.demands, falsification=True)}, "graph_falsified"),
        ({"demands": dataclasses.replace(RULES.demands, robustness=0.1)}, "not_robust"),
        ({"demands": dataclasses.replace(RULES.demands, mutations=("reversed_arrow",))}, "not_robust"),
    ],
)
def test_each_failure_has_its_reason(changes, reason):
    found = decide(inputs(rules=rules(**changes)))
    assert (found.reason, found.verdict) == (reason, REASONS[reason].verdict)
    assert found.missing


def test_thin_evidence_goes_to_a_trial_where_the_policy_allows_one():
    thin = rules(tau_u=0.3, trial=TRIAL)
    assert decide(inputs(rules=thin)).reason == "insufficient_reversible"
    assert decide(inputs(rules=dataclasses.replace(thin, preset=PAPER))).reason == "insufficient_evidence"


def test_shown_harm_never_goes_to_a_trial():
    assert decide(inputs(rules=rules(tau_u=0.5, trial=TRIAL))).reason == "shown_harmful"


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"trial": TRIAL}, "not_identified_reversible"),
        ({}, "not_identified"),
        ({"trial": TRIAL, "reversible": False}, "not_identified"),
        ({"trial": TRIAL, "cost": 0.6}, "not_identified"),
    ],
)
def test_what_is_not_identified_is_tried_or_left(changes, reason):
    found = decide(inputs(graph=BOW, rules=rules(**changes)))
    assert found.reason == reason
    assert "T <-> Y" in found.missing[0]


def test_a_level_can_clear_the_threshold_by_a_worst_case_bound():
    level = rules(bound_on="level", tau_u=0.2, tau_r=0.9)
    found = decide(inputs(graph=BOW, rules=level))
    assert (found.reason, found.measured.worst.kind) == ("bound_met", "manski_level")
    assert decide(inputs(graph=BOW, rules=dataclasses.replace(level, preset=PAPER))).reason == "not_identified"


def test_a_worst_case_bound_does_not_excuse_the_risk():
    found = decide(inputs(graph=BOW, rules=rules(bound_on="level", tau_u=0.2, tau_r=0.3)))
    assert found.reason == "not_identified"
    assert any("risk" in words for words in found.missing)


def test_no_worst_case_bound_clears_a_contrast_above_zero():
    perfect = rows()
    perfect["Y"] = perfect["T"].copy()
    perfect["Y"][0] = 1.0 - perfect["Y"][0]
    found = decide(inputs(graph=BOW, sample=Sample(data=columns(perfect)), rules=rules(tau_u=0.0)))
    assert found.reason == "not_identified"


def test_randomised_rows_need_no_graph():
    found = decide(inputs(graph=BOW, sample=Sample(data=columns(), kind="randomised")))
    assert found.reason == "bound_met"
    assert found.measured.contrast.guarantee == "finite_sample"


def test_randomised_rows_decide_by_the_same_rule_in_paper_settings():
    found = decide(inputs(sample=Sample(data=columns(), kind="randomised"), rules=rules(preset=PAPER)))
    assert found.measured.contrast.estimator == "OLS, classical normal bound (paper settings)"


def test_random_assignment_is_not_believed_of_observational_rows():
    trusting = inputs(sample=Sample(data=columns(), kind="randomised"))
    assert decide(dataclasses.replace(trusting, sample=Sample(data=columns()))).reason == "error"


def test_a_wrong_proof_opens_nothing():
    wrong = Proof(graph=GRAPH.digest, query=QUERY, argument=Adjustment(acting=("T",), adjust_for=()))
    found = decide(inputs(answer=wrong))
    assert found.reason == "error"
    assert "checker" in found.missing[0]


def test_a_proof_for_another_graph_opens_nothing():
    assert decide(inputs(graph=BOW, answer=inputs().answer)).reason == "error"


def test_a_bound_that_touches_the_threshold_is_not_above_it():
    bound = decide(inputs()).lower
    for threshold in (bound, bound * (1 - 1e-10), bound * (1 + 1e-10)):
        assert decide(inputs(rules=rules(tau_u=threshold))).reason == "insufficient_evidence"
    assert decide(inputs(rules=rules(tau_u=bound * (1 - 1e-6)))).reason == "bound_met"


def test_a_bound_of_rounding_is_not_above_zero():
    table = rows()
    table["Y"] = np.full_like(table["Y"], 0.1)
    found = decide(inputs(sample=Sample(data=columns(table)), rules=rules(outcome_range=None, tau_u=0.0)))
    assert found.verdict == "REJECT"


def test_a_stratum_that_never_occurs_has_no_bound():
    asked = Query.effect("T", "Y", within="Z")
    for data in (columns(), Cells.of(columns(), ["Z"])):
        found = decide(inputs(query=asked, sample=Sample(data=data), within={"Z": 9.0}))
        assert found.reason == "insufficient_evidence"
        assert decide(inputs(query=asked, sample=Sample(data=data), within={"Z": 2.0})).reason == "bound_met"


def test_paper_settings_hold_the_declared_cost_against_tau_r():
    paper = rules(preset=PAPER, cost=0.55, tau_r=0.5)
    assert decide(inputs(rules=paper)).reason == "cost_exceeded"
    assert decide(inputs(rules=dataclasses.replace(paper, cost=0.5))).reason == "bound_met"
    assert decide(inputs(rules=dataclasses.replace(paper, tau_r=None))).reason == "cost_exceeded"


def test_paper_settings_do_not_bound_the_risk():
    found = decide(inputs(rules=rules(preset=PAPER, tau_r=0.2)))
    assert (found.reason, found.measured.risk) == ("bound_met", None)


def test_without_a_harm_line_the_risk_is_the_expected_loss():
    found = decide(inputs(rules=rules(harm_line=None, tau_r=-0.5)))
    assert found.reason == "bound_met"
    assert found.measured.risk.upper == -found.measured.level.lower


def test_the_worst_case_bounds_the_risk_where_the_estimator_cannot():
    cells = Cells.of(columns({**rows(), "Y": rows()["Y"] * 3.0}), ["Z"])
    found = decide(inputs(sample=Sample(data=cells), rules=rules(outcome_range=(0.0, 3.0), two_valued=False)))
    assert found.reason == "risk_exceeded"
    assert "do not tell" in found.measured.risk.words


def test_the_same_inputs_give_the_same_decision():
    one, two = decide(inputs()), decide(inputs())
    assert (one.lower, one.upper, one.reason) == (two.lower, two.upper, two.reason)


def test_an_instrument_that_the_policy_names_bounds_the_contrast():
    rng = np.random.default_rng(3)
    n = 20_000
    u, z = rng.random(n), (rng.random(n) < 0.5).astype(float)
    t = (rng.random(n) < np.where(z == 1, 0.97, 0.03)).astype(float)
    y = (rng.random(n) < 0.1 + 0.7 * t + 0.2 * (u > 0.5)).astype(float)
    graph = type(GRAPH).of(
        nodes={"T": "treatment", "Y": "outcome", "Z": "state"},
        directed=[("Z", "T"), ("T", "Y")],
        bidirected=[("T", "Y")],
    )
    sample = Sample(data=columns({"T": t, "Y": y, "Z": z}))
    assert decide(inputs(graph=graph, sample=sample)).reason == "not_identified"
    named = rules(instrument=("Z", "monotonicity"))
    worst = inputs(graph=graph, sample=sample, rules=named, answer=inputs(graph=graph).answer)
    found = decide(worst)
    assert (found.reason, found.measured.worst.kind) == ("bound_met", "balke_pearl")
    # With the assumption stated, the ratio itself is identified.
    assert isinstance(inputs(graph=graph, sample=sample, rules=named).answer, Proof)
    confounded = type(GRAPH).of(
        nodes={"T": "treatment", "Y": "outcome", "Z": "state"},
        directed=[("Z", "T"), ("T", "Y"), ("Z", "Y")],
        bidirected=[("T", "Y")],
    )
    assert decide(inputs(graph=confounded, sample=sample, rules=named)).reason == "not_identified"


def test_the_presets_differ_in_every_setting_but_their_cost():
    differing = {name for name in vars(DEFAULT) if getattr(DEFAULT, name) != getattr(PAPER, name)}
    assert differing == set(vars(DEFAULT))


def test_one_cluster_of_a_continuous_treatment_is_a_refusal_with_its_reason():
    table = rows(200)
    table["T"] = table["T"] + np.random.default_rng(1).normal(size=200)
    table["k"] = np.zeros(200)
    data = columns(table, clusters="k")
    found = decide(inputs(sample=Sample(data=data), rules=rules(outcome_range=None, to=1.0, against=0.0)))
    assert (found.reason, "1 clusters" in found.missing[0]) == ("insufficient_evidence", True)


def test_outcomes_next_to_zero_are_counted_in_a_unit_that_is_not_zero():
    table = rows()
    table["Y"] = table["Y"] * 5e-324
    cells = Cells.of(columns(table), ["Z"])
    assert cells.unit == 5e-324
    assert decide(inputs(sample=Sample(data=cells), rules=rules(outcome_range=None, tau_u=0.0))).verdict == "REJECT"


def test_a_treatment_that_units_like_these_hardly_ever_got_is_for_a_trial_where_one_may_be_made():
    table = rows()
    table["T"] = np.where(table["Z"] == 3, 0.0, table["T"])
    sample = Sample(data=columns(table))
    assert decide(inputs(sample=sample)).reason == "positivity"
    allowed = rules(trial=TRIAL)
    assert decide(inputs(sample=sample, rules=allowed)).reason == "insufficient_reversible"
    assert decide(inputs(sample=sample, rules=dataclasses.replace(allowed, preset=PAPER))).verdict != "EXPERIMENT"
