"""NetworkX: arrows in a DiGraph, latent edges in a Graph on the same nodes."""

from __future__ import annotations

from typing import TYPE_CHECKING

from butfor.errors import InputError, MissingExtra
from butfor.graphs.admg import Graph
from butfor.graphs.draft import Draft

if TYPE_CHECKING:
    import networkx as nx


def from_networkx(directed: nx.DiGraph[str], bidirected: nx.Graph[str] | None = None) -> Graph:
    """Read a DiGraph and, for the latent edges, a Graph; the node attribute ``role`` gives a role.

    Raises:
        InputError: The first graph is undirected, the second is directed, or together they are no ADMG.
    """
    if not directed.is_directed():
        raise InputError("the graph of arrows is undirected", fix="pass a networkx.DiGraph")
    if bidirected is not None and bidirected.is_directed():
        raise InputError("the graph of latent edges is directed", fix="pass a networkx.Graph")
    draft = Draft(declare_all=False)
    for name, data in directed.nodes(data=True):
        draft.node(name, role=str(data.get("role", "state")))
    for tail, head in directed.edges():
        draft.arrow(tail, head)
    for one, other in bidirected.edges() if bidirected is not None else ():
        draft.latent_edge(one, other)
    return Graph.built(draft)


def to_networkx(graph: Graph) -> tuple[nx.DiGraph[str], nx.Graph[str]]:
    """Return (arrows, latent edges), both on every node.

    Raises:
        MissingExtra: networkx is not installed.
    """
    try:
        import networkx as nx
    except ImportError:
        raise MissingExtra("networkx", extra="networkx", purpose="converting a graph to NetworkX") from None
    arrows: nx.DiGraph[str] = nx.DiGraph()
    latent: nx.Graph[str] = nx.Graph()
    for name, role in zip(graph.names, graph.roles, strict=True):
        arrows.add_node(name, role=role)
        latent.add_node(name, role=role)
    arrows.add_edges_from(graph.directed)
    latent.add_edges_from(graph.bidirected)
    return arrows, latent
