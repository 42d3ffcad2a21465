"""Code as a tree: how many nodes were inserted, deleted or renamed (Zhang and Shasha 1989)."""

from __future__ import annotations

import ast
from dataclasses import dataclass, field

from butfor.repairs.edits.actions import without_fence

LARGEST = 400
"""Nodes of a tree, beyond which its distance takes too long (400 against 400 nodes: about 2 s)."""


@dataclass(kw_only=True)
class Node:
    """A node with its label and its children in order."""

    label: str
    children: list[Node] = field(default_factory=list)


def tree_of(text: str) -> Node | None:
    """Parse Python code; None for text that is no code: it does not parse, or says nothing but a name or a value."""
    code = without_fence(text)
    try:
        tree = ast.parse(code)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None
    does_something = any(not isinstance(each, ast.Expr) or isinstance(each.value, ast.Call) for each in tree.body)
    return _node(tree) if does_something else None


def tree_distance(a: Node, b: Node) -> int | None:
    """Return the least number of nodes inserted, deleted or renamed; None for trees of more than LARGEST nodes."""
    left, right = _Flat(a), _Flat(b)
    if max(len(left.labels), len(right.labels)) > LARGEST:
        return None
    table = [[0] * len(right.labels) for _ in left.labels]
    for i in left.keyroots:
        for j in right.keyroots:
            _fill(left, right, i, j, table)
    return table[-1][-1]


class _Flat:
    """A tree in postorder: labels, each node's leftmost leaf, and the keyroots."""

    def __init__(self, root: Node) -> None:
        self.labels: list[str] = []
        self.leftmost: list[int] = []
        self._visit(root)
        last = {leaf: position for position, leaf in enumerate(self.leftmost)}
        self.keyroots = sorted(last.values())

    def _visit(self, node: Node) -> int:
        first = None
        for child in node.children:
            leaf = self._visit(child)
            first = leaf if first is None else first
        self.labels.append(node.label)
        self.leftmost.append(len(self.labels) - 1 if first is None else first)
        return self.leftmost[-1]


def _fill(left: _Flat, right: _Flat, i: int, j: int, table: list[list[int]]) -> None:
    """Fill the distances of all subtrees under the keyroots i and j."""
    a, b = left.leftmost[i], right.leftmost[j]
    forest = [[0] * (j - b + 2) for _ in range(i - a + 2)]
    for x in range(1, i - a + 2):
        forest[x][0] = forest[x - 1][0] + 1
    for y in range(1, j - b + 2):
        forest[0][y] = forest[0][y - 1] + 1
    for x in range(1, i - a + 2):
        for y in range(1, j - b + 2):
            u, v = a + x - 1, b + y - 1
            least = min(forest[x - 1][y], forest[x][y - 1]) + 1
            if left.leftmost[u] == a and right.leftmost[v] == b:
                forest[x][y] = min(least, forest[x - 1][y - 1] + (left.labels[u] != right.labels[v]))
                table[u][v] = forest[x][y]
            else:
                forest[x][y] = min(least, forest[left.leftmost[u] - a][right.leftmost[v] - b] + table[u][v])


def _node(tree: ast.AST) -> Node:
    plain = [value for _, value in ast.iter_fields(tree) if isinstance(value, str | int | float | complex | bytes)]
    label = " ".join([type(tree).__name__, *map(repr, plain)])
    # Load and Store follow from where a name stands.
    children = [_node(each) for each in ast.iter_child_nodes(tree) if not isinstance(each, ast.expr_context)]
    return Node(label=label, children=children)
