"""Effects through mediators: the front-door formula as a plug-in, discrete or linear."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from butfor.estimation import limits
from butfor.estimation.aipw import Arms
from butfor.estimation.answers import Effect, EffectEstimate, Insufficient
from butfor.estimation.basis import linear_basis
from butfor.estimation.cells import combinations
from butfor.estimation.diagnostics import refuse_arms, refuse_constant, refuse_order
from butfor.estimation.questions import Contrast
from butfor.estimation.scores import refuse_spread, spread_of

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from butfor.estimation.columns import Columns
    from butfor.estimation.questions import Target

# A product of two estimates is skewed when units are few: at 100, 7% of nominal 5% bounds missed in one mirror.
FEWEST_UNITS = 150
# Units that a combination of mediators and treatment must have. It is low on purpose: asking for 15 with 100 units kept
# the samples in which the mediators happen to differ little between the arms, and over half of those missed.
SMALLEST_CELL = 5
_DISCRETE = "every treatment possible at every value of the mediators"
_LINEAR = "mediators linear in the treatment, outcome linear in mediators and treatment"


def front_door(columns: Columns, mediators: tuple[str, ...], *, target: Target, alpha: float = 0.05) -> Effect:
    """Estimate Σ_m P(m | t) Σ_t' E[Y | t', m] P(t'), for t* less t0 or for t* alone.

    Estimand: E[Y | do(t*)] − E[Y | do(t0)], or the first alone.
    Assumptions: the mediators carry the whole effect; where all are discrete nothing else but support, else a linear
    model of each mediator and of the outcome.
    Guarantee: asymptotic, from the influence function of the plug-in.
    Reference: Pearl 1995; Fulcher et al. 2020.
    """
    columns.require(mediators)
    refusal = refuse_constant(columns.y)
    if refusal is not None:
        return refusal
    if columns.n < FEWEST_UNITS:
        sentence = f"{columns.n} units are fewer than {FEWEST_UNITS}, which a product of two estimates needs"
        return Insufficient(reason_code="insufficient_evidence", sentence=sentence)
    if columns.discrete.issuperset({columns.treatment, *mediators}):
        arms = Arms.of(columns, target)
        found = refuse_arms(arms.n) or _saturated(columns, mediators, target)
        counts = arms.n
    else:
        found, counts = _linear(columns, mediators, target), {"all": columns.n}
    if isinstance(found, Insufficient):
        return found
    point, scores, fitted, assumption = found
    in_order, refusal = refuse_order(columns, scores)
    if refusal is not None:
        return refusal
    spread = spread_of(scores, clusters=columns.clusters, fitted=fitted)
    measured, refusal = refuse_spread(spread, float(columns.y.std()), columns.clusters)
    if refusal is not None:
        return refusal
    return EffectEstimate(
        point=point,
        lower=spread.lower(point, alpha),
        upper=spread.upper(point, alpha),
        alpha=alpha,
        n_per_arm=counts,
        target="contrast" if isinstance(target, Contrast) else "level",
        estimator="front-door plug-in",
        assumptions=("independent units" if columns.clusters is None else "independent clusters", assumption),
        diagnostics={**in_order, **measured},
        guarantee="asymptotic",
    )


_Found = tuple[float, "NDArray[np.float64]", int, str]


def _saturated(columns: Columns, mediators: tuple[str, ...], target: Target) -> _Found | Insufficient:
    """Plug in cell frequencies and means; the scores are the efficient influence function at them."""
    n = columns.n
    keys, m = combinations([columns.table[name] for name in mediators], n)
    arms, t = combinations([columns.t], n)
    shape = (keys.shape[0], arms.shape[0])
    cell = m * shape[1] + t
    counts = np.bincount(cell, minlength=shape[0] * shape[1]).reshape(shape)
    if counts.min() < SMALLEST_CELL:
        return Insufficient(
            reason_code="positivity",
            sentence=f"mediators and treatment meet {counts.min()} times in a cell, fewer than {SMALLEST_CELL}",
            diagnostics={"smallest cell": float(counts.min())},
        )
    mean = np.bincount(cell, weights=columns.y, minlength=counts.size).reshape(shape) / counts
    p_t, p_m_t = counts.sum(axis=0) / n, counts / counts.sum(axis=0)
    inner = mean @ p_t  # Σ_t' E[Y | t', m] P(t'), shape (mediator values,)
    point, scores = 0.0, np.zeros(n)
    wanted = (target.to, target.against) if isinstance(target, Contrast) else (target.at,)
    for sign, value in zip((1.0, -1.0), wanted, strict=False):
        place = int(np.flatnonzero(arms[:, 0] == columns.value(columns.treatment, value))[0])
        weight = p_m_t[:, place]
        level = float(weight @ inner)
        point += sign * level
        outcome = (weight[m] / p_m_t[m, t]) * (columns.y - mean[m, t])
        treatment = (weight @ mean)[t] - level
        mediator = (t == place) / p_t[place] * (inner[m] - level)
        scores += sign * (outcome + treatment + mediator)
    return point, point + scores, 2 * counts.size - 1, _DISCRETE


def _linear(columns: Columns, mediators: tuple[str, ...], target: Target) -> _Found | Insufficient:
    """Multiply the treatment's slopes on the mediators with the mediators' slopes on the outcome."""
    if not isinstance(target, Contrast):
        return Insufficient(reason_code="unsupported", sentence="linear mediators give a contrast, not a level")
    if min(Arms.of(columns, target).n.values()) < limits.SMALLEST_ARM and columns.treatment in columns.discrete:
        return Insufficient(reason_code="insufficient_evidence", sentence="an arm has too few units")
    first = linear_basis(columns, [columns.treatment])
    m = columns.matrix(mediators)
    second = np.column_stack([first, m])
    if np.linalg.matrix_rank((second - second.mean(axis=0))[:, 1:]) < second.shape[1] - 1:
        return Insufficient(reason_code="positivity", sentence="the treatment and the other mediators determine one")
    slope_m, score_m = _fit(first, m)
    slope_y, score_y = _fit(second, columns.y[:, None])
    step = float(columns.value(columns.treatment, target.to)) - float(columns.value(columns.treatment, target.against))
    step /= float(columns.t.std())
    a, b = slope_m[1], slope_y[2:, 0]
    point = step * float(a @ b)
    scores = step * (score_m[:, 1, :] @ b + score_y[:, 2:, 0] @ a)
    if not math.isfinite(point):
        return Insufficient(reason_code="collinear", sentence="the mediators cannot be told apart")
    return point, point + scores, 0, _LINEAR


def _fit(design: NDArray[np.float64], y: NDArray[np.float64]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return coefficients (p, k) and HC3-like scores of them, shape (n, p, k)."""
    n = design.shape[0]
    inverse = np.linalg.inv(design.T @ design)
    coefficients = inverse @ (design.T @ y)
    projected = design @ inverse
    leverage = (projected * design).sum(axis=1)
    left_out = (y - design @ coefficients) / np.maximum(1.0 - leverage, 1e-6)[:, None]
    return coefficients, n * projected[:, :, None] * left_out[:, None, :]
