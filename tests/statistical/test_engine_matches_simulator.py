"""The engine and the vectorised simulator give the same results, draw for draw, and so the same answers."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from butfor.attribution.drive import drive_method
from butfor.attribution.profile import ProfileSampler
from butfor.attribution.sampling import Draw, DrawResult
from butfor.attribution.search import SearchSampler
from butfor.attribution.shapley import PooledShapley
from butfor.benchmarks import planted
from butfor.benchmarks.planted.engine import SameDraws, record_planted
from butfor.store import MemoryStore

STEPS = 5
FAMILIES: dict[str, planted.World] = {
    "pivotal": planted.pivotal(STEPS, at=2, match=0.8),
    "and": planted.both(STEPS, first=1, second=3, match=0.7),
    "or": planted.either(STEPS, first=1, second=3, match=0.7),
    "soft": planted.soft(STEPS, at=2, match=0.5),
    "late rescue": planted.late_rescue(STEPS, at=1, rescue=0.05),
    "undone": planted.undone(STEPS, helped=1, at=3, match=0.6),
    "hidden help": planted.hidden_help(STEPS, at=1),
    "gradual": planted.gradual(STEPS),
    "doomed": planted.doomed(STEPS, match=0.9),
    "tied": planted.tied(STEPS, first=1, second=3, match=0.5),
    "parallel calls": planted.parallel_calls(planted.pivotal(STEPS, at=2, match=0.9)),
}
TABLES = {
    "all of two": planted.TableWorld(steps=3, bad={0: 0.3, 2: 0.4}),
    "any of two": planted.TableWorld(steps=3, bad={0: 0.3, 1: 0.2}, fails_if="any"),
    "all of three": planted.TableWorld(steps=3, bad={0: 0.6, 1: 0.5, 2: 0.7}),
}
METHODS: dict[str, Callable[[], Any]] = {
    "profile": lambda: ProfileSampler(steps=STEPS, factual=1.0, draws=4),
    "search": lambda: SearchSampler(steps=STEPS, factual=1.0, policy_calls=100),
    "search, limited help": lambda: SearchSampler(steps=STEPS, factual=1.0, max_help=0.05, policy_calls=100),
}


class Listening:
    """A sampler that remembers what was drawn and what it gave."""

    def __init__(self, sampler: Any) -> None:
        self.sampler = sampler
        self.seen: list[tuple[Draw, DrawResult]] = []

    def propose(self) -> tuple[Draw, ...]:
        proposed: tuple[Draw, ...] = self.sampler.propose()
        return proposed

    def enter(self, results: Any) -> None:
        self.seen += zip(self.propose(), results, strict=False)
        self.sampler.enter(results)

    def answer(self) -> Any:
        return self.sampler.answer()


def both_ways(make: Callable[[], Any], world: Any, seed: int) -> tuple[Listening, Listening, int]:
    case = record_planted(world, store=MemoryStore(), seed=seed)
    real, simulated = Listening(make()), Listening(make())
    attribution = drive_method(case, real, method="test", settings={})
    answer, _ = planted.simulate(simulated, SameDraws(world=world, case=case), seed)
    assert attribution.stopped is None
    assert attribution.answer == answer
    assert attribution.answer.to_json() == answer.to_json()
    return real, simulated, case.rollouts.meter.rollouts


def same_draws(make: Callable[[], Any], world: planted.World, seed: int) -> set[float | None]:
    real, simulated, _ = both_ways(make, world, seed)
    # The engine's states are those of steps, so "held to the end" is held until the last one.
    last = world.steps - 1
    expected = [(draw, replace(each, held_until=min(each.held_until or 0, last))) for draw, each in simulated.seen]
    assert expected == real.seen
    return {each.outcome for _, each in real.seen}


def same_coalitions(world: planted.TableWorld, seed: int) -> set[float | None]:
    real, simulated, _ = both_ways(lambda: PooledShapley(steps=3, rollouts=96), world, seed)
    # What was matched and held has no meaning for a coalition.
    assert [(d, r.outcome, r.policy_calls) for d, r in simulated.seen] == [
        (d, r.outcome, r.policy_calls) for d, r in real.seen
    ]
    return {each.outcome for _, each in real.seen}


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("family", FAMILIES)
def test_prefix_arms(family, method):
    outcomes = set().union(*(same_draws(METHODS[method], FAMILIES[family], seed) for seed in range(2)))
    assert outcomes == ({1.0} if family == "doomed" else {0.0, 1.0})


@pytest.mark.parametrize("table", TABLES)
def test_coalitions(table):
    outcomes = set().union(*(same_coalitions(TABLES[table], seed) for seed in range(3)))
    assert outcomes == {0.0, 1.0}


@pytest.mark.slow
@pytest.mark.parametrize("family", FAMILIES)
def test_prefix_arms_over_fifty_repetitions(family):
    for seed in range(50):
        for make in METHODS.values():
            same_draws(make, FAMILIES[family], 1000 + seed)


@pytest.mark.slow
@pytest.mark.parametrize("table", TABLES)
def test_coalitions_over_fifty_repetitions(table):
    for seed in range(50):
        same_coalitions(TABLES[table], 1000 + seed)
