"""Latent projection: the graph over the measured variables that says the same about them."""

from __future__ import annotations

from butfor.graphs.admg import Graph
from butfor.graphs.draft import Draft
from butfor.graphs.parts import Edges, Role, bits


def latent_projection(graph: Graph, keep: tuple[str, ...] | None = None) -> Graph:
    """Return the graph over the nodes to keep (by default all that are not latent).

    m-separation among them, and every effect between them, is the same as in the graph that was given.

    Raises:
        butfor.errors.InputError: A node to keep is not in the graph.

    Reference:
        Verma, *Graphical aspects of causal models*, 1993; Richardson et al. 2023 for ADMGs.
    """
    kept = graph.measured if keep is None else graph.mask(keep)
    edges = project(graph.edges, graph.all & ~kept)
    draft = Draft(declare_all=True)
    for i in bits(kept):
        role: Role = "state" if graph.roles[i] == "latent" else graph.roles[i]
        draft.node(graph.names[i], role=role)
        for j in bits(edges.children[i] & kept):
            draft.arrow(graph.names[i], graph.names[j])
        for j in bits(edges.spouses[i] & kept & ~((1 << i) - 1)):
            draft.latent_edge(graph.names[i], graph.names[j])
    return Graph.built(draft)


def project(edges: Edges, latent: int) -> Edges:
    """Remove nodes one at a time, joining what they connected; numbers stay as they are."""
    if not latent:
        return edges
    parents, children, spouses = list(edges.parents), list(edges.children), list(edges.spouses)
    for i in bits(latent):
        gone = ~(1 << i)
        heads = children[i] | spouses[i]
        for child in bits(children[i]):
            parents[child] = (parents[child] | parents[i]) & gone
            spouses[child] = (spouses[child] | heads) & gone & ~(1 << child)
        for parent in bits(parents[i]):
            children[parent] = (children[parent] | children[i]) & gone
        for spouse in bits(spouses[i]):
            spouses[spouse] = (spouses[spouse] | children[i]) & gone & ~(1 << spouse)
        parents[i] = children[i] = spouses[i] = 0
    return Edges(parents, children, spouses)
