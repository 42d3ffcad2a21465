"""Train and test without a task in both."""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING, Literal, TypeAlias

from butfor import canonical, noise

if TYPE_CHECKING:
    from collections.abc import Sequence

    from butfor.repairs.pairs.pair import Pair

Split: TypeAlias = Literal["train", "test"]

_SEEDS = 2**31 - 1


def tasks_of(pairs: Sequence[Pair]) -> list[str]:
    """Name each pair's task: pairs whose runs were given the same, or whose conversations open alike, share one.

    An input often holds a seed or a time beside the question, and a prompt often holds the question beside a date:
    either alone would put one task on both sides.
    """
    parent: dict[str, str] = {}

    def root(key: str) -> str:
        while parent.setdefault(key, key) != key:
            key = parent[key]
        return key

    keys = [(f"task {each.task}", f"opening {_opening(each)}") for each in pairs]
    for one, other in keys:
        low, high = sorted((root(one), root(other)))
        parent[high] = low
    return [canonical.digest_text(root(one)) for one, _ in keys]


def split_of(tasks: Sequence[str], *, test: float, seed: int = 0) -> list[Split]:
    """Send each task to train or test by a hash of its name, so that a task stays where it is when others come.

    Args:
        tasks: The task of each pair.
        test: Share of the tasks that go to test, in expectation.
        seed: Another seed gives another split.

    Returns:
        One split a pair. Where every task would go to test, all go to train: nothing could be learnt otherwise.
    """
    sides: dict[str, Split] = {
        task: "test" if noise.seed_of("pairs split", seed, task) / _SEEDS < test else "train" for task in set(tasks)
    }
    if "train" not in sides.values():
        return ["train" for _ in tasks]
    return [sides[task] for task in tasks]


def counts_of(tasks: Sequence[str], splits: Sequence[Split]) -> dict[Split, dict[str, int]]:
    """Count pairs and tasks of each split."""
    seen: dict[Split, list[str]] = defaultdict(list)
    for task, split in zip(tasks, splits, strict=True):
        seen[split].append(task)
    return {split: {"pairs": len(names), "tasks": len(set(names))} for split, names in sorted(seen.items())}


def _opening(pair: Pair) -> str:
    # Without an opening, only the task's own value says what a pair is about.
    words = " ".join(pair.prompt.opening.split())
    return words or pair.task
