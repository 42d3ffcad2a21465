"""Bounds on a difference."""

from __future__ import annotations

import math

from butfor.confidence.estimates import Estimate, Interval, Undefined


def difference(a: Interval, b: Interval) -> Interval:
    """Bound a − b from the bounds on a and on b.

    Estimand: the difference of the two estimands.
    Assumptions: those of a and of b; nothing about how the two depend on each other.
    Guarantee: that of a and b together (alpha adds up); where a and b come from one set of simultaneous bounds, all
    differences within the set hold at the set's own level.
    Reference: union bound.
    """
    for side in (a, b):
        if isinstance(side, Undefined):
            return side
    assert isinstance(a, Estimate)
    assert isinstance(b, Estimate)
    return Estimate(
        point=a.point - b.point,
        lower=a.lower - b.upper,
        upper=a.upper - b.lower,
        alpha=min(1.0, a.alpha + b.alpha),
        n=a.n + b.n,
        method=f"difference of two bounds ({a.method}; {b.method})",
        assumptions=tuple(dict.fromkeys((*a.assumptions, *b.assumptions))),
    )


def newcombe(a: Interval, b: Interval) -> Interval:
    """Bound a − b approximately from two Wilson intervals, for display.

    Estimand: the difference of two proportions.
    Assumptions: two independent samples.
    Guarantee: asymptotic; it covers .93 at worst for a nominal .95.
    Reference: Newcombe 1998, method 10.
    """
    for side in (a, b):
        if isinstance(side, Undefined):
            return side
    assert isinstance(a, Estimate)
    assert isinstance(b, Estimate)
    gap = a.point - b.point
    return Estimate(
        point=gap,
        lower=gap - math.hypot(a.point - a.lower, b.upper - b.point),
        upper=gap + math.hypot(a.upper - a.point, b.point - b.lower),
        alpha=max(a.alpha, b.alpha),
        n=a.n + b.n,
        method="Newcombe (approximate)",
        assumptions=tuple(dict.fromkeys((*a.assumptions, *b.assumptions, "the two samples are independent"))),
    )
