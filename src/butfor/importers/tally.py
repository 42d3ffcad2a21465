"""What an import placed, what it ignored, and what went wrong, with counts."""

from __future__ import annotations

import dataclasses
import re
from collections import Counter
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

    from butfor.canonical import Json
    from butfor.errors import InputError
    from butfor.runs import Run

_INDEX = re.compile(r"(?<=\.)\d+(?=\.|$)")
# A hostile file can have a million different keys; a report of a million lines helps nobody.
_NAMES = 300
_NAME_LENGTH = 120
_PROBLEMS = 50
OTHER_NAMES = "(other names)"


class Ignored(Counter[str]):
    """Names of what an importer could not place, with counts; indices inside a name become ``{i}``."""

    def add(self, name: str, count: int = 1) -> None:
        """Count one more."""
        printable = _INDEX.sub("{i}", name)[:_NAME_LENGTH].encode("utf-8", "backslashreplace").decode("utf-8")
        self[printable if printable in self or len(self) < _NAMES else OTHER_NAMES] += count


@dataclasses.dataclass(frozen=True, kw_only=True)
class ImportReport:
    """What became of one file.

    Attributes:
        file: The file's name; ``-`` for standard input.
        format: The importer that read it.
        runs: Runs imported.
        steps: Steps in them.
        grades: Replayability label to number of steps.
        missing: What keeps steps from a better grade, to number of steps.
        ignored: What the importer could not place, with counts.
        problems: The first problems, each with file, line and field.
        problem_count: All of them.
    """

    file: str
    format: str
    runs: int
    steps: int
    grades: Mapping[str, int]
    missing: Mapping[str, int]
    ignored: Mapping[str, int]
    problems: tuple[str, ...]
    problem_count: int

    @property
    def partial(self) -> bool:
        """Whether something in the file could not be read."""
        return self.problem_count > 0

    def to_json(self) -> dict[str, Json]:
        """Return the report as plain JSON values."""
        return dataclasses.asdict(self) | {"problems": list(self.problems), "partial": self.partial}


class Tally:
    """Counts while one file is read."""

    def __init__(self, file: str, format_name: str) -> None:
        self.file = file
        self.format_name = format_name
        self.ignored = Ignored()
        self._missing = Ignored()
        self._grades: Counter[str] = Counter()
        self._problems: list[InputError] = []
        self._problem_count = 0
        self._runs = 0
        self._steps = 0

    @property
    def first_problem(self) -> InputError | None:
        """The first problem met, None where there was none."""
        return self._problems[0] if self._problems else None

    def problem(self, error: InputError) -> None:
        """Count what could not be read."""
        self._problem_count += 1
        if len(self._problems) < _PROBLEMS:
            self._problems.append(error)

    def count(self, run: Run) -> None:
        """Count an imported run, its grades and what it leaves out."""
        self._runs += 1
        self._steps += len(run.steps)
        for name, number in run.provenance.ignored.items():
            self.ignored.add(name, number)
        for name in run.grade.missing:
            self._missing.add(f"run: {name}")
        for step in run.steps:
            self._grades[step.grade.level.label] += 1
            for name in step.grade.missing:
                self._missing.add(name)

    def report(self) -> ImportReport:
        """Close the count."""
        return ImportReport(
            file=self.file,
            format=self.format_name,
            runs=self._runs,
            steps=self._steps,
            grades=dict(self._grades),
            missing=dict(self._missing.most_common()),
            ignored=dict(self.ignored.most_common()),
            problems=tuple(str(problem) for problem in self._problems),
            problem_count=self._problem_count,
        )
