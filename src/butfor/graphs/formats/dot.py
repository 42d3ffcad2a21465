"""The DOT language of Graphviz: ``digraph { U [role=latent]; T -> Y; T -> Y [dir=both] }``."""

from __future__ import annotations

import re
from itertools import pairwise
from typing import TYPE_CHECKING

from butfor.errors import InputError
from butfor.graphs.formats.body import read_body
from butfor.graphs.formats.tokens import Token, Tokens, attributes, quoted

if TYPE_CHECKING:
    from butfor.graphs.admg import Graph
    from butfor.graphs.draft import Draft

_PLAIN = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_KEYWORDS = ("graph", "digraph", "subgraph", "node", "edge", "strict")
_DIRECTIONS = ("forward", "back", "both")


def read_dot(text: str, *, source: str = "graph") -> Graph:
    """Read DOT. A latent edge is ``a -> b [dir=both]``; ``role=latent`` or ``observed=no`` makes a node latent.

    Raises:
        InputError: An undirected graph or edge, a subgraph, or anything that is not an ADMG.
    """
    tokens = Tokens(text, source=source)
    opening = tokens.name()
    if opening.text.lower() == "strict":
        opening = tokens.name()
    if opening.text.lower() != "digraph":
        raise InputError("the DOT graph is not directed", where=tokens.where(opening), fix="write digraph { … }")
    return read_body(tokens, _statement)


def _statement(tokens: Tokens, draft: Draft) -> None:
    first = tokens.next
    if tokens.stands("{") or (first.kind == "word" and first.text.lower() == "subgraph"):
        raise InputError("subgraphs are not read", where=tokens.where(first), fix="write each edge on its own")
    name = tokens.name()
    if tokens.take_mark("="):
        tokens.name()
    elif name.kind == "word" and name.text.lower() in {"graph", "node", "edge"}:
        _defaults(tokens, name)
    elif tokens.next.kind == "arrow":
        _edges(tokens, draft, name)
    else:
        _node(tokens, draft, name)


def _defaults(tokens: Tokens, word: Token) -> None:
    found = attributes(tokens)
    for key in ("dir", "role", "observed"):
        if key in found:
            raise InputError(
                f"a default {key} would change what edges and nodes mean",
                where=tokens.where(word),
                fix="state it on each",
            )


def _node(tokens: Tokens, draft: Draft, name: Token) -> None:
    if tokens.stands(":"):
        raise InputError("ports are not read", where=tokens.where(name), fix="leave the port out")
    found = attributes(tokens)
    role = found["role"].text if "role" in found else "state"
    for key in ("observed", "latent", "unobserved"):
        if key in found:
            hidden = found[key].text.lower() in {"no", "false", "0"} if key == "observed" else _is_yes(found[key])
            role = "latent" if hidden else role
    draft.node(name.text, role=role, where=tokens.where(name))


def _is_yes(value: Token) -> bool:
    return value.text.lower() in {"", "yes", "true", "1"}


def _edges(tokens: Tokens, draft: Draft, first: Token) -> None:
    """Read ``a -> b -> c [dir=…]``; the attributes belong to every edge of the chain."""
    chain = [first]
    while tokens.next.kind == "arrow":
        arrow = tokens.take()
        if arrow.text != "->":
            raise InputError(
                f"{arrow.text!r} is not an edge of a directed graph",
                where=tokens.where(arrow),
                fix="write -> and, for a latent edge, -> with [dir=both]",
            )
        chain.append(tokens.name())
    found = attributes(tokens)
    direction = found["dir"].text.lower() if "dir" in found else "forward"
    if direction not in _DIRECTIONS:
        raise InputError(f"dir={direction} gives no direction", where=tokens.where(found["dir"]), fix="use dir=both")
    for tail, head in pairwise(chain):
        where = tokens.where(head)
        if direction == "both":
            draft.latent_edge(tail.text, head.text, where=where)
        elif direction == "back":
            draft.arrow(head.text, tail.text, where=where)
        else:
            draft.arrow(tail.text, head.text, where=where)


def write_dot(graph: Graph) -> str:
    """Write DOT that `read_dot` reads back as an equal graph and Graphviz draws."""
    lines = ["digraph {"]
    for name, role in zip(graph.names, graph.roles, strict=True):
        lines.append(f"  {_quote(name)}" + ("" if role == "state" else f" [role={role}]") + ";")
    lines += [f"  {_quote(tail)} -> {_quote(head)};" for tail, head in graph.directed]
    lines += [f"  {_quote(one)} -> {_quote(other)} [dir=both, style=dashed];" for one, other in graph.bidirected]
    return "\n".join([*lines, "}"]) + "\n"


def _quote(name: str) -> str:
    return quoted(name, _PLAIN, _KEYWORDS)
