"""General identification: the proof's own formula on observed frequencies, its error by the bootstrap."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from butfor.errors import InputError
from butfor.estimation.aipw import Arms
from butfor.estimation.answers import Effect, EffectEstimate, Insufficient
from butfor.estimation.cells import combinations
from butfor.estimation.diagnostics import refuse_arms, refuse_constant, refuse_order
from butfor.estimation.quantiles import t_quantile
from butfor.estimation.questions import Contrast
from butfor.identification.evaluation import evaluate
from butfor.identification.expression import estimand
from butfor.identification.nodes import P

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from butfor.estimation.columns import Columns
    from butfor.estimation.questions import Target
    from butfor.graphs import Graph
    from butfor.identification import Proof
    from butfor.identification.expression import Estimand

DRAWS = 400
# A joint table of more cells than this is not counted by plug-in.
MOST_CELLS = 1 << 14
# Units that each cell must have on average, and share of resamples that may miss a stratum the formula divides by.
UNITS_A_CELL = 5
MOST_UNDEFINED = 0.0


def plug_in(
    columns: Columns, proof: Proof, graph: Graph, *, target: Target, alpha: float = 0.05, seed: int = 0
) -> Effect:
    """Evaluate the formula on the observed joint frequencies of discrete columns.

    Estimand: E[Y | do(t*)] − E[Y | do(t0)], or the first alone.
    Assumptions: discrete columns; every stratum that the formula divides by has units; independent units (or clusters).
    Guarantee: asymptotic. Bootstrap standard error with Student's t, or the bootstrap's own quantile (reflected at the
    estimate) where that is wider.
    Reference: Shpitser and Pearl 2006; Efron 1979.
    """
    formula = estimand(graph, proof)
    mentioned = {name for node in formula.nodes if isinstance(node, P) for name in (*node.of, *node.given)}
    names = tuple(sorted({*formula.treatments, *formula.outcomes, *mentioned}))
    columns.require(names)
    arms = Arms.of(columns, target)
    refusal = refuse_arms(arms.n) or refuse_constant(columns.y) or _refuse_cells(columns, names)
    if refusal is not None:
        return refusal
    joint, shape, values = _counted(columns, names)
    question = _Question.of(columns, formula, names, values, target)
    point = float(question.answer((joint / joint.sum()).reshape(1, *shape))[0])
    draws = question.answer(_resampled(columns, names, joint, seed).reshape(DRAWS, *shape))
    undefined = float(np.mean(~np.isfinite(draws)))
    measured = {"share of resamples without an answer": undefined, "units a cell": columns.n / joint.size}
    if not math.isfinite(point) or undefined > MOST_UNDEFINED:
        sentence = f"a stratum that the formula divides by is empty in {undefined:.1%} of the resamples"
        return Insufficient(reason_code="positivity", sentence=sentence, diagnostics=measured)
    in_order, refusal = refuse_order(columns, columns.y)
    if refusal is not None:
        return refusal
    se = float(draws.std(ddof=1))
    if not se > 1e-9 * float(columns.y.std()):
        return Insufficient(reason_code="separation", sentence="resampling does not change the estimate")
    groups = columns.n if columns.clusters is None else int(columns.clusters.max()) + 1
    reach = se * t_quantile(1.0 - alpha, float(min(groups - 1, DRAWS - 1)))
    low, high = (float(q) for q in np.quantile(draws, [alpha, 1.0 - alpha]))
    return EffectEstimate(
        point=point,
        lower=min(point - reach, 2.0 * point - high),
        upper=max(point + reach, 2.0 * point - low),
        alpha=alpha,
        n_per_arm=arms.n,
        target="contrast" if isinstance(target, Contrast) else "level",
        estimator=f"plug-in of the proof's formula, {DRAWS} bootstrap draws",
        assumptions=(
            "independent units" if columns.clusters is None else "independent clusters",
            "every stratum of the formula possible",
        ),
        diagnostics={**measured, **in_order},
        guarantee="asymptotic",
    )


def _refuse_cells(columns: Columns, names: tuple[str, ...]) -> Insufficient | None:
    smooth = [name for name in names if name not in columns.discrete]
    if smooth:
        sentence = f"the plug-in needs discrete columns; {', '.join(smooth)} is not"
        return Insufficient(reason_code="unsupported", sentence=sentence)
    cells = math.prod(np.unique(columns.table[name]).size for name in names)
    if cells > MOST_CELLS or cells * UNITS_A_CELL > columns.n:
        sentence = f"{columns.n} units for {cells} cells are fewer than {UNITS_A_CELL} a cell"
        return Insufficient(reason_code="insufficient_evidence", sentence=sentence)
    return None


def _counted(
    columns: Columns, names: tuple[str, ...]
) -> tuple[NDArray[np.float64], tuple[int, ...], dict[str, NDArray[np.float64]]]:
    """Return the joint counts, flat; the table's shape; each axis's values."""
    cell, shape, values = _cells(columns, names)
    return np.bincount(cell, minlength=math.prod(shape)).astype(float), shape, values


def _cells(
    columns: Columns, names: tuple[str, ...]
) -> tuple[NDArray[np.int64], tuple[int, ...], dict[str, NDArray[np.float64]]]:
    cell = np.zeros(columns.n, dtype=np.int64)
    shape, values = [], {}
    for name in names:
        keys, number = combinations([columns.table[name]], columns.n)
        cell = cell * keys.shape[0] + number
        shape.append(keys.shape[0])
        values[name] = keys[:, 0]
    return cell, tuple(shape), values


def _resampled(columns: Columns, names: tuple[str, ...], joint: NDArray[np.float64], seed: int) -> NDArray[np.float64]:
    """Return resampled joint frequencies, shape (DRAWS, cells); clusters are drawn whole."""
    random = np.random.default_rng(seed)
    if columns.clusters is None:
        return random.multinomial(columns.n, joint / joint.sum(), size=DRAWS) / columns.n
    groups = int(columns.clusters.max()) + 1
    cell, _, _ = _cells(columns, names)
    by_group = np.zeros((groups, joint.size))
    np.add.at(by_group, (columns.clusters, cell), 1.0)
    drawn = random.multinomial(groups, np.full(groups, 1.0 / groups), size=DRAWS) @ by_group
    frequencies: NDArray[np.float64] = drawn / drawn.sum(axis=1, keepdims=True)
    return frequencies


class _Question:
    """A formula with its treatment values filled in, to be asked of many joint tables at once."""

    def __init__(
        self,
        formula: Estimand,
        names: tuple[str, ...],
        y: NDArray[np.float64],
        places: list[int],
        treatment: str,
    ) -> None:
        self._formula, self._names, self._y, self._places, self._treatment = formula, names, y, places, treatment

    @classmethod
    def of(
        cls,
        columns: Columns,
        formula: Estimand,
        names: tuple[str, ...],
        values: dict[str, NDArray[np.float64]],
        target: Target,
    ) -> _Question:
        if formula.given:
            raise InputError("the plug-in answers for everyone, not within a stratum", fix="leave the stratum out")
        wanted = (target.to, target.against) if isinstance(target, Contrast) else (target.at,)
        t = values[columns.treatment]
        places = [int(np.flatnonzero(t == columns.value(columns.treatment, value))[0]) for value in wanted]
        return cls(formula, names, values[columns.outcome], places, columns.treatment)

    def answer(self, joint: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the estimate for each table: joint has shape (tables, …), the answer (tables,)."""
        with np.errstate(divide="ignore", invalid="ignore"):
            value = np.asarray(evaluate(self._formula, joint, self._names))
        axes = {name: i + 1 for i, name in enumerate(self._names)}
        # The formula is the same at every value of a free variable in the truth; in a sample they are averaged.
        free = tuple(axes[name] for name in self._formula.free)
        value = value.mean(axis=free, keepdims=True) if free else value
        shape = [joint.shape[0] if i == 0 else value.shape[i] for i in range(value.ndim)]
        value = np.broadcast_to(value, shape)
        t_axis, y_axis = axes[self._treatment], axes[self._formula.outcomes[0]]
        levels = []
        for place in self._places:
            at = np.take(value, min(place, value.shape[t_axis] - 1), axis=t_axis)
            at = np.moveaxis(at, y_axis - (1 if t_axis < y_axis else 0), -1).reshape(joint.shape[0], -1)
            levels.append(at @ self._y)
        answer: NDArray[np.float64] = levels[0] - levels[1] if len(levels) > 1 else levels[0]
        return answer
