"""The problems: 903 questions, each with four solutions that a model really wrote."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING

from butfor.benchmarks.beds.arithmetic.edits import numbers_in
from butfor.benchmarks.beds.arithmetic.expression import exact
from butfor.benchmarks.beds.arithmetic.solution import Solution, answer_of, read
from butfor.errors import InputError

if TYPE_CHECKING:
    from fractions import Fraction
    from pathlib import Path

MODELS = ("175b_finetuning", "175b_verification", "6b_finetuning", "6b_verification")
FILE = "gsm8k/example_model_solutions.jsonl"


@dataclass(frozen=True, kw_only=True)
class Problem:
    """One question with its solutions.

    Attributes:
        number: Its line in the file, from 0.
        question: The text.
        numbers: The numbers that the question states.
        gold: The right answer; for the verifier alone.
        reference: The values of the reference solution's steps; for judging repairs alone.
        solutions: By model: a run, or why it cannot be executed again.
        right: By model: the label of the file.
        texts: By model: the solution as written.
    """

    number: int
    question: str
    numbers: tuple[str, ...]
    gold: Fraction
    reference: frozenset[Fraction]
    solutions: dict[str, Solution | str]
    right: dict[str, bool]
    texts: dict[str, str]


def load(path: Path) -> list[Problem]:
    """Read the file.

    Raises:
        InputError: A line has no reference answer.
    """
    lines = path.read_text(encoding="utf-8").splitlines()
    return [_problem(number, json.loads(line), path) for number, line in enumerate(lines)]


def _problem(number: int, row: dict[str, object], path: Path) -> Problem:
    question = str(row["question"])
    stated = numbers_in(question)
    values = frozenset(exact(each) for each in stated)
    gold = answer_of(str(row["ground_truth"]))
    if gold is None:
        raise InputError("a problem has no reference answer", where=f"{path}:{number + 1}", fix="fetch the file again")
    reference = read(str(row["ground_truth"]), values)
    solutions: dict[str, Solution | str] = {}
    right: dict[str, bool] = {}
    texts: dict[str, str] = {}
    for model in MODELS:
        written = row[model]
        assert isinstance(written, dict)
        texts[model], right[model] = written["solution"], bool(written["is_correct"])
        solutions[model] = read(texts[model], values)
    return Problem(
        number=number,
        question=question,
        numbers=stated,
        gold=gold[1],
        reference=frozenset(step.value for step in reference.steps) if isinstance(reference, Solution) else frozenset(),
        solutions=solutions,
        right=right,
        texts=texts,
    )
