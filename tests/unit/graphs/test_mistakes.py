"""Every mistake in a graph file is named, with its line and what to do."""

from itertools import pairwise

import pytest

from butfor.errors import InputError, NotFound
from butfor.graphs import Graph, read, read_file

MISTAKES = [
    ("dag {\n a -> b\n b -> c\n c -> a\n}", "cycle: a -> b -> c -> a", "line 4"),
    ("digraph {\n a -> b;\n b -> a;\n}", "cycle: a -> b -> a", "line 3"),
    ("dag { a -> b\n a -> a }", "self-loop", "line 2"),
    ("dag { a <-> a }", "self-loop", "line 1"),
    ("dag {\na -> b\nb -> c\na -> b\n}", "twice, first on file, line 2", "line 4"),
    ("dag { a <-> b\n b <-> a }", "twice", "line 2"),
    ("digraph {\n a -> b [dir=both]\n b -> a [dir=both]\n}", "twice", "line 3"),
    ("nodes: [a, b]\nedges:\n - a -> b\n - a -> c\n", "unknown node 'c'", "line 4"),
    ('{"nodes": ["a"],\n "directed": [["a", "b"]]}', "unknown node 'b'", "line 2"),
    ("nodes: [a, a]", "'a' is there twice", "line 1"),
    ("nodes:\n  a: treatment\n  a: outcome\n", "'a' is there twice", "line 3"),
    ("nodes:\n  - {name: a, role: boss}\n", "unknown role 'boss'", "line 2"),
    ("dag {\n a [exposure, outcome]\n}", "two roles", "line 2"),
    ("dag { a [exposure]\n a [outcome] }", "declared as treatment and as outcome", "line 2"),
    ("dag { a [selected] }", "selection", "line 1"),
    ("dag { a -- b }", "not -> or <->", "line 1"),
    ("pdag { a -> b }", "'pdag'", "line 1"),
    ("graph { a -- b }", "not directed", "line 1"),
    ("digraph {\n a -- b }", "'--' is not an edge", "line 2"),
    ("digraph {\n subgraph x { a -> b } }", "subgraphs", "line 2"),
    ("digraph { edge [dir=both]\n a -> b }", "default dir", "line 1"),
    ("digraph { a -> b [dir=none] }", "no direction", "line 1"),
    ("dag { a ->", "expected a name, found the end", "line 1"),
    ('dag { "a\n" -> b }', "unexpected character", "line 1"),
    ("nodes: [a]\nedgs: []", "unknown key 'edgs'", "line 2"),
    ("nodes: [a, b]\nedges: [a b]", "is not an edge", "line 2"),
    ("nodes: [a, b]\ndirected: [[a]]", "two ends", "line 2"),
    ("nodes: {a: [", "not readable", "line 1"),
    ("schema: other/9\nnodes: []", "other/9", "line 1"),
    ("just a sentence", "not a graph", "file"),
    ("nodes: [a]\nnodes: [b]", "'nodes' is there twice", "line 2"),
]


@pytest.mark.parametrize(("text", "what", "where"), MISTAKES)
def test_a_mistake_is_named_with_its_line(text, what, where):
    with pytest.raises(InputError) as caught:
        read(text, source="file")
    assert what in str(caught.value)
    assert where in str(caught.value)


@pytest.mark.parametrize("name", ["", " a", "a\n", 'a"', "a\\b", "e\u0301", "\ud800", "a" * 201, 7, None])
def test_a_name_that_some_format_could_not_carry_is_refused(name):
    with pytest.raises(InputError):
        Graph.of(nodes=[name])


def test_a_missing_file_and_a_file_of_bytes_are_named(tmp_path):
    with pytest.raises(NotFound):
        read_file(tmp_path / "nothing.yaml")
    (tmp_path / "bytes").write_bytes(b"\xff\xfe\x00")
    with pytest.raises(InputError, match="not UTF-8"):
        read_file(tmp_path / "bytes")
    with pytest.raises(InputError):
        read_file(tmp_path)


def test_names_that_yaml_would_turn_into_other_things_stay_names():
    graph = read("nodes: [no, 1, 1.0, null, 2020-01-01]\nedges: [no -> 1, 1 -> 1.0]")
    assert set(graph.names) == {"no", "1", "1.0", "null", "2020-01-01"}


def test_the_dialects_people_write_are_read():
    expected = Graph.of(
        nodes={"T": "treatment", "Y": "outcome", "U": "latent"}, directed=[("T", "Y"), ("U", "T"), ("U", "Y")]
    )
    assert read('dag { T [exposure,pos="0,1"]; Y [o]; U [latent]\n bb="0,0,1,1"\n U -> {T Y} T -> Y }') == expected
    assert read('dag g { Y [outcome] T [e] U [u] Y <- U -> T -> Y [pos="1,2"] }') == expected
    dot = 'strict digraph "g" { rankdir=LR; node [shape=box]; T [role=treatment]; Y [role=outcome] U [observed="no"];'
    assert read(dot + " /* both */ U -> T -> Y; U -> Y // end\n }") == expected
    assert read("# note\nnodes: {T: treatment, Y: outcome, U: latent}\nedges: [T -> Y, T <- U, U -> Y]") == expected


def test_a_graph_of_five_thousand_nodes_in_a_row_is_read():
    names = [f"n{i}" for i in range(5000)]
    graph = read("dag { " + " -> ".join(names) + " }")
    assert graph.names == tuple(names)


def test_a_cycle_of_many_nodes_is_found_at_once_and_named_briefly():
    names = [f"n{i}" for i in range(20_000)]
    with pytest.raises(InputError) as caught:
        Graph.of(directed=[*pairwise(names), (names[-1], names[0])])
    assert "…" in str(caught.value)
    assert len(str(caught.value)) < 400
