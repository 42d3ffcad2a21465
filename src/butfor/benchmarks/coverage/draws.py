"""One repetition of a world, and its mirror images."""

from __future__ import annotations

import dataclasses
import zlib
from typing import TYPE_CHECKING, Literal, TypeAlias

import numpy as np

from butfor.estimation import Level

if TYPE_CHECKING:
    from butfor.benchmarks.coverage.worlds import Table, World
    from butfor.estimation import Target

Mirror: TypeAlias = Literal["as drawn", "1 − T", "−Y"]
MIRRORS: tuple[Mirror, ...] = ("as drawn", "1 − T", "−Y")


def drawn(world: World, n: int, repetition: int, seed: int) -> Table:
    """Draw one repetition; its randomness depends on the world's name and nothing that another world does."""
    rng = np.random.default_rng([seed, zlib.crc32(world.name.encode()), n, repetition])
    return world.draw(rng, n)


@dataclasses.dataclass(frozen=True, kw_only=True)
class Turned:
    """A table in one orientation, and what is asked of it.

    Attributes:
        table: Columns by name.
        target: The question in this orientation.
        truth: Its answer.
    """

    table: Table
    target: Target
    truth: float


def turned(world: World, table: Table, mirror: Mirror) -> Turned:
    """Turn a table of a world: the outcome's sign, or which end of the treatment is called 0."""
    target, truth = world.target, world.truth
    if mirror == "−Y":
        return Turned(table={**table, "y": -table["y"]}, target=target, truth=-truth)
    if mirror == "as drawn":
        return Turned(table=table, target=target, truth=truth)
    # do(T = 1) is do(T = 0) now: a contrast changes its sign, a level keeps its value.
    other = {**table, "t": 1.0 - table["t"]}
    if isinstance(target, Level):
        return Turned(table=other, target=Level(at=1.0 - float(target.at)), truth=truth)
    return Turned(table=other, target=target, truth=-truth)
