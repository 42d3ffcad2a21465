"""A trace that can be executed again, and the step that its failure is due to."""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from collections.abc import Sequence


class Reexecution(Protocol):
    """What a task knows of one of its traces.

    The state before a step is read from the text of the steps before it, mistakes included; the task's rule decides
    everything from there on.
    """

    def answer_from(self, step: int) -> str | None:
        """Return the answer with steps < `step` as written and the rest decided by the rule; None where it has none."""
        ...


def values(trace: Reexecution, steps: int, *, target: str, answer: str) -> list[float]:
    """Return v(0) … v(n): 1 where the run fails when everything from step k on is decided again."""
    again = [float(not same(trace.answer_from(step), target)) for step in range(steps)]
    return [*again, float(not same(answer, target))]


def decisive(value: Sequence[float]) -> tuple[int, ...]:
    """Return the steps with the largest blame v(k + 1) − v(k), where any is positive; several where they tie."""
    blame = [after - before for before, after in itertools.pairwise(value)]
    most = max(blame, default=0.0)
    return tuple(step for step, each in enumerate(blame) if each == most) if most > 0 else ()


def same(answer: str | None, target: str) -> bool:
    """Whether two answers are equal, but for space and a full stop at the end."""
    return answer is not None and answer.strip().rstrip(".").split() == target.strip().rstrip(".").split()
