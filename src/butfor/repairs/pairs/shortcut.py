"""Can length or formatting alone tell chosen from rejected? Then a model may learn that instead of the repair."""

from __future__ import annotations

import json
import math
import re
import string
from collections import defaultdict
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from butfor import noise
from butfor.confidence import Estimate, Interval, Undefined, bounded_mean

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy as np
    from numpy.typing import NDArray

    from butfor.repairs.pairs.messages import Message

FOLDS = 5
RIDGE = 1.0
"""Penalty of the weights, on standardised features: with few pairs the classifier stays near guessing."""

FEATURES = (
    "characters",
    "words",
    "lines",
    "code fences",
    "list items",
    "emphasis and headings",
    "share of digits",
    "share of capitals",
    "share of punctuation",
    "ends in punctuation",
    "spaces in its JSON",
)


@dataclass(frozen=True, kw_only=True)
class Audit:
    """What the audit found.

    Attributes:
        accuracy: How often a classifier that sees only `FEATURES` picks the chosen answer of a pair of a task that it
            was not trained on.
        longer: In how many pairs the chosen answer is the longer one; ties count half.
        pairs: How many there are.
        tasks: How many they are of.
    """

    accuracy: Interval
    longer: float
    pairs: int
    tasks: int

    @property
    def warns(self) -> bool:
        """Whether a shortcut is shown."""
        return isinstance(self.accuracy, Estimate) and self.accuracy.lower > 0.5

    @property
    def sentence(self) -> str:
        """The audit in words."""
        said = f"chosen is the longer one in {self.longer:g} of {self.pairs} pairs"
        if not isinstance(self.accuracy, Estimate):
            return f"Shortcut audit: not possible ({self.accuracy.reason}); {said}."
        found = self.accuracy
        told = f"{found.point:.0%} [{found.lower:.0%}, {found.upper:.0%}] of the pairs of unseen tasks"
        if self.warns:
            return (
                f"WARNING: length and formatting alone tell chosen from rejected in {told}; {said}: a model may learn "
                "that instead of the repair."
            )
        return f"Shortcut audit: length and formatting alone pick the chosen answer in {told}; {said}; none is shown."

    def to_json(self) -> dict[str, Any]:
        """Return plain JSON values."""
        return {
            "accuracy": self.accuracy.to_json(),
            "chosen_longer": self.longer,
            "pairs": self.pairs,
            "tasks": self.tasks,
            "features": list(FEATURES),
            "warns": self.warns,
            "sentence": self.sentence,
        }


def audit(pairs: Sequence[tuple[str, Message, Message]], *, alpha: float = 0.05) -> Audit:
    """Try to tell chosen from rejected by length and formatting alone.

    A logistic regression on the differences of features (no intercept, so that swapping the two answers swaps the
    prediction; ridge penalty 1) is trained on four fifths of the tasks and asked about the rest, each fifth in turn.

    Estimand: the share of pairs, averaged within tasks, that the classifier gets right on a task that it has not seen.
    Assumptions: tasks are independent. The folds' classifiers share training pairs, which the interval does not know.
    Guarantee: heuristic for that reason; exact for one classifier that was fixed beforehand.
    Reference: Bradley and Terry 1952 (the model of paired differences); Clopper and Pearson 1934, Waudby-Smith and
        Ramdas 2024 (the interval).

    Args:
        pairs: Task, chosen, rejected.
        alpha: Allowed miss probability of the interval.
    """
    import numpy as np

    tasks = sorted({task for task, _, _ in pairs})
    good = np.array([_features(chosen) for _, chosen, _ in pairs]).reshape(-1, len(FEATURES))
    bad = np.array([_features(rejected) for _, _, rejected in pairs]).reshape(-1, len(FEATURES))
    longer = float((0.5 + 0.5 * np.sign(good[:, 0] - bad[:, 0])).sum())
    if len(tasks) < 2:
        accuracy: Interval = Undefined(reason="it takes pairs of two tasks or more")
    else:
        right = _cross_validated(good - bad, [task for task, _, _ in pairs], tasks)
        accuracy = bounded_mean(right, alpha=alpha)
    return Audit(accuracy=accuracy, longer=longer, pairs=len(pairs), tasks=len(tasks))


def _cross_validated(differences: NDArray[np.float64], task_of: list[str], tasks: list[str]) -> list[float]:
    """Return, task by task, the share of its pairs that was told apart."""
    import numpy as np

    order = sorted(tasks, key=lambda task: noise.digest_of("shortcut fold", task))
    fold = {task: i % min(FOLDS, len(tasks)) for i, task in enumerate(order)}
    folds = np.array([fold[task] for task in task_of])
    by_task: dict[str, list[float]] = defaultdict(list)
    for number in sorted(set(folds.tolist())):
        weights = _fit(differences[folds != number])
        scores = differences[folds == number] @ weights
        held_out = [task for task, of in zip(task_of, folds, strict=True) if of == number]
        for task, score in zip(held_out, scores, strict=True):
            by_task[task].append(0.5 if abs(score) < 1e-12 else float(score > 0))
    return [math.fsum(by_task[task]) / len(by_task[task]) for task in order]


def _fit(differences: NDArray[np.float64]) -> NDArray[np.float64]:
    """Fit the weights by Newton's method; on features scaled to unit root mean square."""
    import numpy as np

    scale = np.sqrt((differences**2).mean(axis=0))
    scale[scale == 0.0] = np.inf  # a feature that never differs says nothing
    x = differences / scale
    weights = np.zeros(x.shape[1])
    for _ in range(30):
        p = 1.0 / (1.0 + np.exp(-np.clip(x @ weights, -30.0, 30.0)))
        gradient = x.T @ (1.0 - p) - RIDGE * weights
        hessian = (x * (p * (1.0 - p))[:, None]).T @ x + RIDGE * np.eye(len(weights))
        step = np.linalg.solve(hessian, gradient)
        weights = weights + step
        if float(np.abs(step).max()) < 1e-10:
            break
    fitted: NDArray[np.float64] = weights / scale
    return fitted


def _features(message: Message) -> list[float]:
    text = _written(message)
    letters = max(1, len(text))
    ends = text.rstrip()[-1:]
    return [
        math.log1p(len(text)),
        math.log1p(len(text.split())),
        math.log1p(text.count("\n")),
        math.log1p(text.count("```")),
        math.log1p(len(re.findall(r"^\s*(?:[-*•]|\d+[.)])\s", text, re.MULTILINE))),
        math.log1p(len(re.findall(r"\*\*|^#{1,6} ", text, re.MULTILINE))),
        sum(char.isdigit() for char in text) / letters,
        sum(char.isupper() for char in text) / letters,
        sum(char in string.punctuation for char in text) / letters,
        float(bool(ends) and ends in ".!?"),
        math.log1p(len(re.findall(r"[:,] ", _arguments(message)))),
    ]


def _written(message: Message) -> str:
    return "\n".join(part for part in (str(message.get("content") or ""), _arguments(message)) if part)


def _arguments(message: Message) -> str:
    told = [each["function"] for each in message.get("tool_calls") or []]
    return "\n".join(f"{each['name']} {_text(each['arguments'])}" for each in told)


def _text(arguments: Any) -> str:
    return arguments if isinstance(arguments, str) else json.dumps(arguments, ensure_ascii=False)
