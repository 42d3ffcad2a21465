r"""The text language of dagitty: ``dag { T [exposure] Y [outcome] T -> Y T <-> Y }``."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from butfor.errors import InputError
from butfor.graphs.formats.body import read_body
from butfor.graphs.formats.tokens import Token, Tokens, attributes, quoted

if TYPE_CHECKING:
    from butfor.graphs.admg import Graph
    from butfor.graphs.draft import Draft
    from butfor.graphs.parts import Role

_ROLES: dict[str, Role] = {
    **dict.fromkeys(["exposure", "e", "source"], "treatment"),
    **dict.fromkeys(["outcome", "o", "target"], "outcome"),
    **dict.fromkeys(["adjusted", "adjustednode", "a"], "adjusted"),
    **dict.fromkeys(["latent", "unobserved", "l", "u"], "latent"),
}
_WORDS = {"treatment": "exposure", "outcome": "outcome", "adjusted": "adjusted", "latent": "latent"}
_PLAIN = re.compile(r"[A-Za-z_][A-Za-z0-9_.]*")
_KINDS = ("dag", "mag", "pdag", "pag", "graph", "digraph")


def read_dagitty(text: str, *, source: str = "graph") -> Graph:
    """Read dagitty text.

    Raises:
        InputError: Not a ``dag``, a selection node, an undirected edge, or anything that is not an ADMG.
    """
    tokens = Tokens(text, source=source)
    opening = tokens.name()
    if opening.text.lower() != "dag":
        raise InputError(
            f"a {opening.text!r} is not a causal graph of one reading",
            where=tokens.where(opening),
            fix="write dag { … } with -> and <-> edges",
        )
    return read_body(tokens, _statement)


def _statement(tokens: Tokens, draft: Draft) -> None:
    if tokens.next.kind == "word" and tokens.next.text == "bb":
        word = tokens.take()
        if tokens.take_mark("="):
            tokens.name()
            return
        tails = [word]
    else:
        tails = _group(tokens)
    if tokens.next.kind != "arrow":
        _node(tokens, draft, tails)
        return
    while tokens.next.kind == "arrow":
        arrow = tokens.take()
        heads = _group(tokens)
        attributes(tokens)
        for tail in tails:
            for head in heads:
                _edge(tokens, draft, arrow, tail.text, head.text)
        tails = heads


def _group(tokens: Tokens) -> list[Token]:
    """Read one name, or names in braces."""
    if not tokens.take_mark("{"):
        return [tokens.name()]
    names = []
    while not tokens.take_mark("}"):
        if not tokens.take_mark(",", ";"):
            names.append(tokens.name())
    return names


def _node(tokens: Tokens, draft: Draft, names: list[Token]) -> None:
    found = attributes(tokens)
    for word in ("selected", "s"):
        if word in found:
            raise InputError(
                "selection nodes are not supported",
                where=tokens.where(found[word]),
                fix="model the selected population",
            )
    roles = [_ROLES[word] for word in found if word in _ROLES]
    if len(set(roles)) > 1:
        raise InputError(
            f"node {names[0].text!r} has two roles, {' and '.join(roles)}", where=tokens.where(names[0]), fix="keep one"
        )
    for name in names:
        draft.node(name.text, role=roles[0] if roles else "state", where=tokens.where(name))


def _edge(tokens: Tokens, draft: Draft, arrow: Token, tail: str, head: str) -> None:
    where = tokens.where(arrow)
    if arrow.text == "->":
        draft.arrow(tail, head, where=where)
    elif arrow.text == "<-":
        draft.arrow(head, tail, where=where)
    elif arrow.text == "<->":
        draft.latent_edge(tail, head, where=where)
    else:
        raise InputError(
            f"the edge {tail} {arrow.text} {head} is not -> or <->", where=where, fix="give it a direction"
        )


def write_dagitty(graph: Graph) -> str:
    """Write dagitty text that `read_dagitty` reads back as an equal graph."""
    lines = ["dag {"]
    for name, role in zip(graph.names, graph.roles, strict=True):
        lines.append(_quote(name) + (f" [{_WORDS[role]}]" if role in _WORDS else ""))
    lines += [f"{_quote(tail)} -> {_quote(head)}" for tail, head in graph.directed]
    lines += [f"{_quote(one)} <-> {_quote(other)}" for one, other in graph.bidirected]
    return "\n".join([*lines, "}"]) + "\n"


def _quote(name: str) -> str:
    return quoted(name, _PLAIN, (*_KINDS, "bb"))
