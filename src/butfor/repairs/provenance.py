"""Which step's values a later step used: dependency edges from observed data flow, and declared edges held to them.

A value flows from step i to step j where it first appeared in what step i decided or was told, and stands again in
what step j decided. What the task said already flows from the task and makes no edge. A declared edge along which no
value flows may still be true (a decision can depend on what it does not repeat); the check says what was seen, not
more.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from butfor import canonical
from butfor.runs import Dependency, Observation, PartRef, Text, ToolCall

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from butfor.canonical import Json
    from butfor.runs import Run
    from butfor.runs.parts import Part

LEAST_DIGITS = 2
"""Numbers of fewer digits stand everywhere by chance, and so do words of fewer letters than LEAST_LETTERS."""
LEAST_LETTERS = 4

_NUMBER = re.compile(r"(?<![\w.])-?\d+(?:[.,]\d+)*(?![\w])")
_CODE = re.compile(r"\b(?=\w*\d)(?=\w*[A-Za-z])[\w-]{3,}\b")


def flows_of(run: Run, *, least_digits: int = LEAST_DIGITS) -> tuple[Dependency, ...]:
    """Return one edge for each pair of steps between which a value flows, naming the first value that was seen to.

    Guarantee: heuristic. Values are numbers, codes with digits in them, and whole short texts of structured results; a
    value that two steps found independently makes an edge although none caused the other's.

    Args:
        run: The run; nothing but its parts and its task are looked at.
        least_digits: Digits from which on a number counts.
    """
    known = set(_values(run.task.get(), least_digits))
    made: dict[str, PartRef] = {}
    edges: dict[tuple[int, int], Dependency] = {}
    for step in run.steps:
        parts = list(enumerate(step.parts))
        for position, part in parts:
            if not isinstance(part, Observation):
                for value in sorted(_used(part, made, least_digits), key=lambda each: (-len(each), each)):
                    source = made[value]
                    if source.step < step.index:
                        edges.setdefault(
                            (source.step, step.index),
                            Dependency(
                                source=source,
                                target=PartRef(step=step.index, part=position),
                                origin="inferred",
                                reason=f"the value {value}",
                            ),
                        )
        for position, part in parts:
            for value in _values(_content(part), least_digits):
                if value not in known:
                    known.add(value)
                    made[value] = PartRef(step=step.index, part=position)
    return tuple(edges[pair] for pair in sorted(edges))


@dataclass(frozen=True, kw_only=True)
class DeclaredCheck:
    """Declared edges held against the data flow, as (from step, to step).

    Attributes:
        seen: Declared, and a value flows.
        unseen: Declared, and no value was seen to flow, not even through steps in between.
        undeclared: A value flows that no declared edge, or chain of them, accounts for.
    """

    seen: tuple[tuple[int, int], ...]
    unseen: tuple[tuple[int, int], ...]
    undeclared: tuple[tuple[int, int], ...]

    @property
    def sentence(self) -> str:
        """The check in words."""
        if not self.unseen and not self.undeclared:
            return "Every declared dependency carries a value, and every value that flows is declared."
        said = []
        if self.unseen:
            said.append(f"no value was seen to flow along {_listed(self.unseen)}")
        if self.undeclared:
            said.append(f"values flow along {_listed(self.undeclared)}, which is not declared")
        return "Declared dependencies are not the data flow: " + "; ".join(said) + "."

    def to_json(self) -> dict[str, Any]:
        """Return plain JSON values."""
        names = ("seen", "unseen", "undeclared")
        return {name: [list(pair) for pair in getattr(self, name)] for name in names} | {"sentence": self.sentence}


def check_declared(run: Run, *, least_digits: int = LEAST_DIGITS) -> DeclaredCheck | None:
    """Hold the edges that a run's source declared against the data flow; None where it declared none."""
    declared = {(each.source.step, each.target.step) for each in run.dependencies if each.origin == "recorded"}
    if not declared:
        return None
    flowing = {(each.source.step, each.target.step) for each in flows_of(run, least_digits=least_digits)}
    through, stated = _closure(flowing), _closure(declared)
    return DeclaredCheck(
        seen=tuple(sorted(declared & through)),
        unseen=tuple(sorted(declared - through)),
        undeclared=tuple(sorted(flowing - stated)),
    )


def downstream(edges: Iterable[Dependency], step: int) -> tuple[int, ...]:
    """Name the steps that values of a step reach, directly or through others."""
    pairs = _closure({(each.source.step, each.target.step) for each in edges})
    return tuple(sorted(target for source, target in pairs if source == step))


def _closure(pairs: set[tuple[int, int]]) -> set[tuple[int, int]]:
    found = set(pairs)
    while True:
        more = {(a, d) for a, b in found for c, d in found if b == c} - found
        if not more:
            return found
        found |= more


def _used(part: Part, made: dict[str, PartRef], least_digits: int) -> set[str]:
    """Name the values made earlier that stand in a part."""
    content = _content(part)
    found = set(_values(content, least_digits)) & made.keys()
    text = _plain(content)
    words = {
        value for value in made if not value[:1].isdigit() and re.search(rf"(?<!\w){re.escape(value)}(?!\w)", text)
    }
    return found | words


def _content(part: Part) -> Json:
    match part:
        case ToolCall():
            return part.arguments.get()
        case Observation() | Text():
            return part.content.get()


def _values(value: Json, least_digits: int) -> Iterator[str]:
    """Yield the values that are told apart: numbers, codes, and whole short texts in structured content."""
    if isinstance(value, dict):
        for inner in value.values():
            yield from _leaf(inner, least_digits)
    elif isinstance(value, list | tuple):
        for inner in value:
            yield from _leaf(inner, least_digits)
    elif isinstance(value, str) and value[:1] in ("{", "["):
        try:
            yield from _values(canonical.decode(value), least_digits)
        except ValueError:
            yield from _in_text(value, least_digits)
    elif isinstance(value, str):
        yield from _in_text(value, least_digits)
    elif isinstance(value, int | float) and not isinstance(value, bool):
        yield from _in_text(repr(value), least_digits)


def _leaf(value: Json, least_digits: int) -> Iterator[str]:
    if isinstance(value, str) and LEAST_LETTERS <= len(value) <= 64 and not _NUMBER.fullmatch(value):
        yield value
    yield from _values(value, least_digits)


def _in_text(text: str, least_digits: int) -> Iterator[str]:
    for number in _NUMBER.findall(text):
        if sum(char.isdigit() for char in number) >= least_digits:
            yield _number(number)
    yield from _CODE.findall(text)


def _number(text: str) -> str:
    """Write a number in one way: 1,000 and 1000.0 are 1000."""
    plain = text.replace(",", "")
    try:
        value = float(plain)
    except ValueError:
        return plain
    return str(int(value)) if value.is_integer() and abs(value) < 1e15 else repr(value)


def _plain(content: Json) -> str:
    return content if isinstance(content, str) else canonical.encode(content)


def _listed(pairs: tuple[tuple[int, int], ...]) -> str:
    shown = ", ".join(f"{a} → {b}" for a, b in pairs[:4])
    return shown if len(pairs) <= 4 else f"{shown} and {len(pairs) - 4} more"
