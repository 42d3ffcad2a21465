"""Drive a sampler against a planted world."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol, TypeVar

if TYPE_CHECKING:
    from collections.abc import Sequence

    from butfor.attribution.sampling import Draw, DrawResult, Sampler

A = TypeVar("A")


class Simulated(Protocol):
    """Anything that answers draws: a planted world."""

    def results(self, draws: Sequence[Draw], seed: int) -> list[DrawResult]:
        """Simulate draws, in their order."""
        ...


@dataclass(frozen=True, kw_only=True)
class Spent:
    """What a simulated analysis cost.

    Attributes:
        rollouts: Rollouts executed.
        policy_calls: Their policy calls; the held prefix costs none.
        batches: Rounds of proposing and entering.
    """

    rollouts: int
    policy_calls: int
    batches: int


def simulate(sampler: Sampler[A], world: Simulated, seed: int, *, rollouts: int | None = None) -> tuple[A, Spent]:
    """Run a sampler to its end, or until a budget of rollouts is used up.

    Args:
        sampler: The method.
        world: The planted run.
        seed: Root of the world's randomness.
        rollouts: Budget; None for no limit.
    """
    spent, calls, batches = 0, 0, 0
    while proposed := sampler.propose():
        allowed = proposed if rollouts is None else proposed[: max(rollouts - spent, 0)]
        results = world.results(allowed, seed)
        sampler.enter(results)
        spent += len(results)
        calls += sum(result.policy_calls for result in results)
        batches += 1
        if len(allowed) < len(proposed):
            break
    return sampler.answer(), Spent(rollouts=spent, policy_calls=calls, batches=batches)
