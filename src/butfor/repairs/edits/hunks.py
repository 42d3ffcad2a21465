"""A change as independent hunks, any subset of which can be applied."""

from __future__ import annotations

from dataclasses import dataclass
from difflib import SequenceMatcher
from typing import TYPE_CHECKING, Any

from butfor import canonical
from butfor.repairs.edits.actions import is_call, short_form
from butfor.repairs.edits.alignment import align
from butfor.repairs.edits.tokens import tokens

if TYPE_CHECKING:
    from collections.abc import Callable, Collection

    from butfor.canonical import Json

# Two texts that share less than this are replaced whole: hunks of unrelated texts are no edits of one by the other.
LEAST_ALIKE = 0.3


@dataclass(frozen=True, kw_only=True)
class Hunk:
    """One place where two actions differ.

    Attributes:
        path: JSON path of the value; ``$`` is the whole action.
        before: What stood there; `ABSENT` where nothing did.
        after: What stands there now.
        where: Position of the first token within a text; None for a whole value.
    """

    path: str
    before: Json
    after: Json
    where: int | None = None

    def to_json(self) -> dict[str, Any]:
        """Return plain JSON values."""
        return {"path": self.path, "before": self.before, "after": self.after, "where": self.where}

    @classmethod
    def from_json(cls, document: dict[str, Any]) -> Hunk:
        """Read what `to_json` gave."""
        return cls(**document)


ABSENT = {"absent": True}
"""Stands in a hunk for a key or element that one side does not have."""

_NOTHING = object()


class Change:
    """From one action to another.

    Args:
        factual: The recorded action; it is compared in short form.
        repaired: The new one.
    """

    def __init__(self, factual: Json, repaired: Json) -> None:
        self.factual, self.repaired = short_form(factual), short_form(repaired)
        found: list[Hunk] = []

        def note(hunk: Hunk) -> bool:
            found.append(hunk)
            return True

        _merged(self.factual, self.repaired, "$", note)
        self.hunks = tuple(found)

    def apply(self, kept: Collection[int]) -> Json:
        """Return the factual action with only these hunks changed.

        Args:
            kept: Positions in `hunks`; all of them give the repaired action, none the factual one.
        """
        position = -1

        def take(hunk: Hunk) -> bool:
            del hunk
            nonlocal position
            position += 1
            return position in kept

        return _merged(self.factual, self.repaired, "$", take)


def _merged(a: Any, b: Any, path: str, take: Callable[[Hunk], bool]) -> Any:
    """Walk both values in one order; each difference is offered to `take`, which says whether it is applied."""
    if a is not _NOTHING and b is not _NOTHING and canonical.canonical(a) == canonical.canonical(b):
        return a
    if isinstance(a, str) and isinstance(b, str):
        return _text(a, b, path, take)
    # Another tool takes other arguments: such a call changes as a whole.
    another_tool = is_call(a) and is_call(b) and a["tool"] != b["tool"]
    if isinstance(a, dict) and isinstance(b, dict) and not another_tool:
        keys = [*a, *(key for key in b if key not in a)]
        merged = {key: _merged(a.get(key, _NOTHING), b.get(key, _NOTHING), f"{path}.{key}", take) for key in keys}
        return {key: value for key, value in merged.items() if value is not _NOTHING}
    if isinstance(a, list) and isinstance(b, list):
        return _elements(a, b, path, take)
    return b if take(Hunk(path=path, before=_shown(a), after=_shown(b))) else a


def _text(a: str, b: str, path: str, take: Callable[[Hunk], bool]) -> str:
    left, right = tokens(a), tokens(b)
    if SequenceMatcher(None, left, right, autojunk=False).ratio() < LEAST_ALIKE:
        return b if take(Hunk(path=path, before=a, after=b)) else a
    parts: list[str] = []
    for same, i, j, x, y in align(left, right):
        before, after = "".join(left[i:j]), "".join(right[x:y])
        if same:
            parts.append(before)
        else:
            parts.append(after if take(Hunk(path=path, before=before, after=after, where=i)) else before)
    return "".join(parts)


def _elements(a: list[Any], b: list[Any], path: str, take: Callable[[Hunk], bool]) -> list[Any]:
    matcher = SequenceMatcher(None, [canonical.canonical(x) for x in a], [canonical.canonical(x) for x in b], False)
    merged: list[Any] = []
    for tag, i, j, x, y in matcher.get_opcodes():
        if tag == "equal":
            merged += a[i:j]
            continue
        longest = max(j - i, y - x)
        for k in range(longest):
            before = a[i + k] if i + k < j else _NOTHING
            after = b[x + k] if x + k < y else _NOTHING
            merged.append(_merged(before, after, f"{path}[{i + k}]", take))
    return [each for each in merged if each is not _NOTHING]


def _shown(value: Any) -> Json:
    return dict(ABSENT) if value is _NOTHING else value
