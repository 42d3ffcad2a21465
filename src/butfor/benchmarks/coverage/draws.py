"""One repetition of a world, and its mirror images."""

from __future__ import annotations

import zlib
from typing import TYPE_CHECKING, Literal, TypeAlias

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from butfor.benchmarks.coverage.worlds import Table, World

Mirror: TypeAlias = Literal["as drawn", "1 − T", "−Y"]
MIRRORS: tuple[Mirror, ...] = ("as drawn", "1 − T", "−Y")


def drawn(world: World, n: int, repetition: int, seed: int) -> Table:
    """Draw one repetition; its randomness depends on the world's name and nothing that another world does."""
    rng = np.random.default_rng([seed, zlib.crc32(world.name.encode()), n, repetition])
    return world.draw(rng, n)


def mirrored(table: Table, truth: float, mirror: Mirror) -> tuple[dict[str, NDArray[np.float64]], float]:
    """Return the table and its truth in an orientation."""
    turned = dict(table)
    if mirror == "as drawn":
        return turned, truth
    column = "t" if mirror == "1 − T" else "y"
    turned[column] = 1.0 - table["t"] if column == "t" else -table["y"]
    return turned, -truth
