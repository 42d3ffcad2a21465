"""What a format writes, it reads back, names that look like punctuation included."""

import pytest

from butfor.graphs import Graph
from butfor.graphs.formats.dagitty import read_dagitty, write_dagitty
from butfor.graphs.formats.dot import read_dot, write_dot


@pytest.mark.parametrize(("write", "read"), [(write_dot, read_dot), (write_dagitty, read_dagitty)])
def test_a_name_that_looks_like_a_mark_is_a_name(write, read):
    graph = Graph.of(directed=[("{", ":"), (":", "}"), ("}", "->"), ("->", "subgraph"), ("subgraph", "dag")])
    assert read(write(graph)) == graph
