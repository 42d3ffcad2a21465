"""What would change the verdict: tests of the graph, single-edge changes, hidden causes by strength."""

import dataclasses

import numpy as np
import pytest

from butfor.estimation import Cells
from butfor.gate import Demands, Sample
from butfor.gate.decide import decide
from butfor.gate.robustness import Robustness, Strength, examine
from butfor.gate.robustness.mutations import changes
from butfor.graphs import Graph
from butfor.identification import Query
from tests.unit.gate.worlds import GRAPH, RULES, columns, inputs, rows


def examined(**changes_):
    made = inputs(**changes_)
    return dataclasses.replace(made, robustness=examine(made))


def demanding(**demands):
    return dataclasses.replace(RULES, demands=Demands(**demands))


def test_every_single_edge_change_is_judged_but_the_arrow_from_the_call_to_its_outcome():
    kinds = [(each.kind, each.edge) for each in changes(inputs())]
    assert kinds == [
        ("latent_edge", "T <-> Y"),
        ("latent_edge", "T <-> Z"),
        ("latent_edge", "Y <-> Z"),
        ("reversed_arrow", "T -> Z"),
        ("bad_control", "T -> Z <- Y"),
    ]


def test_a_change_that_closes_a_cycle_is_left_out():
    nodes = {"T": "treatment", "Y": "outcome", "Z": "state", "W": "state"}
    chain = Graph.of(nodes=nodes, directed=[("T", "Z"), ("Z", "W"), ("T", "W"), ("W", "Y")])
    edges = {each.edge for each in changes(inputs(graph=chain))}
    assert "W -> T" not in edges
    assert "Z -> T" in edges


def test_a_hidden_cause_of_treatment_and_outcome_is_judged_by_strength():
    found = examine(inputs())
    assert found is not None
    assert found.mutants is not None
    hidden = next(each for each in found.mutants if each.edge == "T <-> Y")
    assert (hidden.verdict, hidden.judged_by_strength) == ("ABSTAIN", True)
    assert found.unmet(Demands(mutations=("latent_edge",))) == ()
    assert found.strength is not None
    assert 0.0 < (found.strength.robustness or 0.0) < 1.0
    assert "hidden cause" in found.strength.words


def test_a_mediator_taken_for_a_confounder_is_seen_in_the_reversed_arrow():
    rng = np.random.default_rng(4)
    t = rng.integers(0, 2, 4000).astype(float)
    z = (rng.random(4000) < 0.2 + 0.6 * t).astype(float)
    y = (rng.random(4000) < 0.2 + 0.5 * z - 0.1 * t * (1 - z)).astype(float)
    # In the graph Z is a confounder, with which the effect is small; as a mediator it carries the effect.
    sample = Sample(data=columns({"T": t, "Y": y, "Z": z}))
    low = dataclasses.replace(RULES, tau_u=-0.2, tau_r=0.9)
    found = examine(inputs(sample=sample, rules=low))
    assert found is not None
    assert found.mutants is not None
    reversed_arrow = next(each for each in found.mutants if each.edge == "T -> Z")
    assert "nothing" in reversed_arrow.words


@pytest.mark.parametrize(
    ("demands", "reason"),
    [
        ({"robustness": 0.05}, "bound_met"),
        ({"robustness": 0.9}, "not_robust"),
        ({"odds_factor": 1.1}, "bound_met"),
        ({"odds_factor": 30.0}, "not_robust"),
        ({"mutations": ("latent_edge",)}, "bound_met"),
        ({"falsification": True}, "bound_met"),
    ],
)
def test_a_demand_is_met_or_blocks(demands, reason):
    found = decide(examined(rules=demanding(**demands)))
    assert found.reason == reason
    assert found.missing if reason == "not_robust" else not found.missing


def test_a_demand_that_cannot_be_examined_blocks():
    cells = Sample(data=Cells.of(columns(), ["Z"]))
    assert examine(inputs(sample=cells)) is None
    for demands in ({"robustness": 0.05}, {"odds_factor": 1.1}, {"mutations": ("latent_edge",)}):
        assert decide(inputs(sample=cells, rules=demanding(**demands))).reason == "not_robust"
    assert decide(inputs(sample=cells, rules=demanding(falsification=True))).reason == "graph_falsified"
    assert Robustness().unmet(Demands(robustness=0.1, odds_factor=1.1, mutations=("latent_edge",)))


def test_a_contradicted_graph_blocks_under_our_preset():
    table = {**rows(), "W": rows(seed=9)["Z"]}
    table["W"] = np.where(np.arange(4000) % 3 == 0, table["W"], table["Z"])
    graph = Graph.of(
        nodes={"T": "treatment", "Y": "outcome", "Z": "state", "W": "state"}, directed=[*GRAPH.directed, ("W", "Y")]
    )
    made = inputs(graph=graph, sample=Sample(data=columns(table)))
    found = decide(dataclasses.replace(made, robustness=examine(made)))
    assert found.reason == "graph_falsified"
    assert "contradict" in found.missing[0]


def test_strength_is_for_a_contrast_by_adjustment():
    level = dataclasses.replace(RULES, bound_on="level", tau_u=0.3)
    found = examine(inputs(rules=level))
    assert found is not None
    assert found.strength is None


def test_a_stratum_has_a_strength_of_its_own():
    asked = Query.effect("T", "Y", within="Z")
    strengths = []
    for value in (0.0, 3.0):
        found = examine(inputs(query=asked, within={"Z": value}))
        assert found is not None
        assert found.strength is not None
        strengths.append(found.strength.odds_factor)
    assert strengths[0] != strengths[1]


def test_an_unbounded_factor_is_written_as_a_word():
    found = Robustness(strength=Strength(robustness=0.5, odds_factor=float("inf"), words=""))
    assert found.to_json()["strength"]["odds_factor"] == "any"
    assert found.unmet(Demands(odds_factor=100.0)) == ()
