"""A planted run for coalitions: independent choices at every step, and an outcome that depends on which went wrong."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import product
from typing import TYPE_CHECKING, Literal

import numpy as np

from butfor.attribution.sampling import Coalition, Draw, DrawResult, ResampleFrom
from butfor.benchmarks.planted.world import uniforms
from butfor.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from butfor.benchmarks.planted.world import Noise


@dataclass(frozen=True, kw_only=True)
class TableWorld:
    """Step k goes wrong (as it did in fact) with probability `bad[k]`, whatever the others did.

    Attributes:
        bad: Probability of the factual, wrong action at each step that matters, by step; other steps do not matter.
        steps: n.
        fails_if: Whether the run fails when all the steps in `bad` went wrong, or any of them.
    """

    steps: int
    bad: dict[int, float]
    fails_if: Literal["all", "any"] = "all"

    def value(self, held: frozenset[int]) -> float:
        """Return v(S) exactly."""
        chances = [1.0 if k in held else p for k, p in self.bad.items()]
        right = [1.0 - p for p in chances]
        return float(np.prod(chances)) if self.fails_if == "all" else 1.0 - float(np.prod(right))

    def shapley(self) -> list[float]:
        """Return φ exactly: steps that do not matter have 0, the others are averaged over all orders."""
        players = list(self.bad)
        values = [0.0] * self.steps
        for bits in product((False, True), repeat=len(players)):
            held = frozenset(k for k, bit in zip(players, bits, strict=True) if bit)
            for k in players:
                if k not in held:
                    share = _order_share(len(held), len(players))
                    values[k] += share * (self.value(held | {k}) - self.value(held))
        return values

    def contrastive(self) -> list[float]:
        """Return effect(k) = 1 − v(steps before k held): what CAR's contrastive estimator estimates."""
        return [1.0 - self.value(frozenset(range(k))) for k in range(self.steps)]

    def results(self, draws: Sequence[Draw], seed: int) -> list[DrawResult]:
        """Simulate draws of coalition or prefix arms, in their order."""
        ids = np.array([draw.index for draw in draws], dtype=np.uint64)
        return self.played(draws, lambda slot: uniforms(seed, ids, slot))

    def played(self, draws: Sequence[Draw], noise: Noise) -> list[DrawResult]:
        """Simulate draws of coalition or prefix arms, in their order, with given noise."""
        held = [_held(draw) for draw in draws]
        wrong = np.stack(
            [
                np.array([k in h for h in held]) | (noise(np.full(len(held), k)) < chance)
                for k, chance in self.bad.items()
            ]
        )
        failed: NDArray[np.bool_] = np.asarray(wrong.all(axis=0) if self.fails_if == "all" else wrong.any(axis=0))
        return [
            DrawResult(outcome=float(y), policy_calls=self.steps - len(h)) for y, h in zip(failed, held, strict=True)
        ]


def _order_share(before: int, players: int) -> float:
    """Share of the orders in which exactly one given set of `before` players comes first, then a given one."""
    share = 1.0 / players
    for i in range(before):
        share *= (i + 1) / (players - 1 - i)
    return share


def _held(draw: Draw) -> frozenset[int]:
    match draw.arm:
        case Coalition(held=held):
            return held
        case ResampleFrom(step=step):
            return frozenset(range(step))
        case _:
            raise InputError(f"a table world has no arm {draw.arm.key}", fix="use coalition or prefix arms")
