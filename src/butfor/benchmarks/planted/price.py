"""Policy calls that a right answer costs, against a profile that is right as often."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from butfor.attribution.margins import Margins
from butfor.attribution.profile import eliminate
from butfor.attribution.sampling import Draw, ResampleFrom
from butfor.attribution.tally import Tally
from butfor.benchmarks.harness import Check
from butfor.benchmarks.planted.families import both, pivotal
from butfor.benchmarks.planted.trial import at_least, repeat, row, search
from butfor.confidence import known

if TYPE_CHECKING:
    from collections.abc import Callable

    from butfor.benchmarks.planted.trial import Outcome
    from butfor.benchmarks.planted.world import World

# Both are compared at this share of right answers.
RIGHT = 0.95
# n to the saving that limited help (η = 0) must reach on hard commitments, and assumption-free.
LIMITED = {10: 4.0, 20: 8.0, 50: 15.0, 100: 25.0}
FREE = {20: 2.0, 50: 2.0, 100: 2.0}
# Everywhere else a search may cost 1.2 times the profile.
NO_DEARER = 1 / 1.2
# Assumption-free search at n = 100 takes most of the time and says what n = 50 says.
MOST_FREE = 50


def most_draws(n: int) -> int:
    """Return the draws a step at which a profile is given up; a search gets the same budget."""
    return 256 if n <= 20 else 128


def price(seed: int, repetitions: int, quick: bool) -> tuple[list[dict[str, Any]], list[Check]]:
    """Compare on hard commitments (the step anywhere) and on AND."""
    seeds = range(seed, seed + repetitions)
    cases: list[tuple[Callable[[int], World], int]] = [
        (partial(_pivotal_anywhere, n), n) for n in ((10, 20) if quick else LIMITED)
    ]
    if not quick:
        cases += [(partial(_and, n), n) for n in (3, 20)]
    parts = [_compare(world_of, n, seeds) for world_of, n in cases]
    return [line for rows, _ in parts for line in rows], [check for _, checks in parts for check in checks]


def _pivotal_anywhere(n: int, seed: int) -> World:
    return pivotal(n, at=7 * seed % n)


def _and(n: int, seed: int) -> World:
    del seed
    return both(n, first=n // 4, second=n // 4 + max(1, n // 3))


def _search(world_of: Callable[[int], World], max_help: float | None, seed: int) -> Outcome:
    world = world_of(seed)
    calls = most_draws(world.steps) * world.steps * (world.steps + 1) // 2
    return search(world, seed, max_help=max_help, calls=calls)


def _compare(world_of: Callable[[int], World], n: int, seeds: range) -> tuple[list[dict[str, Any]], list[Check]]:
    family = world_of(seeds[0]).name
    profile = _profile_row(world_of, family, n, seeds)
    rows, checks = [profile], []
    for name, max_help, bounds in (("search", None, FREE), ("search, η = 0", 0.0, LIMITED)):
        if max_help is None and n > MOST_FREE:
            continue
        outcomes = repeat(partial(_search, world_of, max_help), seeds)
        line = row(family, n, name, outcomes)
        saving = profile["calls"] / line["calls"]
        rows.append({**line, "saving": saving})
        place = f"{family}, n = {n}, {name}"
        right = sum(o.right is True for o in outcomes)
        checks.append(at_least(f"right ≥ {RIGHT}: {place}", right, len(outcomes), RIGHT))
        bound = bounds.get(n, NO_DEARER) if family == "pivotal" else NO_DEARER
        title = f"policy calls saved at equal error: {place}"
        checks.append(Check(name=title, value=saving, bound=bound, ok=saving >= bound))
    return rows, checks


def _profile_row(world_of: Callable[[int], World], family: str, n: int, seeds: range) -> dict[str, Any]:
    """Find the profile with the fewest draws a step that is right in the wanted share of the repetitions."""
    needed = [draws_for_a_right_answer(world_of(seed), seed) for seed in seeds]
    draws = int(np.quantile(needed, RIGHT, method="higher"))
    share = float(np.mean([d <= min(draws, most_draws(n)) for d in needed]))
    more = " or more" if draws > most_draws(n) else ""
    return {
        "family": family,
        "n": n,
        "method": f"profile, {draws}{more} draws a step",
        "right": share,
        "withheld": 1 - share,
        "rollouts": float(draws * n),
        "calls": draws * n * (n + 1) / 2,
        "saving": 1.0,
    }


def draws_for_a_right_answer(world: World, seed: int) -> int:
    """Return how many draws of each step a profile needs until its set is one right step; most + 1 where more."""
    tally, most = Tally(world.steps), most_draws(world.steps)
    plan = [Draw(arm=ResampleFrom(step=k), ordinal=i) for i in range(most) for k in range(world.steps)]
    tally.enter(plan, world.results(plan, seed))
    margins = Margins()
    right = world.right(margins.tie)
    for draws, evidence in eliminate(tally, factual=known(float(world.v[-1])), margins=margins):
        candidates = evidence.candidates(margins.alpha)
        if len(candidates) == 1 and candidates[0] in right:
            return draws
    return most + 1
