"""Exact standardisation over discrete strata, from cells alone."""

from __future__ import annotations

import dataclasses
import math
from typing import TYPE_CHECKING

import numpy as np

from butfor.estimation import limits
from butfor.estimation.answers import Effect, EffectEstimate, Insufficient
from butfor.estimation.few_events import few_event_bounds, two_valued
from butfor.estimation.questions import Contrast
from butfor.estimation.scores import Spread, refuse_spread

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from butfor.estimation.cells import Cells
    from butfor.estimation.questions import Target

# A cell's own variance is mixed with its arm's pooled one as if this many further units had been seen.
POOLED_UNITS = 4.0


@dataclasses.dataclass(frozen=True, kw_only=True, eq=False)
class _Arm:
    """One arm, by stratum: units, mean, variance of an outcome, each shape (strata,)."""

    name: str
    n: NDArray[np.float64]
    mean: NDArray[np.float64]
    variance: NDArray[np.float64]


def standardise(
    cells: Cells,
    *,
    target: Target,
    alpha: float = 0.05,
    rows: Spread | None = None,
    outcome_range: tuple[float, float] | None = None,
) -> Effect:
    """Average a contrast, or a level, of stratum means over the strata's shares among all units.

    Estimand: Σ_z P(z) (E[Y | t*, z] − E[Y | t0, z]), or its first half.
    Assumptions: the strata close every back-door path; independent units; both arms possible in every stratum.
    Guarantee: asymptotic (Student's t with Satterthwaite's degrees of freedom, Hall's correction where the skewness is
    given); for a 0/1 outcome with few events an exact binomial bound at the effective sample size, combined by MOVER.
    Reference: Robins 1986 (g-formula); Korn and Graubard 1998; Zou and Donner 2008.

    Args:
        cells: Counts and sums by stratum and arm.
        target: What is asked.
        alpha: Allowed error of the lower bound.
        rows: How the rows' scores vary, where rows were there to measure it: their skewness is used, their degrees of
            freedom where fewer, and their standard error where larger.
        outcome_range: Lowest and highest possible outcome, where declared: a 0/1 outcome that was never seen to vary
            then has a bound (three in n, about); without a range it is refused.
    """
    if _scale(cells) == 0.0 and not (outcome_range and two_valued(cells)):
        return Insufficient(reason_code="constant_outcome", sentence="the outcome is the same for every unit")
    wanted = (target.to, target.against) if isinstance(target, Contrast) else (target.at,)
    places = [_place(cells, float(value)) for value in wanted]
    names = [f"{float(value):g}" for value in wanted]
    for name, place in zip(names, places, strict=True):
        seen = 0 if place is None else int(cells.n[:, place].sum())
        if seen < (smallest := limits.SMALLEST_COUNTED_ARM if two_valued(cells) else limits.SMALLEST_ARM):
            return _too_few(name, seen, smallest)
    arms = [_arm(cells, name, place) for name, place in zip(names, places, strict=True) if place is not None]
    share = cells.n.sum(axis=1) / cells.n.sum()
    measured, refusal = _refuse_overlap(arms, share)
    if refusal is not None:
        return refusal
    return _answer(cells, arms, share, measured, target, alpha, rows)


def _place(cells: Cells, value: float) -> int | None:
    found = np.flatnonzero(cells.arms == value)
    return int(found[0]) if found.size else None


def _too_few(name: str, seen: int, smallest: int) -> Insufficient:
    return Insufficient(
        reason_code="insufficient_evidence",
        sentence=f"the arm {name} has {seen} units, fewer than {smallest}",
        diagnostics={f"units in arm {name}": float(seen)},
    )


def _arm(cells: Cells, name: str, place: int) -> _Arm:
    n = cells.n[:, place].astype(float)
    some = np.maximum(n, 1.0)
    mean = cells.total[:, place] / some
    squares = np.maximum(cells.squares[:, place] - n * mean**2, 0.0)
    freedom = np.maximum(n - 1.0, 0.0)
    pooled = squares.sum() / max(1.0, freedom.sum())
    variance = (squares + POOLED_UNITS * pooled) / (freedom + POOLED_UNITS)
    return _Arm(name=name, n=n, mean=mean * cells.unit, variance=variance * cells.unit**2)


def _refuse_overlap(arms: list[_Arm], share: NDArray[np.float64]) -> tuple[dict[str, float], Insufficient | None]:
    measured: dict[str, float] = {}
    for arm in arms:
        empty = float(share[arm.n == 0].sum())
        measured[f"share of units in strata without arm {arm.name}"] = empty
        if empty > 0.0:
            return measured, Insufficient(
                reason_code="positivity",
                sentence=f"{empty:.1%} of the units are in strata in which arm {arm.name} was never seen",
                diagnostics=measured,
            )
        ess = 1.0 / float((share**2 / arm.n).sum())
        measured[f"effective sample size of arm {arm.name}"] = ess
        if ess < min(limits.SMALLEST_ESS, 0.8 * arm.n.sum()) or ess < limits.SMALLEST_ESS_SHARE * arm.n.sum():
            return measured, Insufficient(
                reason_code="positivity",
                sentence=f"the {arm.n.sum():.0f} units of arm {arm.name} are worth {ess:.1f} after weighting",
                diagnostics=measured,
            )
    return measured, None


def _answer(
    cells: Cells,
    arms: list[_Arm],
    share: NDArray[np.float64],
    measured: dict[str, float],
    target: Target,
    alpha: float,
    rows: Spread | None,
) -> Effect:
    signs = (1.0, -1.0)
    effect = sum(sign * arm.mean for sign, arm in zip(signs, arms, strict=False))
    point = float((share * effect).sum())
    among = float((share * (effect - point) ** 2).sum()) / cells.n.sum()
    few = few_event_bounds(cells, [arm.name for arm in arms], share, alpha, among)
    spread = _spread(arms, share, among, rows)
    found, refusal = refuse_spread(spread, _scale(cells), None)
    if few is None and refusal is not None:
        return refusal
    bounds = (spread.lower(point, alpha), spread.upper(point, alpha)) if few is None else few
    return EffectEstimate(
        point=point,
        lower=bounds[0],
        upper=bounds[1],
        alpha=alpha,
        n_per_arm={arm.name: int(arm.n.sum()) for arm in arms},
        target="contrast" if isinstance(target, Contrast) else "level",
        estimator="standardisation over strata" + ("" if few is None else ", bound for few events"),
        assumptions=("independent units", "every arm possible in every stratum"),
        diagnostics={**measured, **(found if few is None else {})},
        guarantee="asymptotic",
    )


def _spread(arms: list[_Arm], share: NDArray[np.float64], among: float, rows: Spread | None) -> Spread:
    """Welch–Satterthwaite over cells, and over units for how the effect varies among strata."""
    parts = np.concatenate([share**2 * arm.variance / arm.n for arm in arms])
    freedom = np.concatenate([arm.n - 1.0 + POOLED_UNITS for arm in arms])
    total = float(parts.sum()) + among
    units = float(sum(arm.n.sum() for arm in arms))
    denominator = float((parts**2 / freedom).sum()) + among**2 / units
    own = Spread(se=math.sqrt(total), df=total**2 / denominator if denominator > 0 else 1.0, skew=0.0)
    if rows is None:
        return own
    return Spread(se=max(own.se, rows.se), df=min(own.df, rows.df), skew=rows.skew)


def _scale(cells: Cells) -> float:
    """Standard deviation of the outcome; 0 exactly where it never varies, since the sums are whole numbers."""
    n, total, squares = int(cells.n.sum()), int(cells.total.sum()), int(cells.squares.sum())
    return math.sqrt(max(0, n * squares - total**2)) / n * cells.unit
