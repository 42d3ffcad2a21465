"""The testable implications: true, enough, none of them idle, and Verma's constraint where it is known to be."""

import itertools

import numpy as np
import pytest
from tests.property.latent_models import LatentModel, all_graphs, random_graph

from butfor.graphs import Graph, m_separated
from butfor.identification import implied_independences, verma_constraints


def statement(graph, independence):
    return (
        graph.mask((independence.variable,)),
        graph.mask(independence.others),
        graph.mask(independence.given),
    )


def submasks(mask):
    part = mask
    while part:
        yield part
        part = (part - 1) & mask


def closure(statements):
    """Close statements (A, B, C) under the semi-graphoid axioms: what follows whatever the distribution."""
    known: set[tuple[int, int, int]] = set()
    todo = [tuple(s) for s in statements]
    while todo:
        a, b, c = todo.pop()
        if (a, b, c) in known:
            continue
        known.add((a, b, c))
        todo.append((b, a, c))
        for part in submasks(b):  # decomposition and weak union
            todo += [(a, part, c), (a, part, c | b & ~part)] if part != b else []
        for part in submasks(a):
            todo += [(part, b, c), (part, b, c | a & ~part)] if part != a else []
        for x, y, z in list(known):  # contraction: A ⊥ B | C and A ⊥ D | B, C give A ⊥ B, D | C
            for (p, q, r), (s, t, u) in (((a, b, c), (x, y, z)), ((x, y, z), (a, b, c))):
                if p == s and u == q | r:
                    todo.append((p, q | t, r))
    return known


def separations(graph):
    for a, b in itertools.combinations(range(len(graph.names)), 2):
        rest = graph.all & ~(1 << a | 1 << b)
        for z in [*submasks(rest), 0]:
            if m_separated(graph, (graph.names[a],), (graph.names[b],), graph.names_of(z)):
                yield 1 << a, 1 << b, z


@pytest.mark.parametrize("part", range(2))
def test_the_basis_is_true_and_every_separation_follows_from_it(part):
    rng = np.random.default_rng(20261130)
    graphs = [*all_graphs(3), *(random_graph(rng, 4) for _ in range(300))]
    for graph in graphs[part::2]:
        implied = implied_independences(graph)
        assert implied.complete
        for each in implied.independences:
            assert m_separated(graph, (each.variable,), each.others, each.given)
        known = closure([statement(graph, each) for each in implied.independences])
        assert all(each in known for each in separations(graph))


def test_no_statement_of_the_basis_follows_from_the_others():
    rng = np.random.default_rng(20261130)
    for graph in [*all_graphs(3), *(random_graph(rng, 4) for _ in range(200))]:
        found = [statement(graph, each) for each in implied_independences(graph).independences]
        for each in found:
            rest = closure([other for other in found if other != each])
            assert each not in rest, (graph.to_json(), found)


def test_latents_are_projected_out_and_a_limit_says_so():
    graph = Graph.of(nodes={"U": "latent"}, directed=[("U", "A"), ("U", "B"), ("A", "C")])
    assert [str(each) for each in implied_independences(graph).independences] == ["C ⊥ B | A"]
    apart = Graph.of(nodes=[f"N{i}" for i in range(30)])
    assert not implied_independences(apart, limit=5).complete
    assert 0 < len(implied_independences(apart, limit=5).independences) <= 6
    assert implied_independences(apart).complete


def test_a_district_with_exponentially_many_parts_ends_at_the_limit():
    names = [f"N{i:02}" for i in range(40)]
    crowd = Graph.of(nodes=names, bidirected=list(itertools.combinations(names, 2)))
    implied = implied_independences(crowd)
    assert (implied.independences, implied.complete) == ((), False)


def test_the_verma_constraint_of_the_verma_graph_holds_in_every_model():
    graph = Graph.of(directed=[("T", "B"), ("B", "C"), ("C", "Y")], bidirected=[("B", "Y")])
    (constraint,) = verma_constraints(graph)
    assert (constraint.variable, constraint.district, constraint.summed, constraint.independent_of) == (
        "Y",
        ("B", "Y"),
        ("B",),
        ("T",),
    )
    joint = LatentModel(graph, np.random.default_rng(1)).doing()
    assert graph.names == ("T", "B", "C", "Y")

    def conditional(of, given):
        both = joint.sum(axis=tuple(i for i in range(1, 5) if i not in (*of, *given)), keepdims=True)
        return both / both.sum(axis=of, keepdims=True)

    value = (conditional((2,), (1,)) * conditional((4,), (1, 2, 3))).sum(axis=2)
    assert np.ptp(value, axis=1).max() < 1e-12
    assert np.ptp(conditional((4,), (1, 3)), axis=1).max() > 0.01


def test_graphs_without_latents_have_no_verma_constraint():
    rng = np.random.default_rng(3)
    for _ in range(100):
        graph = random_graph(rng, 5)
        assert verma_constraints(Graph.of(nodes=graph.names, directed=graph.directed)) == ()
