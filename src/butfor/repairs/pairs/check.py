"""Check a training file: its schema line by line, and what only the file as a whole shows."""

from __future__ import annotations

import json
from collections import Counter, defaultdict
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from butfor import canonical
from butfor.errors import InputError, NotFound, system_reason
from butfor.repairs.pairs.pair import answer_key
from butfor.repairs.pairs.schema import Problem, format_of, problems_of
from butfor.repairs.pairs.shortcut import Audit, audit
from butfor.repairs.pairs.sieve import contradictions, differ_by_form

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from butfor.canonical import Json
    from butfor.repairs.pairs.formats import Format, Row
    from butfor.repairs.pairs.messages import Message


@dataclass(frozen=True, kw_only=True)
class Checked:
    """What a file is.

    Attributes:
        format: Its format.
        rows: How many it holds.
        problems: What the format does not allow, by line and field.
        duplicates: Rows that say what an earlier one says.
        contradictions: Answers that are chosen in one row and rejected in another under the same prompt.
        by_form: Pairs that differ by code fences and white space alone.
        shortcut: Whether length or formatting alone tell chosen from rejected; None where the rows cannot be read.
    """

    format: Format
    rows: int
    problems: tuple[Problem, ...]
    duplicates: int = 0
    contradictions: int = 0
    by_form: int = 0
    shortcut: Audit | None = None

    @property
    def ok(self) -> bool:
        """Whether the file may be trained on. A shortcut is a warning: the pairs are true all the same."""
        return not (self.problems or self.duplicates or self.contradictions or self.by_form)

    @property
    def sentence(self) -> str:
        """The check in words."""
        if self.ok:
            return f"{self.rows} rows of {self.format}: every one passes."
        found = {
            "problems": len(self.problems),
            "duplicates": self.duplicates,
            "contradictions": self.contradictions,
            "pairs that differ by form alone": self.by_form,
        }
        return f"{self.rows} rows of {self.format}: {', '.join(f'{n} {what}' for what, n in found.items() if n)}."

    def to_json(self) -> dict[str, Any]:
        """Return plain JSON values."""
        return {
            "format": self.format,
            "rows": self.rows,
            "ok": self.ok,
            "sentence": self.sentence,
            "problems": [{"line": each.line, "field": each.field, "what": each.what} for each in self.problems],
            "duplicates": self.duplicates,
            "contradictions": self.contradictions,
            "differ_by_form": self.by_form,
            "shortcut": None if self.shortcut is None else self.shortcut.to_json(),
        }


def check_file(path: Path, *, name: Format | None = None) -> Checked:
    """Check a file of pairs.

    Args:
        path: A JSON Lines file.
        name: Its format; told by the fields of its first row where it is not given.

    Raises:
        NotFound: The file cannot be read.
        InputError: It holds no row, or its format cannot be told.
    """
    rows, problems = _read(path)
    if not rows and not problems:
        raise InputError("the file holds no row", where=str(path))
    if name is None:
        if not rows:
            raise InputError(str(problems[0]), where=str(path), fix="write one JSON object a line")
        name = format_of(rows[0][1])
    problems += [problem for line, row in rows for problem in problems_of(row, name, line=line)]
    if problems:
        return Checked(format=name, rows=len(rows), problems=tuple(sorted(problems, key=lambda each: each.line)))
    return _whole(name, [row for _, row in rows])


def _whole(name: Format, rows: list[Row]) -> Checked:
    """Look at rows of which every one is well formed."""
    pairs = list(_kto_pairs(rows) if name == "trl-kto" else map(_pair_of, rows))
    seen = Counter(_kto_name(row) if name == "trl-kto" else _name_of(row) for row in rows)
    return Checked(
        format=name,
        rows=len(rows),
        problems=(),
        duplicates=sum(count - 1 for count in seen.values()),
        contradictions=len(contradictions((digest, good, bad) for digest, _, good, bad in pairs)),
        by_form=sum(differ_by_form(good, bad) and answer_key(good) != answer_key(bad) for _, _, good, bad in pairs),
        shortcut=audit([(task, good, bad) for _, task, good, bad in pairs]) if pairs else None,
    )


def _pair_of(row: Row) -> tuple[str, str, Message, Message]:
    """Return the prompt's digest, its opening, chosen and rejected."""
    if "input" in row:
        prompt, good, bad = row["input"]["messages"], row["preferred_output"], row["non_preferred_output"]
    elif "prompt" in row:
        prompt, good, bad = row["prompt"], row["chosen"], row["rejected"]
    else:
        prompt, good, bad = row["chosen"][:-1], row["chosen"], row["rejected"]
    return _digest(prompt), _opening(prompt), good[-1], bad[-1]


def _name_of(row: Row) -> str:
    digest, _, good, bad = _pair_of(row)
    return canonical.digest([digest, answer_key(good), answer_key(bad)])


def _kto_name(row: Row) -> str:
    return canonical.digest([_digest(row["prompt"]), answer_key(row["completion"][-1]), row["label"]])


def _kto_pairs(rows: list[Row]) -> Iterator[tuple[str, str, Message, Message]]:
    """Pair every desirable answer with every undesirable one of the same prompt."""
    by_prompt: dict[str, list[Row]] = defaultdict(list)
    for row in rows:
        by_prompt[_digest(row["prompt"])].append(row)
    for digest, same in by_prompt.items():
        good = [row["completion"][-1] for row in same if row["label"]]
        bad = [row["completion"][-1] for row in same if not row["label"]]
        yield from ((digest, _opening(same[0]["prompt"]), g, b) for g in good for b in bad)


def _digest(prompt: list[Message]) -> str:
    return canonical.digest(prompt)


def _opening(prompt: list[Message]) -> str:
    said = next((str(each.get("content") or "") for each in prompt if each.get("role") == "user"), "")
    return canonical.digest(" ".join(said.split()) or prompt)


def _read(path: Path) -> tuple[list[tuple[int, Json]], list[Problem]]:
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise NotFound(f"cannot read {str(path)!r} ({system_reason(error)})", fix="give a JSON Lines file") from None
    rows: list[tuple[int, Json]] = []
    problems: list[Problem] = []
    # Not splitlines: a text may hold a line separator such as U+2028 unescaped.
    for line, written in enumerate(text.split("\n"), start=1):
        if not written.strip():
            continue
        try:
            rows.append((line, json.loads(written, parse_constant=_refuse)))
        except (ValueError, RecursionError) as error:
            problems.append(Problem(line=line, field="$", what=f"it is not JSON ({error})"))
    return rows, problems


def _refuse(constant: str) -> None:
    raise ValueError(f"{constant} is no number of JSON")
