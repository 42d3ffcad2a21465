"""One test of one conditional independence."""

from __future__ import annotations

import dataclasses
import math
from typing import TYPE_CHECKING, TypeAlias

import numpy as np
from scipy.special import chdtrc, chdtri, chndtrinc, fdtrc

from butfor.noise import numpy_generator

if TYPE_CHECKING:
    from collections.abc import Iterable

    from numpy.typing import NDArray

    from butfor.estimation.columns import Columns
    from butfor.identification import Independence

# Below so many rows for each degree of freedom the χ² limit of G² is not trusted, and rows are shuffled instead.
ROWS_A_DEGREE = 10
SHUFFLES = 999
# Residual products of so many dimensions need at least ten rows each.
LEAST_ROWS = 10
POWER = 0.8


@dataclasses.dataclass(frozen=True, kw_only=True)
class IndependenceTest:
    """A test's answer.

    Attributes:
        statement: What should be independent.
        method: The test in words.
        p: P(data at least as far from independence | independence).
        n: Rows used.
        freedom: Degrees of freedom.
        adjusted: p after Holm's correction for all statements tested; p itself for a lone test.
    """

    statement: Independence
    method: str
    p: float
    n: int
    freedom: int
    adjusted: float

    def detectable(self, level: float) -> float:
        """Return the smallest dependence that a test at this level finds four times in five.

        In units of Cohen's w (for one numeric pair: of the partial correlation).
        """
        return math.sqrt(float(chndtrinc(chdtri(self.freedom, level), self.freedom, 1.0 - POWER)) / self.n)


@dataclasses.dataclass(frozen=True, kw_only=True)
class NotTested:
    """A statement that these data cannot test, and why."""

    statement: Independence
    reason: str


Answer: TypeAlias = IndependenceTest | NotTested


def independence_test(columns: Columns, statement: Independence, *, seed: int = 0) -> Answer:
    """Test one conditional independence.

    Estimand: whether `variable` ⊥ `others` | `given`.
    Assumptions: independent rows (of a cluster one row is used, chosen by the seed). Where all columns are discrete:
    none. Otherwise: the conditional means given `given` are additive in indicators and cubic polynomials; only
    dependence that shows in products of residuals is found.
    Guarantee: discrete and few rows for the table: exact, by shuffling within strata; otherwise asymptotic. Residual
    products are studentised, so unequal variances do no harm.
    Reference: Sokal and Rohlf (G²); Shah and Peters, *The hardness of conditional independence testing*, AoS 2020.

    Args:
        columns: The units.
        statement: What to test.
        seed: Root of the shuffles and of the choice within clusters.
    """
    names = (statement.variable, *statement.others, *statement.given)
    missing = [name for name in names if name not in columns.table]
    if missing:
        return NotTested(statement=statement, reason=f"the evidence has no column {missing[0]!r}")
    rows = columns if columns.clusters is None else columns.where(_one_of_each(columns.clusters, seed))
    constant = [name for name in (statement.variable, *statement.others) if np.ptp(rows.table[name]) == 0]
    if constant:
        return NotTested(statement=statement, reason=f"the column {constant[0]!r} does not vary")
    if all(name in rows.discrete for name in names):
        return _discrete(rows, statement, seed)
    return _residuals(rows, statement)


def _one_of_each(clusters: NDArray[np.int64], seed: int) -> NDArray[np.bool_]:
    order = numpy_generator("one of each cluster", seed).permutation(clusters.size)
    _, first = np.unique(clusters[order], return_index=True)
    chosen = np.zeros(clusters.size, dtype=bool)
    chosen[order[first]] = True
    return chosen


def _discrete(columns: Columns, statement: Independence, seed: int) -> Answer:
    x = _codes(columns, [statement.variable])
    y = _codes(columns, statement.others)
    z = _codes(columns, statement.given)
    found, freedom = _g_squared(x, y, z)
    if freedom == 0:
        return NotTested(statement=statement, reason="no stratum has two values of both sides")
    if columns.n >= ROWS_A_DEGREE * freedom:
        p, method = float(chdtrc(freedom, found)), "G²"
    else:
        p, method = _shuffled(x, y, z, found, seed), f"G², {SHUFFLES} shuffles within strata"
    return IndependenceTest(statement=statement, method=method, p=p, n=columns.n, freedom=freedom, adjusted=p)


def _codes(columns: Columns, names: Iterable[str]) -> NDArray[np.int64]:
    """Number the combinations of values that occur, shape (n,)."""
    code = np.zeros(columns.n, dtype=np.int64)
    for name in names:
        _, number = np.unique(columns.table[name], return_inverse=True)
        _, code = np.unique(code * (number.max() + 1) + number, return_inverse=True)
    return code


def _g_squared(x: NDArray[np.int64], y: NDArray[np.int64], z: NDArray[np.int64]) -> tuple[float, int]:
    shape = (int(z.max()) + 1, int(x.max()) + 1, int(y.max()) + 1)
    if math.prod(shape) > 1 << 22:
        return 0.0, 0
    counts = np.bincount((z * shape[1] + x) * shape[2] + y, minlength=math.prod(shape)).reshape(shape).astype(float)
    by_x, by_y, by_z = counts.sum(2), counts.sum(1), counts.sum((1, 2))
    g = _entropy(counts) - _entropy(by_x) - _entropy(by_y) + _entropy(by_z)
    freedom = np.maximum((by_x > 0).sum(1) - 1, 0) * np.maximum((by_y > 0).sum(1) - 1, 0)
    return 2.0 * g, int(freedom.sum())


def _entropy(counts: NDArray[np.float64]) -> float:
    seen = counts[counts > 0]
    return float(seen @ np.log(seen))


def _shuffled(x: NDArray[np.int64], y: NDArray[np.int64], z: NDArray[np.int64], found: float, seed: int) -> float:
    rng = numpy_generator("independence", seed)
    place = np.argsort(z, kind="stable")
    moved, above = np.empty_like(x), 1
    for _ in range(SHUFFLES):
        moved[place] = x[np.lexsort((rng.random(x.size), z))]
        above += _g_squared(moved, y, z)[0] >= found - 1e-9
    return above / (SHUFFLES + 1)


def _residuals(columns: Columns, statement: Independence) -> Answer:
    design = _design(columns, statement.given)
    one, other = (_block(columns, names) for names in ((statement.variable,), statement.others))
    freedom = one.shape[1] * other.shape[1]
    left = columns.n - design.shape[1] - freedom
    if columns.n < LEAST_ROWS * (freedom + design.shape[1]):
        return NotTested(
            statement=statement, reason=f"{columns.n} rows are too few for {freedom} products of residuals"
        )
    e, f = (block - design @ np.linalg.lstsq(design, block, rcond=None)[0] for block in (one, other))
    if min(np.min((e**2).sum(0) / (one**2).sum(0)), np.min((f**2).sum(0) / (other**2).sum(0))) < 1e-12:
        return NotTested(statement=statement, reason="one side is a function of what is given")
    products = (e[:, :, None] * f[:, None, :]).reshape(columns.n, freedom)
    total, scatter = products.sum(0), products.T @ products
    statistic = float(total @ np.linalg.lstsq(scatter, total, rcond=None)[0]) / freedom
    p = float(fdtrc(freedom, left, statistic * left / columns.n))
    return IndependenceTest(
        statement=statement, method="partial correlation", p=p, n=columns.n, freedom=freedom, adjusted=p
    )


def _block(columns: Columns, names: Iterable[str]) -> NDArray[np.float64]:
    """Return numbers as they are and texts as indicators, centred and scaled."""
    parts = [_indicators(columns, name) if name in columns.levels else columns.table[name][:, None] for name in names]
    block = np.hstack(parts)
    block = block[:, np.ptp(block, axis=0) > 0]
    return np.asarray((block - block.mean(0)) / block.std(0))


def _design(columns: Columns, names: Iterable[str]) -> NDArray[np.float64]:
    parts = [np.ones((columns.n, 1))]
    for name in names:
        if name in columns.discrete:
            parts.append(_indicators(columns, name))
        else:
            z = columns.table[name] - columns.table[name].mean()
            z = z / (z.std() or 1.0)
            parts.append(np.column_stack([z, z**2, z**3]))
    return np.hstack(parts)


def _indicators(columns: Columns, name: str) -> NDArray[np.float64]:
    values = columns.table[name]
    indicators: NDArray[np.float64] = (values[:, None] == np.unique(values)[1:]).astype(float)
    return indicators
