"""Simultaneous bounds on v, effect and blame of every step, and what follows from them."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from butfor.attribution.answers import Role
from butfor.confidence import Estimate, Interval, Undefined, bonferroni, difference

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from butfor.attribution.margins import Margins
    from butfor.attribution.tally import Tally

# Mechanical: the action comes out the same with at least this probability, shown at the simultaneous level.
SAME_ACTION = 0.5


@dataclass(frozen=True, kw_only=True)
class Bands:
    """Bounds that all hold together with probability ≥ 1 − α.

    Attributes:
        v: v(0) … v(n − 1).
        effect: y − v(k).
        blame: v(k+1) − v(k).
        match: Probability that step k comes out the same; these bounds are simultaneous among themselves.
    """

    v: tuple[Interval, ...]
    effect: tuple[Interval, ...]
    blame: tuple[Interval, ...]
    match: tuple[Interval, ...]


def bands_of(tally: Tally, *, factual: Estimate, alpha: float, complete: bool, refused: Mapping[int, str]) -> Bands:
    """Bound all steps at once.

    Estimand: v(k), y − v(k) and v(k+1) − v(k) for every k.
    Assumptions: rollouts of an arm are independent; where y is a judge's mean, its own interval at its own level.
    Guarantee: finite-sample, simultaneous at 1 − alpha (plus the level of y). With `complete` the number of draws was
    planned; otherwise the bounds are confidence sequences and hold whatever stopped the drawing.
    Reference: Bonferroni over v; all differences follow from the same bounds at no further price.
    """
    level = bonferroni(alpha, tally.steps)
    bound = tally.mean_interval if complete else tally.mean_sequence
    v: list[Interval] = [
        Undefined(reason=refused[k]) if k in refused else bound(k, alpha=level) for k in range(tally.steps)
    ]
    at_once = [replace(x, alpha=alpha) if isinstance(x, Estimate) else x for x in v]
    chain = [*at_once, factual]
    return Bands(
        v=tuple(at_once),
        effect=tuple(_together(difference(factual, x), alpha + factual.alpha) for x in at_once),
        blame=tuple(
            _together(difference(chain[k + 1], chain[k]), alpha + (factual.alpha if k + 1 == tally.steps else 0.0))
            for k in range(tally.steps)
        ),
        match=tuple(tally.match_interval(k, alpha=level) for k in range(tally.steps)),
    )


def _together(interval: Interval, alpha: float) -> Interval:
    """Give a difference the level of the whole set of bounds, not the sum of its two parts' levels."""
    return replace(interval, alpha=alpha) if isinstance(interval, Estimate) else interval


def commit_points(effects: Sequence[Interval], *, margin: float) -> list[int | None]:
    """List what the last step with effect > margin can be, given simultaneous bounds; None: no step has one."""
    possible: list[int | None] = []
    for k in reversed(range(len(effects))):
        effect = effects[k]
        if isinstance(effect, Undefined) or effect.upper > margin:
            possible.append(k)
        if isinstance(effect, Estimate) and effect.lower > margin:
            return possible[::-1]
    return [None, *possible[::-1]]


def role_of(blame: Interval, match: Interval, *, decisive: bool, in_set: bool, margins: Margins) -> Role:
    """Name what a step did, from its bounds and from whether it may still be the decisive one."""
    if decisive:
        return Role.DECISIVE
    if isinstance(blame, Estimate):
        if isinstance(match, Estimate) and match.lower >= SAME_ACTION and _nothing_hangs_on_it(blame, match, margins):
            return Role.MECHANICAL
        if blame.lower > 0.0:
            return Role.CONTRIBUTES
        if blame.upper < 0.0:
            return Role.HELPED
        if -margins.decisive < blame.lower and blame.upper < margins.decisive:
            return Role.NO_EFFECT
    return Role.INCONCLUSIVE if in_set else Role.RULED_OUT


def _nothing_hangs_on_it(blame: Estimate, match: Estimate, margins: Margins) -> bool:
    """Tell whether |blame| < δ_d: a step that comes out the same with probability q moves v by at most 1 − q."""
    reach = 1.0 - match.lower
    return min(blame.upper, reach) < margins.decisive and max(blame.lower, -reach) > -margins.decisive
