"""Formats, digests, m-separation and projection on random graphs, and arbitrary text given as a graph file."""

import contextlib
import itertools

import networkx as nx
import numpy as np
from hypothesis import example, given, settings
from hypothesis import strategies as st

from butfor.errors import InputError
from butfor.graphs import (
    Graph,
    ancestors,
    bits,
    descendants,
    district,
    from_networkx,
    latent_projection,
    m_separated,
    read,
    read_dagitty,
    read_dot,
    read_yaml,
    svg,
    to_networkx,
    write_dagitty,
    write_dot,
    write_json,
    write_yaml,
)
from tests.property.latent_models import all_graphs, random_graph
from tests.property.strategies import graph_files, graphs

WRITERS = ((write_dagitty, read_dagitty), (write_dot, read_dot), (write_yaml, read_yaml), (write_json, read_yaml))


@given(graphs())
def test_every_format_reads_back_what_it_wrote(graph):
    for write, read_back in WRITERS:
        assert read_back(write(graph)) == graph
        assert read(write(graph)) == graph
    assert from_networkx(*to_networkx(graph)) == graph


@given(graphs(), graphs())
def test_two_graphs_have_one_digest_only_if_they_are_equal(one, other):
    assert (one.digest == other.digest) == (one == other)


def test_every_change_of_one_node_role_or_edge_changes_the_digest():
    seen: dict[str, Graph] = {}
    for n in (1, 2, 3):
        for graph in all_graphs(n):
            for roles in itertools.product(("state", "treatment", "latent"), repeat=n):
                nodes = dict(zip(graph.names, roles, strict=True))
                same = Graph.of(nodes=nodes, directed=graph.directed, bidirected=graph.bidirected)
                assert seen.setdefault(same.digest, same) is same
    # Markov-equivalent chains, fork and their latent relatives are all told apart.
    assert len(seen) == sum((4 ** (n * (n - 1) // 2)) * 3**n for n in (1, 2, 3))


@given(graphs(), st.randoms())
def test_the_order_of_writing_does_not_matter(graph, random):
    nodes = list(zip(graph.names, graph.roles, strict=True))
    directed, bidirected = graph.directed, [(b, a) for a, b in graph.bidirected]
    for each in (nodes, directed, bidirected):
        random.shuffle(each)
    again = Graph.of(nodes=dict(nodes), directed=directed, bidirected=bidirected)
    assert (again, again.digest) == (graph, graph.digest)


@given(graphs())
def test_a_drawing_is_complete_and_repeatable(graph):
    picture = svg(graph)
    assert picture == svg(graph)
    assert picture.count("<circle") == len(graph.names)
    assert picture.count("<path d=") - 1 == len(graph.directed) + len(graph.bidirected)
    assert "<script" not in picture


# ---- whatever a user can write ----


@settings(max_examples=1500)
@given(graph_files())
@example("dag {")
@example("digraph { a -> ")
@example('dag { "a')
@example("nodes: &a [*a]\nedges: []")
@example("nodes: [a]\nedges: [a -> a]")
@example("{" * 3000)
@example("[" * 100_000)
@example("nodes: {a: {b: c}}")
@example("!!python/object/apply:os.system [ls]")
@example("dag { " + "{" * 2000)
@example("digraph { a -> b -> c -> a }")
@example("\ud800")
@example("\x00")
@example("graph { a -- b }")
@example("nodes: [1, no, ~, 1.5e3]\nedges: [1 -> no]")
def test_no_text_crashes_the_reader(text):
    try:
        graph = read(text, source="file")
    except InputError:
        return
    assert read(write_yaml(graph)) == graph


@settings(max_examples=300)
@given(graphs(), st.data())
def test_a_damaged_file_is_another_graph_or_a_clear_error(graph, data):
    write, _ = data.draw(st.sampled_from(WRITERS))
    text = write(graph)
    at = data.draw(st.integers(0, len(text)))
    end = data.draw(st.integers(at, min(at + 5, len(text))))
    damaged = text[:at] + data.draw(st.text(max_size=3)) + text[end:]
    with contextlib.suppress(InputError):
        graph = read(damaged, source="file")
        assert read(write_yaml(graph)) == graph


# ---- m-separation and kinship, against NetworkX and against the definition ----


def with_explicit_latents(graph):
    directed: nx.DiGraph[str] = nx.DiGraph(graph.directed)
    directed.add_nodes_from(graph.names)
    for k, (a, b) in enumerate(graph.bidirected):
        directed.add_edges_from([(f"latent {k}", a), (f"latent {k}", b)])
    return directed


def separations(graph):
    for a, b in itertools.combinations(graph.names, 2):
        rest = [name for name in graph.names if name not in (a, b)]
        for size in range(len(rest) + 1):
            for z in itertools.combinations(rest, size):
                yield a, b, z


def test_m_separation_agrees_with_d_separation_with_the_latents_drawn():
    rng = np.random.default_rng(20261130)
    graphs_ = [*all_graphs(3), *(random_graph(rng, n) for n in [4] * 150 + [5] * 60)]
    for graph in graphs_:
        directed = with_explicit_latents(graph)
        for a, b, z in separations(graph):
            assert m_separated(graph, (a,), (b,), z) == nx.is_d_separator(directed, {a}, {b}, set(z))


def test_kinship_agrees_with_networkx():
    rng = np.random.default_rng(20261130)
    for graph in [random_graph(rng, 6) for _ in range(200)]:
        arrows, latent = to_networkx(graph)
        for i, name in enumerate(graph.names):
            up, down = ancestors(graph.edges, 1 << i, graph.all), descendants(graph.edges, 1 << i, graph.all)
            assert set(graph.names_of(up)) == nx.ancestors(arrows, name) | {name}
            assert set(graph.names_of(down)) == nx.descendants(arrows, name) | {name}
            near = district(graph.edges, 1 << i, graph.all)
            assert set(graph.names_of(near)) == nx.node_connected_component(latent, name)


def test_projection_keeps_every_separation_and_every_ancestor():
    rng = np.random.default_rng(20261130)
    for _ in range(300):
        graph = random_graph(rng, 6)
        keep = tuple(name for name in graph.names if rng.random() < 0.6)
        projected = latent_projection(graph, keep)
        assert set(projected.names) == set(keep)
        for a, b, z in separations(projected):
            assert m_separated(projected, (a,), (b,), z) == m_separated(graph, (a,), (b,), z)
        for i, name in enumerate(projected.names):
            up = graph.names_of(ancestors(graph.edges, graph.mask((name,)), graph.all))
            assert set(projected.names_of(ancestors(projected.edges, 1 << i, projected.all))) == set(up) & set(keep)


def test_bits_counts_every_bit_once():
    assert list(bits(0b1011001)) == [0, 3, 4, 6]
    assert list(bits(0)) == []
