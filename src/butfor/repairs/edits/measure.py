"""How large a repair is: a distance in its own kind, its hunks, and the published score beside it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

from butfor import canonical
from butfor.confidence import Undefined
from butfor.repairs.edits.actions import is_short, readable, short_form
from butfor.repairs.edits.hunks import Change, Hunk
from butfor.repairs.edits.syntax import tree_distance, tree_of
from butfor.repairs.edits.tokens import positional_score, token_distance

if TYPE_CHECKING:
    from collections.abc import Iterator

    from butfor.canonical import Json

Kind: TypeAlias = Literal["token", "ast", "json"]


@dataclass(frozen=True, kw_only=True)
class Edit:
    """The size of a change.

    Attributes:
        kind: What is counted: tokens of a text, nodes of a syntax tree, or JSON paths of arguments.
        distance: How many of them were inserted, deleted or changed; 0 only where the two actions decide the same.
        hunks: Places where they differ.
        positional: CausalFlow's minimality, in [0, 1]; None where there is no text to compare.
    """

    kind: Kind
    distance: int
    hunks: tuple[Hunk, ...]
    positional: float | None

    def to_json(self) -> dict[str, Any]:
        """Return plain JSON values."""
        return {
            "kind": self.kind,
            "distance": self.distance,
            "hunks": [each.to_json() for each in self.hunks],
            "positional": self.positional,
        }

    @classmethod
    def from_json(cls, document: dict[str, Any]) -> Edit:
        """Read what `to_json` gave."""
        return cls(**document | {"hunks": tuple(Hunk.from_json(each) for each in document["hunks"])})


def measure(factual: Json, repaired: Json) -> Edit:
    """Measure the change from one action to another."""
    change = Change(factual, repaired)
    kind, distance = _distance(change.factual, change.repaired)
    score = positional_score(readable(change.factual), readable(change.repaired))
    return Edit(
        kind=kind,
        distance=distance,
        hunks=change.hunks,
        positional=None if isinstance(score, Undefined) else score,
    )


def _distance(a: Json, b: Json) -> tuple[Kind, int]:
    if isinstance(a, str) and isinstance(b, str):
        left, right = tree_of(a), tree_of(b)
        nodes = None if left is None or right is None else tree_distance(left, right)
        return ("token", token_distance(a, b)) if nodes is None else ("ast", nodes)
    return "json", path_distance(a, b)


def path_distance(a: Json, b: Json) -> int:
    """Count the JSON paths whose value differs, or that one side does not have; a tool's name is a path too."""
    left, right = dict(_leaves(_listed(a), "$")), dict(_leaves(_listed(b), "$"))
    return sum(left.get(path) != right.get(path) for path in left.keys() | right.keys())


def _listed(action: Json) -> Json:
    """Compare single actions with lists of them part by part."""
    short = short_form(action)
    return [short] if is_short(short) and not isinstance(short, list) else short


def _leaves(value: Json, path: str) -> Iterator[tuple[str, str]]:
    if isinstance(value, dict) and value:
        for key, inner in value.items():
            yield from _leaves(inner, f"{path}.{key}")
    elif isinstance(value, list) and value:
        for position, inner in enumerate(value):
            yield from _leaves(inner, f"{path}[{position}]")
    else:
        yield path, canonical.canonical(value)
