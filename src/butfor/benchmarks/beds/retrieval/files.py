"""Questions from a file that the user supplies: SealQA, MedBrowseComp, or any list of questions and answers."""

from __future__ import annotations

import csv
import json
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from butfor.errors import InputError, MissingExtra

if TYPE_CHECKING:
    from pathlib import Path

_ASKED = ("question", "prompt", "problem", "query")
_ANSWERED = ("answer", "gold", "correct_answer", "ground_truth", "target")


@dataclass(frozen=True, kw_only=True)
class Asked:
    """One question with its accepted answer."""

    question: str
    answer: str


def load(path: Path) -> list[Asked]:
    """Read .jsonl, .json, .csv or .parquet; the columns are found by their usual names.

    Raises:
        InputError: The file has no such columns, or is of another kind.
        MissingExtra: A .parquet file, without pyarrow.
    """
    rows = _rows(path)
    if not rows:
        raise InputError("the file holds no questions", where=str(path), fix="give a file with one question a row")
    columns = {str(name).lower(): name for name in rows[0]}
    asked = next((columns[name] for name in _ASKED if name in columns), None)
    answered = next((columns[name] for name in _ANSWERED if name in columns), None)
    if asked is None or answered is None:
        raise InputError(
            f"no question or no answer among the columns {', '.join(columns)}",
            where=str(path),
            fix=f"name them {_ASKED[0]!r} and {_ANSWERED[0]!r}",
        )
    return [Asked(question=str(row[asked]), answer=str(row[answered])) for row in rows]


def is_right(text: str, answer: str) -> bool:
    """Whether the answer stands in a text as whole words, letter case and punctuation aside."""
    return f" {_plain(answer)} " in f" {_plain(text)} "


def _plain(text: str) -> str:
    return " ".join(re.findall(r"\w+", text.lower()))


def _rows(path: Path) -> list[dict[str, Any]]:
    if path.suffix == ".jsonl":
        return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines() if line.strip()]
    if path.suffix == ".json":
        value = json.loads(path.read_text(encoding="utf-8"))
        return value if isinstance(value, list) else [value]
    if path.suffix == ".csv":
        with path.open(encoding="utf-8", newline="") as file:
            return list(csv.DictReader(file))
    if path.suffix == ".parquet":
        return _parquet(path)
    raise InputError("questions are read from .jsonl, .json, .csv or .parquet", where=str(path), fix="convert the file")


def _parquet(path: Path) -> list[dict[str, Any]]:
    try:
        import pyarrow.parquet
    except ImportError as error:
        raise MissingExtra("pyarrow", extra="evidence", purpose="reading a .parquet file") from error
    rows: list[dict[str, Any]] = pyarrow.parquet.read_table(path).to_pylist()
    return rows
