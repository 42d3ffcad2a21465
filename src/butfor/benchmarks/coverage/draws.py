"""One repetition of a world."""

from __future__ import annotations

import zlib
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from butfor.benchmarks.coverage.worlds import Table, World


def drawn(world: World, n: int, repetition: int, seed: int) -> Table:
    """Draw one repetition; its randomness depends on the world's name and nothing that another world does."""
    rng = np.random.default_rng([seed, zlib.crc32(world.name.encode()), n, repetition])
    return world.draw(rng, n)
