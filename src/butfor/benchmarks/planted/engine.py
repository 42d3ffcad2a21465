"""The real engine on planted runs: record one, decide it again, and give the simulator the same draws.

A decision's seed is keyed by (fingerprint, request, lane, occurrence, draw id). On the factual path, and wherever a
request does not depend on what was decided before, requests are the recorded ones; so the simulator can name every
seed that the engine will use, and must come to the same results.
"""

from __future__ import annotations

import random
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from butfor.attribution.case import Case
from butfor.benchmarks.planted import agents
from butfor.benchmarks.planted.world import OUTCOME, World
from butfor.noise import seed_of
from butfor.outcomes import score_of
from butfor.replay import FreshSeeds, Rollouts, load_journal, record_run, wrap_agent

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from butfor.attribution.sampling import Draw, DrawResult
    from butfor.benchmarks.planted.table import TableWorld
    from butfor.benchmarks.planted.world import Noise
    from butfor.store import Storage

# What differs from one repetition to the next must not depend on the clock, or a failure could not be seen again.
_ENTROPY = "planted run"


def record_planted(world: World | TableWorld, *, store: Storage, seed: int, concurrency: int = 8) -> Case:
    """Record a planted run and open it for attribution.

    Args:
        world: The run.
        store: Where it is kept.
        seed: Which repetition; each has its own draws.
        concurrency: Rollouts at the same time.
    """
    agent = agents.commit if isinstance(world, World) else agents.combine
    score = score_of(agents.failed)
    run_id = f"planted-{seed_of(_ENTROPY, repr(_task(world)), seed)}"
    recorded = record_run(agent, _task(world), store=store, score=score, run_id=run_id, verify=False)
    found = wrap_agent(agent)
    return Case(
        run=recorded.run,
        journal=load_journal(store, run_id),
        agent=found,
        score=score,
        factual=1.0,
        rollouts=Rollouts(run_id, store, agent=found, score=score, concurrency=concurrency),
        notes=(),
    )


@dataclass(frozen=True, kw_only=True)
class SameDraws:
    """A planted run whose simulator draws with the noise of the engine's own draws.

    Attributes:
        world: The run.
        case: The recorded one.
    """

    world: World | TableWorld
    case: Case

    def results(self, draws: Sequence[Draw], seed: int) -> list[DrawResult]:
        """Simulate draws, in their order; the seed is that of the draws, not of the simulation."""
        del seed
        return self.world.played(draws, self._noise_of(draws))

    def _noise_of(self, draws: Sequence[Draw]) -> Noise:
        seeds = [
            FreshSeeds(fingerprint=self.case.rollouts.fingerprint, draw=f"{draw.arm.key}#{draw.ordinal}")
            for draw in draws
        ]
        steps = self.case.journal.steps

        def uniform(draw: FreshSeeds, slot: int) -> float:
            if slot == OUTCOME:
                return _standard(draw.seed("rng", "0", len(steps)))
            return _policy(draw.seed(steps[slot].digest, "0", steps[slot].occurrence))

        def noise(slots: NDArray[np.int64]) -> NDArray[np.float64]:
            return np.array([uniform(draw, slot) for draw, slot in zip(seeds, slots.tolist(), strict=True)])

        return noise


def _policy(seed: int | None) -> float:
    assert seed is not None
    return agents.uniform_of(seed)


def _standard(seed: int | None) -> float:
    return random.Random(seed).random()


def _task(world: World | TableWorld) -> dict[str, Any]:
    if isinstance(world, World):
        return {"match": world.match.tolist(), "off_path": world.off_path.tolist(), "end": [float(world.v[-1])]}
    return {"bad": [world.bad.get(k) for k in range(world.steps)], "fails_if": world.fails_if}
