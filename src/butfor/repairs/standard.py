"""What a repair must show, and at which level each hypothesis of a failure is tested."""

from __future__ import annotations

import math
from dataclasses import dataclass

from butfor.errors import InputError

# A true lift of .5 (from .4 to .9) is accepted within 96 rollouts, both arms together, in 95% of 1,000 simulated
# failures, in half of them within 48; a lift from .2 to .7 against a target of .5 needs more than this in a quarter.
MOST = 96


def level_of(hypothesis: int, alpha: float) -> float:
    """Return the level of the j-th hypothesis of a failure, j from 1: 6α/(π²j²); they add up to α.

    Raises:
        InputError: There is no such number.
    """
    if hypothesis < 1:
        raise InputError(f"hypotheses are counted from 1, not from {hypothesis}")
    return 6.0 * alpha / (math.pi**2 * hypothesis**2)


@dataclass(frozen=True, kw_only=True)
class Standard:
    """What a repair must show.

    Attributes:
        target: P(success | repaired step) has to be shown to be at least this.
        alpha: P(any candidate that is no better than deciding again is accepted), over all hypotheses of a failure.
        most: Draws of each arm, at most.
        graded: Whether the outcome is known to take values other than 0 and 1.
    """

    target: float = 0.5
    alpha: float = 0.05
    most: int = MOST
    graded: bool = False

    def __post_init__(self) -> None:
        if not (0.0 < self.alpha < 1.0 and 0.0 <= self.target <= 1.0 and self.most >= 1):
            raise InputError(
                f"a standard with target {self.target:g}, level {self.alpha:g} and {self.most} draws cannot be met",
                fix="choose a target from 0 to 1, a level between 0 and 1, and at least one draw",
            )
