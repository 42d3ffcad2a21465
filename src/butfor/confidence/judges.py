"""From a judge's score to the truth, where a labelled set says how the judge errs."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import product
from typing import TYPE_CHECKING

from butfor.confidence.estimates import Estimate, Interval, Undefined
from butfor.confidence.proportions import clopper_pearson
from butfor.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Callable

SAME_ERRORS = "the judge errs on these runs as often as on the labelled ones, in every arm alike"


@dataclass(frozen=True, kw_only=True)
class LabelledSet:
    """How a 0/1 judge did on runs whose truth the user knows.

    Attributes:
        bad: Runs that are truly bad.
        bad_found: Of those, called bad by the judge.
        good: Runs that are truly good.
        good_found: Of those, called good by the judge.
    """

    bad: int
    bad_found: int
    good: int
    good_found: int

    def __post_init__(self) -> None:
        if not (0 <= self.bad_found <= self.bad and 0 <= self.good_found <= self.good):
            raise InputError("the labelled set finds more runs than it has", fix="count each labelled run once")

    def rates(self, alpha: float) -> tuple[Interval, Interval]:
        """Bound sensitivity and specificity, each at `alpha`."""
        return (
            clopper_pearson(self.bad_found, self.bad, alpha=alpha),
            clopper_pearson(self.good_found, self.good, alpha=alpha),
        )


def without_bias(score: Interval, labelled: LabelledSet, *, alpha: float = 0.05) -> Interval:
    """Turn a judge's mean into the true share of bad runs.

    Estimand: P(bad), with P(judge says bad) = se·P(bad) + (1 − sp)·(1 − P(bad)).
    Assumptions: those of the score and: the judge errs on these runs as often as on the labelled ones.
    Guarantee: finite-sample, at the score's level plus alpha.
    Reference: Rogan and Gladen 1978, with exact bounds on both rates.

    Args:
        score: The judge's mean.
        labelled: The user's labelled set.
        alpha: Level of the two rates together.
    """
    return _corrected(score, labelled, alpha, lambda q, se, sp: min(1.0, max(0.0, (q + sp - 1) / (se + sp - 1))))


def effect_without_bias(effect: Interval, labelled: LabelledSet, *, alpha: float = 0.05) -> Interval:
    """Turn a difference of a judge's means into the true difference: it is divided by se + sp − 1.

    Estimand, assumptions, guarantee and reference: as `without_bias`.
    """
    return _corrected(effect, labelled, alpha, lambda d, se, sp: min(1.0, max(-1.0, d / (se + sp - 1))))


def _corrected(
    score: Interval, labelled: LabelledSet, alpha: float, truth: Callable[[float, float, float], float]
) -> Interval:
    """Apply `truth` to all corners of the box of bounds; it is monotone in each argument, so these hold its range."""
    sensitivity, specificity = labelled.rates(alpha / 2.0)
    for part in (score, sensitivity, specificity):
        if isinstance(part, Undefined):
            return part
    assert isinstance(score, Estimate)
    assert isinstance(sensitivity, Estimate)
    assert isinstance(specificity, Estimate)
    if sensitivity.lower + specificity.lower <= 1.0:
        return Undefined(reason="the labelled set does not show that the judge is better than chance")
    box = ((part.lower, part.upper) for part in (score, sensitivity, specificity))
    corners = [truth(*corner) for corner in product(*box)]
    return Estimate(
        point=truth(score.point, sensitivity.point, specificity.point),
        lower=min(corners),
        upper=max(corners),
        alpha=min(1.0, score.alpha + alpha),
        n=score.n,
        method=f"{score.method}, corrected for the judge's errors (Rogan–Gladen)",
        assumptions=(*score.assumptions, SAME_ERRORS),
    )
