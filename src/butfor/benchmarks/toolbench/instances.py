"""The 1,890 actions: 7 seeds × 6 families × (25 moderate + 20 adversarial), fixed before any method is run.

The product is derived from the published total; the effect distribution, costs and strengths of confounding are ours.
"""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING, Literal, TypeAlias

from butfor.benchmarks.toolbench.families import FAMILIES, ROWS, Draw, Family
from butfor.noise import numpy_generator

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    import numpy as np

    from butfor.benchmarks.toolbench.families import Rows

Regime: TypeAlias = Literal["moderate", "adversarial"]

SEEDS = 7
PER_REGIME: Mapping[Regime, int] = {"moderate": 25, "adversarial": 20}
# Every fifth effect lies within one standard error of τ_u = 0, on either side; the others are well away from it. With
# 0.8·3.4 + 0.2·(half a standard error) the Oracle's utility is on the published scale of 2.76.
NEAR_EVERY = 5
FAR = (1.8, 5.0)
HARMFUL = 0.486
# Moderate: the confounder helps or hides, as it happens, and seldom turns the sign. Adversarial: it always opposes.
PUSH: Mapping[Regime, float] = {"moderate": 1.5, "adversarial": 3.5}
# Published accuracy is accounted for by irreversible actions alone, so no cost here exceeds the allowance of 0.5.
COSTS = (0.05, 0.45)
MALFORMED = 0.05


@dataclasses.dataclass(frozen=True, kw_only=True)
class Instance:
    """One proposed action with its truth.

    Attributes:
        family: Its workflow.
        regime: Moderate or adversarial.
        seed: 0 to 6.
        number: Within seed, family and regime.
        root: Root of all randomness.
        effect: τ, never 0.
        near: Whether |τ| is within one standard error.
        push: Confounding, with its sign.
        reversible: Whether the action can be undone.
        cost: Declared cost.
        arguments: What the tool is called with.
        rows: Rows of each table.
    """

    family: Family
    regime: Regime
    seed: int
    number: int
    root: int
    effect: float
    near: bool
    push: float
    reversible: bool
    cost: float
    arguments: Mapping[str, int]
    rows: int = ROWS

    @property
    def harmful(self) -> bool:
        """Whether acting does harm: τ < 0."""
        return self.effect < 0

    @property
    def naive(self) -> float:
        """E[Y | T = 1] − E[Y | T = 0] in the log."""
        return self.effect + self.push * self.family.pull

    @property
    def trap(self) -> bool:
        """Whether the log's contrast has the wrong sign."""
        return (self.naive > 0) != (self.effect > 0)

    def log(self) -> Rows:
        """Draw the observational table."""
        return self._table("log", randomised=False)

    def trial(self) -> Rows:
        """Draw the paired randomised table."""
        return self._table("trial", randomised=True)

    def _table(self, which: str, *, randomised: bool) -> Rows:
        noise = numpy_generator("toolbench", which, self.root, self.family.name, self.regime, self.seed, self.number)
        return self.family.rows(
            Draw(effect=self.effect, push=self.push, n=self.rows, randomised=randomised, noise=noise)
        )


def instances(root: int, *, seeds: Iterable[int] = range(SEEDS), rows: int = ROWS) -> list[Instance]:
    """List the actions, 45 a seed and family."""
    return [
        _instance(family, regime, seed, number, root, rows)
        for seed in seeds
        for family in FAMILIES
        for regime, count in PER_REGIME.items()
        for number in range(count)
    ]


def _instance(family: Family, regime: Regime, seed: int, number: int, root: int, rows: int) -> Instance:
    noise = numpy_generator("toolbench", "instance", root, family.name, regime, seed, number)
    sign = -1.0 if noise.random() < HARMFUL else 1.0
    # An opposing push is −sign(τ); a moderate one has a sign of its own.
    side = -sign if regime == "adversarial" else (1.0 if noise.random() < 0.5 else -1.0)
    push = side * PUSH[regime]
    near = number % NEAR_EVERY == NEAR_EVERY - 1
    size = noise.random() * family.standard_error(push, 0.0) if near else noise.uniform(*FAR)
    return Instance(
        family=family,
        regime=regime,
        seed=seed,
        number=number,
        root=root,
        effect=sign * size,
        near=near,
        push=push,
        reversible=bool(noise.random() < family.reversible),
        cost=float(noise.uniform(*COSTS)),
        arguments=_arguments(family, noise),
        rows=rows,
    )


def _arguments(family: Family, noise: np.random.Generator) -> dict[str, int]:
    """Draw arguments within the schema; now and then one of them is above its highest value."""
    drawn = {name: int(noise.integers(low, high + 1)) for name, (low, high) in family.schema.items()}
    if noise.random() < MALFORMED:
        name, (_, high) = next(iter(family.schema.items()))
        drawn[name] = high + 1
    return drawn
