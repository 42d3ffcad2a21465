"""Faults that others reported of their identification code: the kind, not only the instance."""

import json
import os
import time
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
from tests.property.latent_models import LatentModel, check_witness

from butfor.errors import InputError
from butfor.graphs import Graph
from butfor.identification import (
    Hedge,
    Proof,
    Query,
    check,
    estimand,
    evaluate,
    find_instruments,
    identify,
    in_words,
    is_adjustment_set,
    minimal_front_door,
    remedies,
)

RNG_SEED = 20261130
KNOWN = Path(os.environ.get("BUTFOR_DATA", Path(__file__).parents[4] / "shared" / "data")) / "graphs/known_graphs.json"

NAPKIN = Graph.of(directed=[("W1", "W2"), ("W2", "T"), ("T", "Y")], bidirected=[("W1", "T"), ("W1", "Y")])
TIAN_2002 = Graph.of(
    directed=[("T", "Z1"), ("Z1", "Y"), ("Z2", "T"), ("Z2", "Z1"), ("Z2", "Z3"), ("Z3", "Y")],
    bidirected=[("T", "Y"), ("T", "Z2"), ("T", "Z3"), ("Y", "Z2")],
)
EFFECT = Query.effect("T", "Y")


def argument_of(proof):
    assert isinstance(proof, Proof)
    return proof.argument


def assert_equals_truth(graph, query=EFFECT):
    proof = identify(graph, query)
    assert isinstance(proof, Proof)
    assert check(graph, query, proof).ok
    model = LatentModel(graph, np.random.default_rng(RNG_SEED))
    assert abs(evaluate(estimand(graph, proof), model.doing(), graph.names) - model.effect(query)).max() < 1e-9
    return proof


@pytest.mark.parametrize("graph", [NAPKIN, TIAN_2002], ids=["napkin", "tian2002"])
def test_the_napkin_and_its_kin_give_the_effect_and_not_the_conditional(graph):
    # y0 372 and 404: P(Y | X) was given for the napkin, and a wrong estimand for Tian's example.
    assert_equals_truth(graph)
    model = LatentModel(graph, np.random.default_rng(RNG_SEED))
    joint = model.doing()
    rest = tuple(1 + i for i, name in enumerate(graph.names) if name not in ("T", "Y"))
    both = joint.sum(axis=rest, keepdims=True)
    conditional = both / both.sum(axis=1 + graph.names.index("Y"), keepdims=True)
    assert abs(conditional - model.effect(EFFECT)).max() > 0.01


def test_a_mediator_or_a_collider_is_never_adjusted_for():
    # pgmpy 3553: {M} was accepted, and offered for Z -> T, Z -> M, T -> M, M -> Y.
    graph = Graph.of(directed=[("Z", "T"), ("Z", "M"), ("T", "M"), ("M", "Y")])
    proof = assert_equals_truth(graph)
    assert argument_of(proof).adjust_for == ("Z",)
    for bad in (["M"], ["Z", "M"], []):
        assert not is_adjustment_set(graph, EFFECT, bad)
    collider = Graph.of(directed=[("T", "C"), ("Y", "C"), ("T", "Y")])
    assert is_adjustment_set(collider, EFFECT, [])
    assert not is_adjustment_set(collider, EFFECT, ["C"])


def test_an_unmeasured_variable_is_never_an_instrument():
    # DoWhy named latent variables as instruments.
    graph = Graph.of(
        nodes={"U1": "latent", "U2": "latent"},
        directed=[("T", "Y"), ("U1", "T"), ("U1", "M"), ("U2", "M"), ("U2", "Y")],
    )
    for assumption in ("linear_effect", "monotonicity"):
        named = {argument_of(p).instrument for p in find_instruments(graph, EFFECT, assumption=assumption)}
        assert not named & {"U1", "U2"}
        for proof in find_instruments(graph, EFFECT, assumption=assumption):
            assert not {"U1", "U2"} & set(argument_of(proof).adjust_for)
    same = Graph.of(directed=[("T", "Y"), ("U1", "T"), ("U1", "M"), ("U2", "M"), ("U2", "Y")])
    measured = Query.effect("T", "Y", measured=["T", "M", "Y"])
    named = {argument_of(p).instrument for p in find_instruments(same, measured, assumption="linear_effect")}
    assert not named & {"U1", "U2"}


def test_a_second_causal_path_rules_a_front_door_out():
    # DoWhy 971: M was a front-door set although T -> R -> E -> Y avoids it.
    directed = [("T", "M"), ("M", "Y"), ("T", "R"), ("R", "E"), ("E", "Y")]
    graph = Graph.of(directed=directed, bidirected=[("T", "Y")])
    mediators = argument_of(minimal_front_door(graph, EFFECT)).mediators
    assert len(mediators) == 2
    assert "M" in mediators
    assert_equals_truth(graph)
    direct = Graph.of(directed=[("T", "M"), ("M", "Y"), ("T", "Y")], bidirected=[("T", "Y")])
    assert minimal_front_door(direct, EFFECT) is None


@pytest.mark.parametrize("hidden", [True, False])
def test_a_latent_is_not_summed_as_if_it_were_measured(hidden):
    # pgmpy 3508: the bow with its latent drawn was "identified" by summing over the latent.
    directed = [("U", "T"), ("U", "Y"), ("T", "Y")]
    graph = Graph.of(nodes={"U": "latent" if hidden else "state"}, directed=directed)
    query = EFFECT if hidden else Query.effect("T", "Y", measured=["T", "Y"])
    hedge = identify(graph, query)
    assert isinstance(hedge, Hedge)
    assert check(graph, query, hedge).ok
    assert "U" in in_words(graph, hedge)
    assert remedies(graph, hedge)[0].variables == ("U",)


def test_not_identified_is_a_value_with_a_reason_and_no_estimand():
    # DoWhy 1551: an estimand of None and no error.
    bow = Graph.of(directed=[("T", "Y")], bidirected=[("T", "Y")])
    hedge = identify(bow, EFFECT)
    assert isinstance(hedge, Hedge)
    assert hedge.blocking == (("T", "Y"),)
    assert check_witness(bow, hedge) > 0.1
    assert "not identified" in in_words(bow, hedge)


def test_fifty_nodes_take_milliseconds_and_not_hours():
    # DoWhy 1818: hours at 50 nodes. 0.5 s is a thousand times what this takes.
    names = [f"V{i}" for i in range(50)]
    directed = [(a, b) for i, a in enumerate(names) for b in names[i + 1 :]]
    graph = Graph.of(directed=directed, bidirected=[(a, b) for a, b in zip(names[:-2:2], names[1:-2:2], strict=True)])
    start = time.process_time()
    answer = identify(graph, Query.effect("V20", "V49"))
    assert time.process_time() - start < 0.5
    assert check(graph, Query.effect("V20", "V49"), answer).ok


def test_a_thousand_nodes_in_one_chain_need_no_recursion():
    # ananke: a recursion error from 200 nodes.
    names = [f"V{i:04}" for i in range(1000)]
    graph = Graph.of(directed=list(pairwise(names)), bidirected=list(zip(names, names[2:], strict=False)))
    query = Query.effect(names[0], names[-1])
    answer = identify(graph, query)
    assert check(graph, query, answer).ok
    if isinstance(answer, Proof):
        assert str(estimand(graph, answer))


@pytest.mark.skipif(not KNOWN.exists(), reason="set BUTFOR_DATA to the folder with graphs/known_graphs.json")
def test_the_textbook_graphs_have_their_answers():
    for name, document in json.loads(KNOWN.read_text()).items():
        graph = Graph.of(nodes=document["nodes"], directed=document["directed"], bidirected=document["bidirected"])
        query = Query.effect(document["T"], document["Y"])
        answer = identify(graph, query)
        assert isinstance(answer, Proof) == document["identifiable"], name
        assert check(graph, query, answer).ok, name
        if isinstance(answer, Proof):
            assert_equals_truth(graph, query)
        else:
            assert check_witness(graph, answer) >= 1e-3


@pytest.mark.parametrize(
    ("ask", "what"),
    [
        (lambda: Query.effect("T", "T"), "appears twice"),
        (lambda: Query.effect([], "Y"), "needs a treatment"),
        (lambda: identify(NAPKIN, Query.effect("T", "Q")), "no node 'Q'"),
        (lambda: identify(NAPKIN, Query.effect("T", "Y", measured=["T", "W1"])), "not measured"),
        (lambda: find_instruments(NAPKIN, Query.effect(["T", "W2"], "Y"), assumption="linear_effect"), "one treatment"),
    ],
)
def test_a_question_that_cannot_be_asked_is_an_error_with_its_reason(ask, what):
    with pytest.raises(InputError, match=what):
        ask()
