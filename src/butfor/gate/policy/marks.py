"""YAML as plain values that remember where they stand."""

from __future__ import annotations

import dataclasses
import math
from typing import TYPE_CHECKING, Any, TypeAlias

import yaml

from butfor.errors import InputError

if TYPE_CHECKING:
    from butfor.canonical import Json

Path: TypeAlias = tuple[str | int, ...]
# The C parser is 8 times faster; the marks are the same.
_Loader: type[yaml.SafeLoader] = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
MOST_DEEP = 40


@dataclasses.dataclass(frozen=True, kw_only=True)
class Mark:
    """A place in a file, both counted from 1."""

    line: int
    column: int


@dataclasses.dataclass(frozen=True, kw_only=True)
class Mistake:
    """One mistake in a policy file.

    Attributes:
        line: Line, from 1.
        column: Column, from 1.
        sentence: What is wrong and what to do, in one sentence.
    """

    line: int
    column: int
    sentence: str

    def __str__(self) -> str:
        return f"line {self.line}, column {self.column}: {self.sentence}"


@dataclasses.dataclass(frozen=True, kw_only=True)
class Marked:
    """A document.

    Attributes:
        value: Its plain value.
        marks: Where each value stands; a key's place for a value in a mapping.
        mistakes: What cannot be: a key twice, an alias, a tag, a NaN.
    """

    value: Json
    marks: dict[Path, Mark]
    mistakes: tuple[Mistake, ...]

    def at(self, path: Path) -> Mark:
        """Return the place of a value, or of the nearest thing around it that stands anywhere."""
        while path and path not in self.marks:
            path = path[:-1]
        return self.marks.get(path, Mark(line=1, column=1))


def read_marked(text: str) -> Marked:
    """Read YAML; whatever cannot be in a policy becomes a mistake with its place."""
    try:
        root = yaml.compose(text, _Loader)
    except yaml.MarkedYAMLError as error:
        place = error.problem_mark or error.context_mark
        line = min(place.line, text.count("\n")) + 1 if place else 1
        words = f"this is not YAML: {error.problem or error.context}"
        return _broken(Mistake(line=line, column=place.column + 1 if place else 1, sentence=words))
    except (yaml.YAMLError, RecursionError, ValueError) as error:
        words = str(error).splitlines()[0] if str(error) else "nested too deeply"
        return _broken(Mistake(line=1, column=1, sentence=f"this is not YAML: {words}"))
    if root is None:
        return _broken(Mistake(line=1, column=1, sentence="the file is empty: `butfor gate init` writes a start"))
    reader = _Reader()
    value = reader.value(root, ())
    return Marked(value=value, marks=reader.marks, mistakes=tuple(reader.mistakes))


def _broken(mistake: Mistake) -> Marked:
    return Marked(value=None, marks={}, mistakes=(mistake,))


class _Reader:
    """Turns nodes into values, without ever building an object that a tag names or expanding an alias."""

    def __init__(self) -> None:
        self.marks: dict[Path, Mark] = {}
        self.mistakes: list[Mistake] = []
        self._seen: set[int] = set()
        self._scalars: Any = yaml.constructor.SafeConstructor()

    def value(self, node: yaml.Node, path: Path) -> Any:
        self.marks.setdefault(path, _mark(node))
        if id(node) in self._seen:
            return self._wrong(node, "an alias stands here: write the value out")
        if len(path) > MOST_DEEP:
            return self._wrong(node, f"nested more than {MOST_DEEP} deep")
        self._seen.add(id(node))
        if isinstance(node, yaml.MappingNode):
            return self._mapping(node, path)
        if isinstance(node, yaml.SequenceNode):
            return [self.value(each, (*path, i)) for i, each in enumerate(node.value)]
        return self._scalar(node)

    def _mapping(self, node: yaml.MappingNode, path: Path) -> dict[str, Any]:
        found: dict[str, Any] = {}
        for key, value in node.value:
            if not isinstance(key, yaml.ScalarNode):
                self._wrong(key, "a key must be text")
                continue
            # The text as it is written: in YAML 1.1 the words on and no are truth values.
            name = str(key.value)
            if name in found:
                self._wrong(key, f"the key {name!r} is there twice: keep one")
                continue
            self.marks[*path, name] = _mark(key)
            found[name] = self.value(value, (*path, name))
        return found

    def _scalar(self, node: yaml.Node) -> Any:
        try:
            value = self._scalars.construct_object(node)
        except Exception as error:  # noqa: BLE001  PyYAML raises anything for a tagged value: IndexError for !!int ""
            words = (str(error).splitlines() or [type(error).__name__])[0][:80]
            return self._wrong(node, f"this value cannot be read ({words})")
        if isinstance(value, float) and not math.isfinite(value):
            return self._wrong(node, f"{node.value} is no number here")
        if isinstance(value, bool | int | float | str) or value is None:
            return value
        return str(node.value)  # a date, which YAML makes an object of

    def _wrong(self, node: yaml.Node, sentence: str) -> None:
        place = _mark(node)
        self.mistakes.append(Mistake(line=place.line, column=place.column, sentence=sentence))


def _mark(node: yaml.Node) -> Mark:
    return Mark(line=node.start_mark.line + 1, column=node.start_mark.column + 1)


def as_error(source: str, mistakes: tuple[Mistake, ...]) -> InputError:
    """Return the error that names the first mistake, and how many more there are."""
    first = mistakes[0]
    more = f" ({len(mistakes) - 1} more)" if len(mistakes) > 1 else ""
    return InputError(
        f"{first.sentence}{more}",
        where=f"{source}, line {first.line}, column {first.column}",
        fix="`butfor gate lint` lists every mistake",
    )
