"""Answers as values: JSON forms, words, remedies, hidden nodes, and what an import costs."""

import dataclasses
import json
import subprocess
import sys
import time
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.patience import PATIENCE
from tests.property.latent_models import LatentModel, random_graph
from tests.property.strategies import json_values

from butfor.errors import ButforError, CorruptRecord, InputError
from butfor.graphs import Graph, latent_projection
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
    remedies,
)
from butfor.identification.nodes import P, Product, Sum
from butfor.identification.written import written

BOW = Graph.of(directed=[("T", "Y")], bidirected=[("T", "Y")])
FRONT_DOOR = Graph.of(directed=[("T", "M"), ("M", "Y")], bidirected=[("T", "Y")])
NAPKIN = Graph.of(directed=[("A", "B"), ("B", "T"), ("T", "Y")], bidirected=[("A", "T"), ("A", "Y")])
BACK_DOOR = Graph.of(directed=[("Z", "T"), ("Z", "Y"), ("T", "Y")])
NOTHING = Graph.of(directed=[("Y", "T")])
INSTRUMENT = Graph.of(directed=[("W", "Z"), ("W", "Y"), ("Z", "T"), ("T", "Y")], bidirected=[("T", "Y")])
EFFECT = Query.effect("T", "Y")
ALL = [BOW, FRONT_DOOR, NAPKIN, BACK_DOOR, NOTHING, INSTRUMENT]


def proof(graph):
    answer = identify(graph, EFFECT)
    assert isinstance(answer, Proof)
    return answer


def hedge_of(graph):
    answer = identify(graph, EFFECT)
    assert isinstance(answer, Hedge)
    return answer


def answers():
    for graph in ALL:
        yield graph, identify(graph, EFFECT)
    for proof in find_instruments(INSTRUMENT, EFFECT, assumption="monotonicity"):
        yield INSTRUMENT, proof


def test_every_kind_has_a_json_form_that_reads_back_equal():
    kinds = set()
    for _, answer in answers():
        document = json.loads(json.dumps(answer.to_json()))
        assert type(answer).from_json(document) == answer
        kinds.add(getattr(answer, "kind", "hedge"))
    assert kinds == {"hedge", "front_door", "general_id", "adjustment", "no_effect", "instrument"}


def test_a_malformed_document_never_becomes_a_proof():
    bad: list[object] = [None, 3, [], {}, {"schema": "butfor.proof/1"}]
    for _, answer in answers():
        document: dict[str, object] = answer.to_json()
        bad += [{**document, "extra": 1}, {**document, "schema": "x"}, {**document, "query": {}}]
        bad += [{key: value for key, value in document.items() if key != gone} for gone in document]
        # [7] is a well-formed list of factors: whether step 7 exists is the checker's business.
        wrong = (7, [7], {"a": 1}, ["A", "A"])
        bad += [{**document, key: value} for key in document for value in wrong if (key, value) != ("factors", [7])]
    refused = 0
    for broken in bad:
        for kind in (Proof, Hedge):
            with pytest.raises(CorruptRecord):
                kind.from_json(broken)
            refused += 1
    assert refused > 200


def test_hostile_claims_are_refused_and_raise_nothing():
    for graph, answer in answers():
        for other in (*ALL, Graph.of(nodes=["T", "Y"]), Graph.of()):
            claim = dataclasses.replace(answer, graph=other.digest)
            for query in (EFFECT, Query.effect("Y", "T"), Query.effect("Q", "R")):
                verdict = check(other, query, dataclasses.replace(claim, query=query))
                assert verdict.ok == (verdict.reason == "")
        assert not check(graph, Query.effect("Y", "T"), answer).ok
        assert "another query" in check(graph, Query.effect("Y", "T"), answer).reason


def test_words_name_the_latent_edge_and_the_sets():
    assert "T <-> Y" in in_words(BOW, identify(BOW, EFFECT))
    assert "equal Z" in in_words(BACK_DOOR, identify(BACK_DOOR, EFFECT))
    assert "only through M" in in_words(FRONT_DOOR, identify(FRONT_DOOR, EFFECT))
    assert "no causal path" in in_words(NOTHING, identify(NOTHING, EFFECT))
    for _, answer in answers():
        words = in_words(INSTRUMENT, answer)
        assert words.endswith(".")
        assert "{" not in words


def test_the_formula_reads_like_the_textbook():
    assert str(estimand(BACK_DOOR, proof(BACK_DOOR))) == "P(Y | do(T)) = Σ_{Z} [P(Y | T, Z) P(Z)]"


def test_what_a_sum_runs_over_is_not_what_is_set():
    text = str(estimand(FRONT_DOOR, proof(FRONT_DOOR)))
    assert text == "P(Y | do(T)) = Σ_{M} [P(M | T) Σ_{T'} [P(Y | T', M) P(T')]]"


def test_a_prime_is_no_variable_of_the_graph():
    graph = Graph.of(directed=[("T", "T'"), ("T'", "Y")], bidirected=[("T", "Y")])
    text = str(estimand(graph, proof(graph)))
    assert text == "P(Y | do(T)) = Σ_{T'} [P(T' | T) Σ_{T''} [P(Y | T'', T') P(T'')]]"


def test_a_named_part_is_told_which_value_it_is_for():
    whole, named = str(estimand(NAPKIN, proof(NAPKIN))).split("; ")
    assert whole == "P(Y | do(T)) = (q1 / Σ_{Y'} [q1(Y=Y')])"
    assert named == "q1 = Σ_{A} [P(A) P(T | A, B) P(Y | A, B, T)]"


def test_a_sum_inside_a_sum_over_the_same_variable_has_another_letter():
    parts = (P(of=("Z",)), Sum(over=("Z",), of=0), Product(of=(0, 1)), Sum(over=("Z",), of=2))
    assert written(parts, ["Y"]) == ["Σ_{Z} [P(Z) Σ_{Z'} [P(Z')]]"]
    assert str(estimand(NOTHING, proof(NOTHING))) == "P(Y | do(T)) = P(Y)"
    napkin = estimand(NAPKIN, proof(NAPKIN))
    assert napkin.free == ("B",)
    assert json.dumps(napkin.to_json())
    with pytest.raises(InputError):
        estimand(BOW, proof(BACK_DOOR))


def test_an_estimand_stays_undefined_where_a_stratum_is_empty():
    joint = np.array([[[0.5, 0.0], [0.0, 0.0]], [[0.25, 0.25], [0.0, 0.0]]])
    formula = estimand(BACK_DOOR, proof(BACK_DOOR))
    with np.errstate(invalid="ignore"):
        value = np.asarray(evaluate(formula, joint, ["Z", "T", "Y"]))
    assert np.isnan(value[0, 1]).all()
    assert np.isfinite(value[0, 0]).all()


# ---- what would help ----


def test_the_cheapest_measurement_is_the_cheapest_of_all():
    directed = [("U", "T"), ("U", "V"), ("V", "Y"), ("T", "Y")]
    graph = Graph.of(nodes={"U": "latent", "V": "latent"}, directed=directed)
    hedge = hedge_of(graph)
    assert remedies(graph, hedge, costs={"U": 5, "V": 2})[0].variables == ("V",)
    assert remedies(graph, hedge, costs={"U": 1, "V": 2})[0].variables == ("U",)
    one = remedies(graph, hedge, costs={"U": float("inf"), "V": 2})[0]
    assert (one.variables, one.cost, one.cheapest) == (("V",), 2.0, True)
    both = float("inf")
    assert remedies(graph, hedge, costs={"U": both, "V": both})[0].kind == "randomise"


def test_a_remedy_for_the_bow_is_the_common_cause_or_the_coin():
    found = remedies(BOW, hedge_of(BOW))
    assert [(each.kind, each.variables) for each in found] == [("measure", ("T <-> Y",)), ("randomise", ("T",))]
    found = remedies(INSTRUMENT, hedge_of(INSTRUMENT))
    assert {each.kind for each in found} == {"measure", "randomise", "assume"}


def test_a_large_graph_gets_advice_in_seconds_and_says_that_it_may_not_be_the_cheapest():
    names = [f"V{i:03}" for i in range(120)]
    star = [("T", name) for name in names] + [(name, "Y") for name in names]
    graph = Graph.of(directed=[("T", "Y")], bidirected=[("T", "Y"), *star])
    start = time.process_time()
    found = remedies(graph, hedge_of(graph))
    assert time.process_time() - start < 10
    assert found[0].kind == "measure"
    # T <-> V <-> Y is a collider path: only T <-> Y has to go.
    assert found[0].variables == ("T <-> Y",)
    chain = list(pairwise(names))
    graph = Graph.of(directed=chain, bidirected=[*chain, *zip(names, names[2:], strict=False)])
    hedge = identify(graph, Query.effect(names[0], names[-1]))
    assert isinstance(hedge, Hedge)
    start = time.process_time()
    first = remedies(graph, hedge)[0]
    assert time.process_time() - start < 20
    assert first.kind == "measure"


def test_measured_and_randomised_remedies_give_proofs_on_random_graphs():
    rng = np.random.default_rng(20261130)
    seen = 0
    for _ in range(300):
        graph = random_graph(rng, 5)
        t, y = (str(name) for name in rng.choice(graph.names, 2, replace=False))
        hedge = identify(graph, Query.effect(t, y))
        if isinstance(hedge, Proof):
            continue
        for remedy in remedies(graph, hedge):
            bidirected = graph.bidirected
            directed = graph.directed
            if remedy.kind == "measure":
                # An edge whose cause is measured is an adjustable fork.
                for pair in remedy.variables:
                    a, b = pair.split(" <-> ")
                    bidirected = [edge for edge in bidirected if edge != (a, b)]
                    directed = [*directed, (f"cause of {a} {b}", a), (f"cause of {a} {b}", b)]
            elif remedy.kind == "randomise":
                bidirected = [edge for edge in bidirected if remedy.variables[0] not in edge]
                directed = [edge for edge in directed if edge[1] != remedy.variables[0]]
            else:
                continue
            better = Graph.of(nodes=graph.names, directed=directed, bidirected=bidirected)
            assert isinstance(identify(better, Query.effect(t, y)), Proof)
            seen += 1
    assert seen > 50


# ---- hidden nodes ----


def test_drawn_latents_give_the_answers_of_their_projection():
    rng = np.random.default_rng(20261130)
    for _ in range(400):
        plain = random_graph(rng, 6)
        hidden = set(rng.choice(plain.names, 2, replace=False))
        roles = {name: "latent" if name in hidden else "state" for name in plain.names}
        graph = Graph.of(nodes=roles, directed=plain.directed, bidirected=plain.bidirected)
        seen = [name for name in plain.names if name not in hidden]
        t, y, s = (str(name) for name in rng.choice(seen, 3, replace=False))
        query = Query.effect(t, y, within=[s] if rng.random() < 0.3 else [])
        answer = identify(graph, query)
        assert check(graph, query, answer).ok
        projected = latent_projection(graph)
        expected = identify(projected, query)
        assert type(expected) is type(answer)
        as_columns = dataclasses.replace(query, measured=tuple(seen))
        assert type(identify(plain, as_columns)) is type(answer)
        assert check(plain, as_columns, identify(plain, as_columns)).ok
        if isinstance(answer, Proof):
            model = LatentModel(projected, rng, models=5)
            value = evaluate(estimand(graph, answer), model.doing(), projected.names)
            assert abs(value - model.effect(query)).max() < 1e-9


# ---- documents from strangers ----


@settings(max_examples=400)
@given(st.data())
def test_no_document_crashes_reader_or_checker(data):
    graph, answer = data.draw(st.sampled_from(list(answers())))
    document = answer.to_json()
    place, key = document, data.draw(st.sampled_from(sorted(document)))
    while isinstance(place[key], (dict, list)) and place[key] and data.draw(st.booleans()):
        place = place[key]
        key = data.draw(st.sampled_from(sorted(place) if isinstance(place, dict) else range(len(place))))
    names = st.sampled_from([*graph.names, "T", "Y", "Q"])
    place[key] = data.draw(json_values | st.integers(-2, 4) | names | st.lists(names, max_size=3))
    try:
        claim = type(answer).from_json(document)
    except CorruptRecord:
        return
    for query in (EFFECT, claim.query):
        verdict = check(graph, query, claim)
        assert verdict.ok == (verdict.reason == "")


# ---- what it costs to import, and what the checker may know ----


def test_the_checker_loads_fast_without_numpy_and_without_the_search():
    program = (
        "import sys, time; start = time.process_time();"
        "import base64, dataclasses, hashlib, heapq, json, re, typing, unicodedata;"
        "yardstick = time.process_time() - start; import butfor.identification.check;"
        "took = time.process_time() - start - yardstick;"
        "loaded = [m for m in sys.modules if m.startswith('butfor.') or m == 'numpy' or m == 'yaml'];"
        "print(took, yardstick); print(*loaded)"
    )
    runs = [
        subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True, timeout=PATIENCE)
        for _ in range(5)
    ]
    took, yardstick = (min(float(run.stdout.split()[k]) for run in runs) for k in (0, 1))
    loaded = set(runs[0].stdout.split()[2:])
    assert loaded <= {
        "butfor.canonical",
        "butfor.errors",
        "butfor.graphs",
        "butfor.graphs.admg",
        "butfor.graphs.draft",
        "butfor.graphs.parts",
        "butfor.identification",
        "butfor.identification.check",
        "butfor.identification.proof",
        "butfor.identification.query",
    }
    # Below 50 ms; on a machine so busy that the standard library's part alone takes that long, no more than that.
    assert took < max(0.05, 1.5 * yardstick)


def test_every_error_is_ours():
    for call in (
        lambda: identify(BOW, Query.effect("T", "nobody")),
        lambda: remedies(BACK_DOOR, hedge_of(BOW)),
        lambda: remedies(BOW, hedge_of(BOW), costs={"T <-> Y": -1.0}),
        lambda: evaluate(estimand(BACK_DOOR, proof(BACK_DOOR)), np.ones((2, 2)), ["T", "Y"]),
        lambda: evaluate(estimand(BACK_DOOR, proof(BACK_DOOR)), np.ones((2, 2)), ["T", "T"]),
    ):
        with pytest.raises(ButforError):
            call()
