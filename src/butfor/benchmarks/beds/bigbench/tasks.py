"""The five tasks of BIG-Bench-Mistake, and how each of their traces is executed again."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING

from butfor.benchmarks.beds.arithmetic.expression import Unreadable
from butfor.benchmarks.beds.bigbench.arithmetic import Arithmetic
from butfor.benchmarks.beds.bigbench.brackets import Brackets
from butfor.benchmarks.beds.bigbench.deduction import Deduction
from butfor.benchmarks.beds.bigbench.sorting import Sorting
from butfor.benchmarks.beds.bigbench.swaps import Swaps
from butfor.benchmarks.beds.bigbench.trace import Reexecution, decisive, same, values

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from pathlib import Path

TASKS: dict[str, Callable[[str, list[str]], Reexecution]] = {
    "multistep_arithmetic": Arithmetic,
    "dyck_languages": Brackets,
    "tracking_shuffled_objects": Swaps,
    "word_sorting": Sorting,
    "logical_deduction": Deduction,
}


@dataclass(frozen=True, kw_only=True)
class Located:
    """One trace.

    Attributes:
        steps: The written steps.
        label: The human's first mistake, 0-based; None where the human found none.
        failed: Whether its answer is wrong.
        value: v(0) … v(n); None where the trace is written in a form that cannot be executed again.
        decisive: The steps with the largest blame; empty where there is none.
    """

    steps: tuple[str, ...]
    label: int | None
    failed: bool
    value: tuple[float, ...] | None
    decisive: tuple[int, ...]


def load(path: Path, task: str) -> list[Located]:
    """Read and execute every trace of a task."""
    lines = (path / f"{task}.jsonl").read_text(encoding="utf-8").splitlines()
    return [locate(json.loads(line), task) for line in lines]


def locate(row: Mapping[str, object], task: str) -> Located:
    """Execute one trace again from each of its steps."""
    steps = row["steps"]
    label = row["mistake_index"]
    assert isinstance(steps, list)
    assert label is None or isinstance(label, int)
    answer, target = str(row["answer"]), str(row["target"])
    try:
        trace = TASKS[task](str(row["input"]), steps)
    except Unreadable:
        value = None
    else:
        value = tuple(values(trace, len(steps), target=target, answer=answer))
    return Located(
        steps=tuple(steps),
        label=label,
        failed=not same(answer, target),
        value=value,
        decisive=decisive(value) if value is not None else (),
    )
