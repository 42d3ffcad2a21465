"""The seam between a repair and whatever executes its rollouts.

The replay engine, a bed's own interpreter and a simulator with planted truth implement the same protocol, so the same
statistics run on all three.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Protocol, cast

from butfor import canonical, noise

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from butfor.canonical import Json


@dataclass(frozen=True, kw_only=True)
class Trial:
    """One rollout to buy.

    Attributes:
        step: k.
        action: What is put in the place of a_k; None is the null arm, where the policy decides step k again.
        draw: The how-manieth draw of this arm, from 0. The draws of validation are nobody else's: whatever produced or
            selected an action was drawn elsewhere.
    """

    step: int
    action: Json
    draw: int


class Executor(Protocol):
    """Executes the rest of a failed run after one step was changed."""

    def run(self, step: int, action: Json, draw: int) -> float | None:
        """Return y in [0, 1] (1 = bad) of one rollout; None where it has no outcome.

        Args:
            step: k.
            action: The new action; None draws it from the policy again (the null arm).
            draw: Equal draws of equal actions give equal outcomes.
        """
        ...

    def deterministic_tail(self, step: int, action: Json) -> bool:
        """Say whether what follows the changed step is proven to come out the same every time."""
        ...


class BatchExecutor(Executor, Protocol):
    """An executor that runs many trials at once, and may be stopped by a budget."""

    def run_all(self, trials: Sequence[Trial]) -> list[float | None]:
        """Return one outcome a trial, in order; a shorter list is the prefix that a stopped budget left."""
        ...


def outcomes_of(executor: Executor, trials: Sequence[Trial]) -> list[float | None]:
    """Execute trials in order; a shorter list is the prefix that a stopped budget left."""
    # isinstance on a protocol costs 75 µs a batch, more than the statistics of a batch.
    if hasattr(executor, "run_all"):
        return cast("BatchExecutor", executor).run_all(trials)
    return [executor.run(trial.step, trial.action, trial.draw) for trial in trials]


@dataclass(frozen=True, kw_only=True)
class TableExecutor:
    """A public double: every arm succeeds with a probability that was written down.

    Attributes:
        success: Action (a text) to P(success); an action that is not there succeeds as the null arm does, so it
            changes nothing.
        null: P(success) where the step is decided again.
        seed: Of the draws.
        deterministic: Says of an action whether its tail is proven deterministic.
    """

    success: Mapping[str, float] = field(default_factory=dict)
    null: float
    seed: int = 0
    deterministic: Callable[[Json], bool] = lambda _: False

    def run(self, step: int, action: Json, draw: int) -> float | None:
        """Draw an outcome; the same draw of the same action always has the same one."""
        rate = self.null if action is None else self.success.get(str(action), self.null)
        key = (self.seed, step, canonical.canonical(action), draw)
        return float(noise.generator("table executor", *key).random() >= rate)

    def deterministic_tail(self, step: int, action: Json) -> bool:
        """Say what was written down."""
        del step
        return self.deterministic(action)
