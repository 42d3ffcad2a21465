"""Policy calls that a right answer costs, against a profile that is right as often."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from butfor.attribution.profile import DRAWS
from butfor.benchmarks.harness import Check
from butfor.benchmarks.planted import families as f
from butfor.benchmarks.planted.errors import families_of
from butfor.benchmarks.planted.side_by_side import draws_until_right
from butfor.benchmarks.planted.trial import TOGETHER, Outcome, at_least, row, searches

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from butfor.benchmarks.planted.part import Part
    from butfor.benchmarks.planted.world import World

# Both are compared at this share of right answers.
RIGHT = 0.95
# n to the saving that limited help (η = 0) must reach on hard commitments, and assumption-free.
LIMITED = {10: 4.0, 20: 8.0, 50: 15.0, 100: 25.0}
FREE = {20: 2.0, 50: 2.0, 100: 2.0}
# Everywhere else a search may cost 1.2 times the profile.
DEARER = 1.2
MODES: tuple[tuple[str, float | None], ...] = (("search", None), ("search, η = 0", 0.0))
# Each of these searches goes to the end of a default budget where no single step is the answer.
MOST_FOR_THE_DEAREST = 100


@dataclass(frozen=True, kw_only=True)
class Priced:
    """A family of runs, one for each seed.

    Attributes:
        world_of: Seed to run.
        steps: n.
        hard: Whether it is a hard commitment, on which a search must save.
        helps: Whether a step helps, so that limited help has nothing to say.
    """

    world_of: Callable[[int], World]
    steps: int
    hard: bool = False
    helps: bool = False

    @property
    def most(self) -> int:
        """Draws a step at which a profile is given up; a search gets the same budget."""
        return 256 if self.steps <= 20 else 128

    @property
    def name(self) -> str:
        """The family."""
        return self.world_of(0).name


def priced(*, quick: bool) -> list[Priced]:
    """List the families in which one step is the answer: hard and soft commitments (the step anywhere), and others."""
    hard = [
        Priced(world_of=partial(_anywhere, f.pivotal, n), steps=n, hard=True) for n in ((10, 20) if quick else LIMITED)
    ]
    if quick:
        return hard
    return [
        *hard,
        *(
            Priced(world_of=partial(_anywhere, family, n), steps=n)
            for family in (f.soft, f.late_rescue)
            for n in (10, 20)
        ),
        *(Priced(world_of=partial(_fixed, f.both, n), steps=n) for n in (3, 20)),
        Priced(world_of=partial(_fixed, f.either, 20), steps=20),
        Priced(world_of=_undone, steps=10, helps=True),
    ]


def price(ask: Part) -> tuple[list[dict[str, Any]], list[Check]]:
    """Compare where one step is the answer; and see that no search is dear where none is."""
    parts = [_compare(each, ask) for each in priced(quick=ask.quick)]
    checks = [check for _, found in parts for check in found]
    if not ask.quick:
        checks += [_dearest(name, max_help, ask) for name, max_help in MODES]
    return [line for rows, _ in parts for line in rows], checks


def _dearest(name: str, max_help: float | None, ask: Part) -> Check:
    """Find the dearest of all searches at n = 10: ties, gradual failures and doomed runs included."""
    seeds = ask.seeds[:MOST_FOR_THE_DEAREST]
    paid = {
        world.name: max(outcome.calls for outcome in searches(world, seeds, max_help=max_help))
        for world in families_of(10)
    }
    family = max(paid, key=lambda each: paid[each])
    ratio = paid[family] / (DRAWS * 10 * 11 / 2)
    title = f"calls of the dearest {name} / default profile, all families, n = 10 (it was {family})"
    return Check(name=title, value=ratio, bound=DEARER, ok=ratio <= DEARER)


def _anywhere(family: Callable[..., World], n: int, seed: int) -> World:
    return family(n, at=7 * seed % n)


def _fixed(family: Callable[..., World], n: int, seed: int) -> World:
    del seed
    return family(n, first=n // 4, second=n // 4 + max(1, n // 3))


def _undone(seed: int) -> World:
    del seed
    return f.undone(10, helped=3, at=6)


def _by_world(each: Priced, seeds: Sequence[int]) -> list[tuple[World, list[int]]]:
    """Put seeds of the same run together."""
    together: dict[bytes, list[int]] = defaultdict(list)
    for seed in seeds:
        together[each.world_of(seed).v.tobytes()].append(seed)
    return [(each.world_of(group[0]), group) for group in together.values()]


def _compare(each: Priced, ask: Part) -> tuple[list[dict[str, Any]], list[Check]]:
    place = f"{each.name}, n = {each.steps}"
    profile = ask.kept(f"price, {place}, profile", partial(_profile_row, each))
    rows, checks = [profile], []
    for (name, max_help), bounds in zip(MODES, (FREE, LIMITED), strict=True):
        if each.helps and max_help is not None:
            continue
        line = ask.kept(f"price, {place}, {name}", partial(_search_row, each, name, max_help))
        saving = profile["calls"] / line["calls"]
        rows.append({**line, "saving": saving})
        title = f"{place}, {name}"
        right = round(line["right"] * ask.repetitions)
        checks.append(at_least(f"right ≥ {RIGHT}: {title}", right, ask.repetitions, RIGHT))
        bound = bounds.get(each.steps, 1 / DEARER) if each.hard else 1 / DEARER
        checks.append(
            Check(name=f"policy calls saved at equal error: {title}", value=saving, bound=bound, ok=saving >= bound)
        )
    return rows, checks


def _search_row(each: Priced, name: str, max_help: float | None, seeds: range) -> dict[str, Any]:
    calls = each.most * each.steps * (each.steps + 1) // 2
    outcomes: list[Outcome] = []
    for world, group in _by_world(each, seeds):
        outcomes += searches(world, group, max_help=max_help, calls=calls)
    return row(each.name, each.steps, name, outcomes)


def _profile_row(each: Priced, seeds: range) -> dict[str, Any]:
    """Find the profile with the fewest draws a step that is right in the wanted share of the repetitions."""
    needed: list[int] = []
    for world, group in _by_world(each, seeds):
        for start in range(0, len(group), TOGETHER):
            needed += draws_until_right(world, group[start : start + TOGETHER], most=each.most).tolist()
    draws, n = int(np.quantile(needed, RIGHT, method="higher")), each.steps
    share = float(np.mean([d <= min(draws, each.most) for d in needed]))
    more = " or more" if draws > each.most else ""
    return {
        "family": each.name,
        "n": n,
        "method": f"profile, {draws}{more} draws a step",
        "right": share,
        "withheld": 1 - share,
        "rollouts": float(draws * n),
        "calls": draws * n * (n + 1) / 2,
        "saving": 1.0,
    }
