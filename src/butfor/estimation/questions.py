"""What is asked of evidence, and what stands for a proof where the treatment was assigned."""

from __future__ import annotations

import dataclasses
from typing import Literal, TypeAlias

from butfor.errors import InputError


@dataclasses.dataclass(frozen=True, kw_only=True)
class Contrast:
    """E[Y | do(T = to)] − E[Y | do(T = against)].

    Attributes:
        to: t*, a number or one of the treatment's texts.
        against: t0.
    """

    to: float | str = 1.0
    against: float | str = 0.0

    def __post_init__(self) -> None:
        if self.to == self.against:
            raise InputError(f"a contrast of {self.to!r} with itself is 0", fix="name two treatment values")


@dataclasses.dataclass(frozen=True, kw_only=True)
class Level:
    """E[Y | do(T = at)]."""

    at: float | str


Target: TypeAlias = Contrast | Level


@dataclasses.dataclass(frozen=True, kw_only=True)
class Randomised:
    """The treatment was assigned at random: what a trial has in place of a proof.

    Attributes:
        adjust_for: Pre-treatment columns that sharpen the estimate; none are needed for it to be right.
    """

    adjust_for: tuple[str, ...] = ()
    kind: Literal["randomised"] = "randomised"
