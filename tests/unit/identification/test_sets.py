"""Adjustment, front-door and instrument sets, held against brute force over every subset and against models."""

import itertools

import numpy as np
import pytest
from tests.property.latent_models import LatentModel, all_graphs, random_graph

from butfor.errors import InputError
from butfor.graphs import Graph
from butfor.identification import (
    ASSUMPTIONS,
    Adjustment,
    Proof,
    Query,
    cheapest_adjustment,
    check,
    estimand,
    evaluate,
    find_instruments,
    identify,
    is_adjustment_set,
    minimal_adjustment,
    minimal_front_door,
    optimal_adjustment,
    precise_adjustment,
)
from butfor.identification.proof import FrontDoor, Instrument

SEED = 20261130


def argument_of(proof):
    assert isinstance(proof, Proof)
    return proof.argument


def subsets(names):
    return itertools.chain.from_iterable(itertools.combinations(names, k) for k in range(len(names) + 1))


def sample_graphs(seed=SEED):
    rng = np.random.default_rng(seed)
    yield from all_graphs(3)
    for n in [4] * 150 + [5] * 80:
        yield random_graph(rng, n)


def single_queries(graph):
    return [Query.effect(t, y) for t, y in itertools.permutations(graph.names, 2)]


def proves(graph, query, argument):
    return check(graph, query, Proof(graph=graph.digest, query=query, argument=argument)).ok


def rest_of(graph, query):
    return [name for name in graph.names if name not in (*query.treatments, *query.outcomes)]


def test_an_accepted_adjustment_set_gives_the_effect_and_a_refused_one_does_not():
    # Soundness and completeness of the criterion itself: by enumeration in random models, for every subset.
    rng = np.random.default_rng(SEED)
    counts = {True: 0, False: 0}
    for graph in [*all_graphs(3), *(random_graph(rng, 4) for _ in range(120))]:
        model = LatentModel(graph, rng, models=3)
        for query in single_queries(graph):
            truth = model.effect(query)
            for z in subsets(rest_of(graph, query)):
                argument = Adjustment(acting=query.treatments, adjust_for=z)
                proof = Proof(graph=graph.digest, query=query, argument=argument)
                value = evaluate(estimand(graph, proof), model.doing(), graph.names)
                right = abs(value - truth).max() < 1e-9
                assert right == check(graph, query, proof).ok
                counts[right] += 1
    assert min(counts.values()) > 500


def test_a_minimal_set_exists_where_any_does_and_has_no_smaller_one_inside():
    for graph in sample_graphs():
        for query in single_queries(graph):
            valid = {frozenset(z) for z in subsets(rest_of(graph, query)) if is_adjustment_set(graph, query, z)}
            proof = minimal_adjustment(graph, query)
            assert (proof is not None) == bool(valid)
            if proof is not None and isinstance(proof.argument, Adjustment):
                found = frozenset(argument_of(proof).adjust_for)
                assert found in valid
                assert not any(other < found for other in valid)


def test_required_and_forbidden_variables_are_respected_and_the_search_stays_complete():
    rng = np.random.default_rng(SEED + 1)
    found = 0
    for graph in sample_graphs(SEED + 1):
        query = single_queries(graph)[int(rng.integers(len(graph.names)))]
        rest = rest_of(graph, query)
        required, forbidden = rest[:1], rest[1:2]
        valid = [
            set(z)
            for z in subsets(rest)
            if set(required) <= set(z) and not set(forbidden) & set(z) and is_adjustment_set(graph, query, z)
        ]
        proof = minimal_adjustment(graph, query, required=required, forbidden=forbidden)
        assert (proof is not None) == bool(valid)
        if proof is not None:
            z = set(argument_of(proof).adjust_for)
            assert z in valid
            assert not any(other < z for other in valid)
            assert check(graph, query, proof).ok
            found += 1
    assert found > 20


def test_only_measured_columns_are_used():
    graph = Graph.of(directed=[("W", "T"), ("W", "Y"), ("T", "Y"), ("Z", "T"), ("W", "Z")])
    everything, without = Query.effect("T", "Y"), Query.effect("T", "Y", measured=["T", "Y", "Z"])
    assert minimal_adjustment(graph, everything) is not None
    assert minimal_adjustment(graph, without) is None
    stolen = Adjustment(acting=("T",), adjust_for=("W",))
    assert not proves(graph, without, stolen)


def test_the_cheapest_set_costs_what_the_best_of_all_subsets_costs():
    rng = np.random.default_rng(SEED + 2)
    for graph in sample_graphs(SEED + 2):
        costs = {name: float(rng.integers(0, 6)) for name in graph.names}
        for query in single_queries(graph)[:4]:
            valid = [z for z in subsets(rest_of(graph, query)) if is_adjustment_set(graph, query, z)]
            proof = cheapest_adjustment(graph, query, costs=costs)
            assert (proof is not None) == bool(valid)
            if proof is not None:
                z = getattr(argument_of(proof), "adjust_for", ())
                assert z in valid
                assert sum(costs[name] for name in z) == min(sum(costs[name] for name in other) for other in valid)
                assert check(graph, query, proof).ok


@pytest.mark.parametrize("cost", [-1.0, float("inf"), float("nan")])
def test_a_cost_that_is_no_cost_is_refused(cost):
    graph = Graph.of(directed=[("W", "T"), ("W", "Y"), ("T", "Y")])
    with pytest.raises(InputError):
        cheapest_adjustment(graph, Query.effect("T", "Y"), costs={"W": cost})


def linear_model(graph, rng):
    """Return total effects and the covariance of a random linear model whose bidirected edges are correlated errors."""
    n = len(graph.names)
    weights = np.zeros((n, n))
    for a, b in graph.directed:
        weights[graph.number(b), graph.number(a)] = rng.choice([-1, 1]) * rng.uniform(0.4, 1.2)
    errors = np.diag(rng.uniform(0.5, 1.5, n))
    for a, b in graph.bidirected:
        loading = np.zeros(n)
        loading[[graph.number(a), graph.number(b)]] = rng.choice([-1, 1], 2) * rng.uniform(0.5, 1.2, 2)
        errors += np.outer(loading, loading)
    total = np.linalg.inv(np.eye(n) - weights)
    return total, total @ errors @ total.T


def variance_of_adjusting(graph, query, z, cov):
    """Return the asymptotic variance of the regression coefficient: Var(y | t, z) / Var(t | z)."""
    t, y = graph.number(query.treatments[0]), graph.number(query.outcomes[0])
    z = [graph.number(name) for name in z]

    def left(i, given):
        if not given:
            return cov[i, i]
        return cov[i, i] - cov[i, given] @ np.linalg.solve(cov[np.ix_(given, given)], cov[given, i])

    return left(y, [t, *z]) / left(t, z)


def test_the_optimal_set_has_the_smallest_variance_of_all_valid_sets():
    rng = np.random.default_rng(SEED + 3)
    found = 0
    for graph in sample_graphs(SEED + 3):
        for query in single_queries(graph):
            proof = optimal_adjustment(graph, query)
            if proof is None or not isinstance(proof.argument, Adjustment):
                continue
            assert check(graph, query, proof).ok
            _, cov = linear_model(graph, rng)
            best = variance_of_adjusting(graph, query, argument_of(proof).adjust_for, cov)
            for z in subsets(rest_of(graph, query)):
                if is_adjustment_set(graph, query, z):
                    assert best <= variance_of_adjusting(graph, query, z, cov) * (1 + 1e-9)
            found += 1
    assert found > 100


def test_where_no_optimal_set_is_known_a_valid_minimal_one_is_given_and_not_called_optimal():
    found = {True: 0, False: 0}
    for graph in sample_graphs(SEED + 9):
        for query in single_queries(graph):
            best = optimal_adjustment(graph, query)
            chosen = precise_adjustment(graph, query)
            valid = [set(z) for z in subsets(rest_of(graph, query)) if is_adjustment_set(graph, query, z)]
            if chosen is None:
                assert not valid
                continue
            assert check(graph, query, chosen.proof).ok
            assert chosen.is_optimal == (best is not None)
            assert ("not claimed" in chosen.in_words) != chosen.is_optimal
            if isinstance(chosen.proof.argument, Adjustment) and not chosen.is_optimal:
                z = set(chosen.proof.argument.adjust_for)
                assert z in valid
                assert not any(other < z for other in valid)
                found[bool(z)] += 1
    assert min(found.values()) > 5


def test_the_latent_edge_at_a_causal_node_that_leaves_no_best_set():
    graph = Graph.of(directed=[("Z", "T"), ("Z", "Y"), ("T", "Y"), ("W", "Z")], bidirected=[("W", "Y")])
    chosen = precise_adjustment(graph, Query.effect("T", "Y"))
    assert chosen is not None
    assert optimal_adjustment(graph, Query.effect("T", "Y")) is None
    assert argument_of(chosen.proof).adjust_for == ("Z",)
    assert not chosen.is_optimal


def test_without_latents_an_optimal_set_exists_wherever_there_is_an_effect():
    rng = np.random.default_rng(SEED + 4)
    for _ in range(100):
        graph = random_graph(rng, 5)
        plain = Graph.of(nodes=graph.names, directed=graph.directed)
        assert all(optimal_adjustment(plain, query) is not None for query in single_queries(plain))


def test_a_front_door_set_exists_where_any_does_and_has_no_smaller_one_inside():
    found = 0
    for graph in sample_graphs(SEED + 5):
        for query in single_queries(graph):
            valid = [
                set(m)
                for m in subsets(rest_of(graph, query))
                if m and proves(graph, query, FrontDoor(acting=query.treatments, mediators=m))
            ]
            proof = minimal_front_door(graph, query)
            if getattr(identify(graph, query), "kind", "hedge") == "no_effect":
                assert proof is None
                continue
            assert (proof is not None) == bool(valid)
            if proof is None:
                continue
            m = set(argument_of(proof).mediators)
            assert check(graph, query, proof).ok
            assert m in valid
            assert not any(other < m for other in valid)
            found += 1
    assert found > 30


# ---- instruments ----


def conditional_covariance(cov, i, j, given):
    if not given:
        return cov[i, j]
    return cov[i, j] - cov[i, given] @ np.linalg.solve(cov[np.ix_(given, given)], cov[given, j])


def ratio(graph, argument, query, cov):
    z, t, y = (graph.number(n) for n in (argument.instrument, query.treatments[0], query.outcomes[0]))
    w = [graph.number(name) for name in argument.adjust_for]
    return conditional_covariance(cov, z, y, w) / conditional_covariance(cov, z, t, w)


@pytest.mark.parametrize("assumption", ["linear_effect", "monotonicity"])
def test_every_instrument_found_gives_the_total_effect_in_linear_models(assumption):
    rng = np.random.default_rng(SEED + 6)
    found = 0
    for graph in sample_graphs(SEED + 6):
        for query in single_queries(graph):
            for proof in find_instruments(graph, query, assumption=assumption):
                assert check(graph, query, proof).ok
                total, cov = linear_model(graph, rng)
                truth = total[graph.number(query.outcomes[0]), graph.number(query.treatments[0])]
                assert ratio(graph, proof.argument, query, cov) == pytest.approx(truth, abs=1e-6)
                found += 1
    assert found > 40


@pytest.mark.parametrize("assumption", ["linear_effect", "monotonicity"])
def test_an_instrument_is_found_for_every_effect_that_has_one(assumption):
    # One variable's own conditioning sets are hard to decide in general; that some instrument is found is complete.
    found = 0
    for graph in sample_graphs(SEED + 7):
        for query in single_queries(graph):
            rest = rest_of(graph, query)
            some = any(
                proves(graph, query, Instrument(instrument=z, adjust_for=w, assumption=assumption))
                for z in rest
                for w in subsets([name for name in rest if name != z])
            )
            assert bool(find_instruments(graph, query, assumption=assumption)) == some
            found += some
    assert found > 40


@pytest.mark.slow
@pytest.mark.parametrize("part", range(4))
def test_instruments_on_every_graph_of_four_nodes_are_valid_and_none_is_missed(part):
    rng = np.random.default_rng(SEED + 9)
    found = 0
    for graph in itertools.islice(all_graphs(4), part, None, 4):
        total, cov = linear_model(graph, rng)
        for query in single_queries(graph):
            rest = rest_of(graph, query)
            truth = total[graph.number(query.outcomes[0]), graph.number(query.treatments[0])]
            for assumption in ASSUMPTIONS:
                proofs = find_instruments(graph, query, assumption=assumption)
                for proof in proofs:
                    assert check(graph, query, proof).ok
                    assert ratio(graph, proof.argument, query, cov) == pytest.approx(truth, abs=1e-6)
                assert bool(proofs) == any(
                    proves(graph, query, Instrument(instrument=z, adjust_for=w, assumption=assumption))
                    for z in rest
                    for w in subsets([name for name in rest if name != z])
                )
                found += len(proofs)
    assert found > 500


def test_what_the_checker_refuses_as_an_instrument_gives_a_wrong_ratio():
    rng = np.random.default_rng(SEED + 8)
    refused = 0
    for graph in [*all_graphs(3), *(random_graph(rng, 4) for _ in range(60))]:
        for query in single_queries(graph):
            rest = rest_of(graph, query)
            for z in rest:
                for w in subsets([name for name in rest if name != z]):
                    argument = Instrument(instrument=z, adjust_for=w, assumption="linear_effect")
                    if proves(graph, query, argument):
                        continue
                    total, cov = linear_model(graph, rng)
                    truth = total[graph.number(query.outcomes[0]), graph.number(query.treatments[0])]
                    bottom = conditional_covariance(
                        cov, graph.number(z), graph.number(query.treatments[0]), [graph.number(n) for n in w]
                    )
                    if (
                        abs(truth) > 1e-9
                        and abs(bottom) > 1e-9
                        and abs(ratio(graph, argument, query, cov) - truth) > 1e-6
                    ):
                        refused += 1
    assert refused > 100
