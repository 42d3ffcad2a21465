"""Drive a sampler against a planted world."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol, TypeVar

if TYPE_CHECKING:
    from collections.abc import Sequence

    from butfor.attribution.sampling import Draw, DrawResult, Sampler
    from butfor.benchmarks.planted.world import World

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


def simulate_on_slots(sampler: Sampler[A], world: World, seed: int, *, slots: int, seconds: float) -> tuple[A, Spent]:
    """Run a sampler on `slots` workers for a limited time; a rollout takes one second, a failing one `world.slow`.

    When time is up, what is entered is the longest prefix of the batch, in allocation order, that has finished.
    """
    spent, calls, batches, clock = 0, 0, 0, 0.0
    while proposed := sampler.propose():
        results = world.results(proposed, seed)
        finished = finish_times(results, slots=slots, slow=world.slow)
        done = next((i for i, t in enumerate(finished) if clock + t > seconds), len(results))
        sampler.enter(results[:done])
        spent, calls, batches = spent + done, calls + sum(r.policy_calls for r in results[:done]), batches + 1
        clock += max(finished)
        if done < len(results):
            break
    return sampler.answer(), Spent(rollouts=spent, policy_calls=calls, batches=batches)


def finish_times(results: Sequence[DrawResult], *, slots: int, slow: float) -> list[float]:
    """Return when each rollout finishes if workers take them in allocation order."""
    free = [0.0] * slots
    finished = []
    for result in results:
        worker = min(range(slots), key=free.__getitem__)
        free[worker] += slow if result.outcome == 1.0 else 1.0
        finished.append(free[worker])
    return finished
