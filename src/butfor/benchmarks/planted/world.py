"""A planted run: a table policy whose v(k) is known exactly, and its vectorised simulator.

At step k the policy takes the factual action again with probability `match[k]`; at its first other action the run
leaves the factual path and fails with probability `off_path[k]`. Every v(k) follows:

    v(n) = y,    v(k) = match[k]·v(k+1) + (1 − match[k])·off_path[k].

A result depends on (seed, draw id) alone, so it is the same in whatever order draws are executed, and a real agent
that takes its uniforms from `uniforms` gives the same results draw for draw.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias

import numpy as np

from butfor.attribution.sampling import Draw, DrawResult, ResampleFrom
from butfor.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from numpy.typing import NDArray

Noise: TypeAlias = "Callable[[NDArray[np.int64]], NDArray[np.float64]]"
"""Slots to uniforms, one each for a batch of draws; step j uses slot j, the outcome `OUTCOME`."""

OUTCOME, GONE, LENGTH = -1, -2, -3

_GOLDEN = np.uint64(0x9E3779B97F4A7C15)
_SEEDS, _SLOTS = np.uint64(0xD1342543DE82EF95), np.uint64(0xA24BAED4963EE407)


def uniforms(
    seed: int | NDArray[np.uint64], ids: NDArray[np.uint64], slot: int | NDArray[np.int64]
) -> NDArray[np.float64]:
    """Return one uniform in [0, 1) for each draw id: the SplitMix64 hash of (seed, id, slot), shape of `ids`.

    Args:
        seed: Root of the simulation, or one for each draw.
        ids: Draw ids.
        slot: What the uniform is for, or one for each draw: step j uses slot j; the outcome, gaps and lengths use
            `OUTCOME`, `GONE` and `LENGTH`.
    """
    with np.errstate(over="ignore"):
        seeds, slots = np.asarray(seed).astype(np.uint64), (np.asarray(slot) + 3).astype(np.uint64)
        start = (seeds * _SEEDS + slots * _SLOTS) | np.uint64(1)
        state = _mix(ids * _GOLDEN + start)
        state = _mix(state ^ start)
    return (state >> np.uint64(11)).astype(np.float64) * 2.0**-53


def _mix(x: NDArray[np.uint64]) -> NDArray[np.uint64]:
    x = (x ^ (x >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    x = (x ^ (x >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return x ^ (x >> np.uint64(31))


@dataclass(frozen=True, kw_only=True)
class Rolled:
    """Simulated rollouts as columns; all of shape (draws,).

    Attributes:
        bad: Whether it failed.
        gone: Whether it ended without an outcome.
        left: The step at which it left the factual path, n where it never did.
        calls: Policy calls.
    """

    bad: NDArray[np.bool_]
    gone: NDArray[np.bool_]
    left: NDArray[np.int64]
    calls: NDArray[np.int64]


@dataclass(frozen=True, kw_only=True)
class World:
    """A run with planted truth.

    Attributes:
        name: The family.
        v: v(0) … v(n), shape (n + 1,).
        match: Probability that step k comes out the same, shape (n,).
        missing: Probability that a rollout ends without an outcome, whatever it would have been.
        spread: Lengths vary: a rollout of r remaining steps takes between (1 − spread)·r and (1 + spread)·r calls.
        slow: Times that a failing rollout takes as long as another.
    """

    name: str
    v: NDArray[np.float64]
    match: NDArray[np.float64]
    missing: float = 0.0
    spread: float = 0.0
    slow: float = 1.0

    def __post_init__(self) -> None:
        if not np.all((self.off_path >= -1e-9) & (self.off_path <= 1 + 1e-9)):
            raise InputError(f"no policy has these v(k) and matches ({self.name})", fix="lower the match probabilities")

    @property
    def steps(self) -> int:
        """Number of steps n."""
        return self.match.size

    @property
    def off_path(self) -> NDArray[np.float64]:
        """Probability of failing once step k took another action than the factual one, shape (n,)."""
        leaving = 1.0 - self.match
        return np.where(
            leaving > 0, (self.v[:-1] - self.match * self.v[1:]) / np.where(leaving > 0, leaving, 1.0), self.v[:-1]
        )

    @property
    def blame(self) -> NDArray[np.float64]:
        """v(k+1) − v(k), shape (n,)."""
        return np.diff(self.v)

    def right(self, tie: float) -> frozenset[int]:
        """Return the steps that are a right answer: blame within `tie` of the largest."""
        return frozenset(int(k) for k in np.flatnonzero(self.blame >= self.blame.max() - tie - 1e-12))

    def commit_point(self, margin: float) -> int | None:
        """Return the last step with effect above `margin`, None where there is none."""
        open_steps = np.flatnonzero(self.v[-1] - self.v[:-1] > margin)
        return int(open_steps[-1]) if open_steps.size else None

    def results(self, draws: Sequence[Draw], seed: int) -> list[DrawResult]:
        """Simulate draws of prefix arms, in their order."""
        ids = np.array([draw.index for draw in draws], dtype=np.uint64)
        return self.played(draws, lambda slot: uniforms(seed, ids, slot))

    def played(self, draws: Sequence[Draw], noise: Noise) -> list[DrawResult]:
        """Simulate draws of prefix arms, in their order, with given noise."""
        start = np.array([_step_of(draw) for draw in draws], dtype=np.int64)
        rolled = self.rolled(start, noise)
        return [
            DrawResult(
                outcome=None if gone else float(bad),
                matched=left > step if step < self.steps else None,
                held_until=left,
                policy_calls=calls,
            )
            for step, bad, gone, left, calls in zip(
                start.tolist(),
                rolled.bad.tolist(),
                rolled.gone.tolist(),
                rolled.left.tolist(),
                rolled.calls.tolist(),
                strict=True,
            )
        ]

    def rolled(self, start: NDArray[np.int64], noise: Noise) -> Rolled:
        """Simulate rollouts of the arms `start`, shape (draws,), with given noise."""
        left = self._leaves_at(start, noise)
        chance = np.append(self.off_path, self.v[-1])[left]
        calls = (self.steps - start).astype(np.float64)
        if self.spread:
            calls *= 1.0 + self.spread * (2.0 * noise(np.full(start.size, LENGTH)) - 1.0)
        gone = noise(np.full(start.size, GONE)) < self.missing if self.missing else np.zeros(start.size, dtype=bool)
        return Rolled(
            bad=noise(np.full(start.size, OUTCOME)) < chance,
            gone=gone,
            left=left,
            calls=np.rint(calls).astype(np.int64),
        )

    def _leaves_at(self, start: NDArray[np.int64], noise: Noise) -> NDArray[np.int64]:
        """Return the step at which each rollout leaves the factual path, n where it never does."""
        left, stays = start.copy(), np.append(self.match, 0.0)
        going = stays[left] > 0
        while going.any():
            going &= noise(np.minimum(left, self.steps - 1)) < stays[left]
            left += going
        return left


def _step_of(draw: Draw) -> int:
    if not isinstance(draw.arm, ResampleFrom):
        raise InputError(f"a prefix world has no arm {draw.arm.key}", fix="use a TableWorld for coalitions")
    return draw.arm.step
