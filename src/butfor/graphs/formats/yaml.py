"""YAML and JSON: ``nodes``, ``edges`` as text (``T -> Y``), or ``directed`` and ``bidirected`` as pairs.

The document is read as a tree of marked nodes and never turned into objects, so aliases cannot expand, ``no`` stays a
name, and every error has a line.
"""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING

import yaml

from butfor.errors import InputError
from butfor.graphs.admg import SCHEMA, Graph
from butfor.graphs.draft import Draft

if TYPE_CHECKING:
    from collections.abc import Iterator


_KEYS = ("schema", "nodes", "edges", "directed", "bidirected")
# Keys that other tools and notes put beside the graph, and that say nothing about its structure.
_IGNORED = ("name", "title", "description", "comment")
_EDGE = re.compile(r"(?P<one>.+?)\s*(?P<kind><->|->|<-)\s*(?P<other>.+)")
# The C parser is 8 times faster; the marks are the same.
_Loader: type[yaml.SafeLoader] = getattr(yaml, "CSafeLoader", yaml.SafeLoader)


def read_yaml(text: str, *, source: str = "graph") -> Graph:
    """Read YAML or JSON.

    Raises:
        InputError: Not YAML, an unknown key, or anything that is not an ADMG; the line is named.
    """
    return _Reader(source).read(text)


class _Reader:
    def __init__(self, source: str) -> None:
        self.source = source
        self.draft = Draft(declare_all=True)

    def read(self, text: str) -> Graph:
        root = self._compose(text)
        if not isinstance(root, yaml.MappingNode):
            raise InputError(
                "this is not a graph",
                where=self.source,
                fix="write dag { … }, digraph { … } or YAML with nodes and edges",
            )
        keys: dict[str, yaml.Node] = {}
        for key, value in self._items(root):
            name = self._text(key)
            if name not in _KEYS and name not in _IGNORED:
                raise InputError(f"unknown key {name!r}", where=self._where(key), fix=f"use {', '.join(_KEYS)}")
            keys[name] = value
        self._schema(keys)
        self._nodes(keys.get("nodes"))
        for entry in self._list(keys.get("edges")):
            self._edge(entry)
        for entry in self._list(keys.get("directed")):
            one, other = self._two(entry)
            self.draft.arrow(one, other, where=self._where(entry))
        for entry in self._list(keys.get("bidirected")):
            one, other = self._two(entry)
            self.draft.latent_edge(one, other, where=self._where(entry))
        return Graph.built(self.draft)

    def _compose(self, text: str) -> yaml.Node | None:
        # A tab is white space in JSON and an error in YAML; in neither may one stand inside a name.
        try:
            return yaml.compose(text.replace("\t", "  ") if text.lstrip("\ufeff \t\r\n")[:1] == "{" else text, _Loader)
        except yaml.MarkedYAMLError as error:
            mark = error.problem_mark or error.context_mark
            # At the end of the text the C parser counts a line that is not there.
            place = f"{self.source}, line {min(mark.line, text.count(chr(10))) + 1}" if mark else self.source
            raise InputError(f"not readable as YAML or JSON ({error.problem or error.context})", where=place) from None
        except yaml.YAMLError as error:
            raise InputError(
                f"not readable as YAML or JSON ({str(error).splitlines()[0]})", where=self.source
            ) from None
        except RecursionError:
            raise InputError("the document is nested too deeply for a graph", where=self.source) from None
        except (ValueError, UnicodeError) as error:
            raise InputError(f"not readable as YAML or JSON ({error})", where=self.source) from None

    def _schema(self, keys: dict[str, yaml.Node]) -> None:
        if "schema" in keys and self._text(keys["schema"]) != SCHEMA:
            raise InputError(
                f"the schema is {self._text(keys['schema'])!r}", where=self._where(keys["schema"]), fix=f"use {SCHEMA}"
            )

    def _nodes(self, value: yaml.Node | None) -> None:
        if isinstance(value, yaml.MappingNode):
            for key, role in self._items(value):
                self.draft.node(self._text(key), role=self._text(role) or "state", where=self._where(key))
            return
        seen: dict[str, str] = {}
        for entry in self._list(value):
            name, kind = self._node_entry(entry)
            if name in seen:
                raise InputError(f"node {name!r} is there twice, first on {seen[name]}", where=self._where(entry))
            seen[name] = self._where(entry)
            self.draft.node(name, role=kind, where=self._where(entry))

    def _node_entry(self, entry: yaml.Node) -> tuple[str, str]:
        if not isinstance(entry, yaml.MappingNode):
            return self._text(entry), "state"
        found = {self._text(key): self._text(value) for key, value in self._items(entry)}
        if not set(found) <= {"name", "role"} or "name" not in found:
            raise InputError("a node is a name or {name, role}", where=self._where(entry))
        return found["name"], found.get("role", "state")

    def _edge(self, entry: yaml.Node) -> None:
        match = _EDGE.fullmatch(self._text(entry).strip())
        if match is None:
            raise InputError(
                f"{self._text(entry)[:60]!r} is not an edge", where=self._where(entry), fix="write T -> Y or T <-> Y"
            )
        one, kind, other = match["one"], match["kind"], match["other"]
        if kind == "<->":
            self.draft.latent_edge(one, other, where=self._where(entry))
        else:
            tail, head = (one, other) if kind == "->" else (other, one)
            self.draft.arrow(tail, head, where=self._where(entry))

    def _two(self, entry: yaml.Node) -> tuple[str, str]:
        names = [self._text(each) for each in self._list(entry)]
        if len(names) != 2:
            raise InputError("an edge has two ends", where=self._where(entry), fix="write [tail, head]")
        return names[0], names[1]

    def _items(self, node: yaml.MappingNode) -> Iterator[tuple[yaml.Node, yaml.Node]]:
        seen = set()
        for key, value in node.value:
            name = self._text(key)
            if name in seen:
                raise InputError(f"the key {name!r} is there twice", where=self._where(key), fix="keep one")
            seen.add(name)
            yield key, value

    def _list(self, node: yaml.Node | None) -> list[yaml.Node]:
        if node is None or (isinstance(node, yaml.ScalarNode) and node.tag == "tag:yaml.org,2002:null"):
            return []
        if not isinstance(node, yaml.SequenceNode):
            raise InputError("expected a list", where=self._where(node))
        return list(node.value)

    def _text(self, node: yaml.Node) -> str:
        if not isinstance(node, yaml.ScalarNode):
            raise InputError("expected text", where=self._where(node))
        return str(node.value)

    def _where(self, node: yaml.Node) -> str:
        return f"{self.source}, line {node.start_mark.line + 1}"


def write_json(graph: Graph) -> str:
    """Write the canonical form as indented JSON that `read_yaml` reads back as an equal graph."""
    return json.dumps(graph.to_json(), indent=2, ensure_ascii=False) + "\n"


def write_yaml(graph: Graph) -> str:
    """Write YAML that `read_yaml` reads back as an equal graph."""
    document = graph.to_json()
    text: str = yaml.safe_dump(document, sort_keys=False, allow_unicode=True, default_flow_style=None, width=120)
    return text
