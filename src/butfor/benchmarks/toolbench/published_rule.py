"""The paper's gate as published, written out without ours: what our paper settings are held against.

Published: least squares on the rows, one-sided 95% normal bound above 0, declared cost at most 0.5; identified and low
→ REJECT; unidentified → EXPERIMENT if reversible and cheap, decided on the randomised rows by the same rule,
else ABSTAIN.
Ours, since the paper does not say: a front-door effect is the product of two regressions; an instrument, which no graph
makes an identifier by itself, leaves the effect unidentified.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from butfor.benchmarks.toolbench.cases import Ruling
from butfor.benchmarks.toolbench.regression import effect_of, lower, through
from butfor.identification import Adjustment, FrontDoor, Proof, Query, identify

if TYPE_CHECKING:
    from butfor.benchmarks.toolbench.cases import Case

ALPHA, TAU_U, TAU_R = 0.05, 0.0, 0.5


def papers_gate(case: Case) -> Ruling:
    """Rule as the paper's gate does."""
    family, cheap = case.instance.family, case.instance.cost <= TAU_R
    estimate = from_log(case)
    if estimate is not None:
        passed = lower(estimate, ALPHA) > TAU_U and cheap
        return Ruling(verdict="EXECUTE" if passed else "REJECT", executed=passed)
    if not (case.instance.reversible and cheap):
        return Ruling(verdict="ABSTAIN", executed=False)
    found = effect_of(case.trial, family.treatment, family.outcome)
    return Ruling(verdict="EXPERIMENT", executed=lower(found, ALPHA) > TAU_U)


def from_log(case: Case) -> tuple[float, float] | None:
    """Estimate as the case's graph says, with a standard error; None where the graph does not identify the effect."""
    family = case.instance.family
    answer = identify(case.graph, Query.effect(family.treatment, family.outcome))
    if not isinstance(answer, Proof):
        return None
    if isinstance(answer.argument, Adjustment):
        return effect_of(case.log, family.treatment, family.outcome, answer.argument.adjust_for)
    if isinstance(answer.argument, FrontDoor):
        return through(case.log, family.treatment, answer.argument.mediators[0], family.outcome)
    return None
