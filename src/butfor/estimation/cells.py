"""Sufficient statistics of discrete strata: what one GROUP BY gives, and all that exact standardisation needs."""

from __future__ import annotations

import dataclasses
import math
from typing import TYPE_CHECKING

import numpy as np

from butfor.errors import CorruptRecord, InputError

if TYPE_CHECKING:
    from collections.abc import Iterable

    from numpy.typing import NDArray

    from butfor.canonical import Json
    from butfor.estimation.columns import Columns

CELLS_SCHEMA = "butfor.cells/1"
# Dense codes are counted in an array of at most this many cells; beyond it codes are made by sorting.
MOST_DENSE = 1 << 20


@dataclasses.dataclass(frozen=True, kw_only=True, eq=False)
class Cells:
    """Counts and sums of the outcome for every stratum and arm.

    Outcomes are whole multiples of `unit`, so all sums are exact integers and do not depend on the order of rows.

    Attributes:
        treatment: Name of the treatment.
        outcome: Name of the outcome.
        strata: Names of the stratum variables.
        arms: The treatment's values, shape (arms,).
        keys: The strata's values, shape (strata, number of stratum variables).
        unit: What the outcome is a multiple of.
        n: Units, int64, shape (strata, arms); 0 where none was seen.
        total: Σ y / unit, int64, same shape.
        squares: Σ (y / unit)², int64, same shape.
    """

    treatment: str
    outcome: str
    strata: tuple[str, ...]
    arms: NDArray[np.float64]
    keys: NDArray[np.float64]
    unit: float
    n: NDArray[np.int64]
    total: NDArray[np.int64]
    squares: NDArray[np.int64]

    def __post_init__(self) -> None:
        shape = (self.keys.shape[0], self.arms.shape[0])
        if self.keys.shape[1:] != (len(self.strata),) or any(
            part.shape != shape or part.dtype != np.int64 for part in (self.n, self.total, self.squares)
        ):
            raise InputError("the parts of the cells do not fit", fix="give int64 counts and sums (strata, arms)")
        impossible = (self.n < 0) | (self.squares < 0) | ((self.n == 0) & ((self.total != 0) | (self.squares != 0)))
        # Cauchy–Schwarz, with room for rounding of large products.
        mean_square = self.total.astype(float) ** 2
        impossible |= mean_square > self.n.astype(float) * self.squares.astype(float) * (1 + 1e-9)
        if impossible.any():
            raise InputError("a cell's counts and sums cannot be", fix="aggregate the rows again")

    @classmethod
    def of(cls, columns: Columns, strata: Iterable[str]) -> Cells:
        """Count rows by stratum and arm.

        Args:
            columns: The units.
            strata: Discrete columns; none gives a single stratum.

        Raises:
            InputError: A column is missing, or is not discrete (nothing is binned here).
        """
        names = tuple(strata)
        columns.require(names)
        for name in (*names, columns.treatment):
            if name not in columns.discrete:
                raise InputError(f"the column {name!r} is not discrete", fix="use an estimator for continuous columns")
        keys, stratum = combinations([columns.table[name] for name in names], columns.n)
        arm_keys, arm = combinations([columns.t], columns.n)
        whole, unit = _whole_numbers(columns.y)
        shape = (keys.shape[0], arm_keys.shape[0])
        cell = stratum * shape[1] + arm
        size = shape[0] * shape[1]
        return cls(
            treatment=columns.treatment,
            outcome=columns.outcome,
            strata=names,
            arms=arm_keys[:, 0],
            keys=keys,
            unit=unit,
            n=np.bincount(cell, minlength=size).reshape(shape).astype(np.int64),
            total=np.bincount(cell, weights=whole, minlength=size).reshape(shape).astype(np.int64),
            squares=_sum_of_squares(cell, whole, size).reshape(shape),
        )

    def over(self, strata: Iterable[str]) -> Cells:
        """Add strata up that differ only in variables that are not named.

        Raises:
            InputError: A named variable is not among the strata.
        """
        names = tuple(strata)
        places = [self._place(name) for name in names]
        keys, number = np.unique(self.keys[:, places], axis=0, return_inverse=True)
        shape = (keys.shape[0], self.arms.size)

        def added(part: NDArray[np.int64]) -> NDArray[np.int64]:
            whole = np.zeros(shape, dtype=np.int64)
            np.add.at(whole, number.reshape(-1), part)
            return whole

        return dataclasses.replace(
            self,
            strata=names,
            keys=keys,
            n=added(self.n),
            total=added(self.total),
            squares=added(self.squares),
        )

    def within(self, name: str, value: float) -> Cells:
        """Keep the strata in which a variable has a value.

        Raises:
            InputError: There is no such variable or no such value.
        """
        rows = self.keys[:, self._place(name)] == value
        if not rows.any():
            raise InputError(f"no stratum has {name!r} = {value:g}", fix="name a value that occurs")
        return dataclasses.replace(
            self, keys=self.keys[rows], n=self.n[rows], total=self.total[rows], squares=self.squares[rows]
        )

    def _place(self, name: str) -> int:
        if name not in self.strata:
            raise InputError(f"the cells are not split by {name!r}", fix=f"aggregate by it too (now {self.strata})")
        return self.strata.index(name)

    def to_json(self) -> dict[str, Json]:
        """Return plain JSON values."""
        return {
            "schema": CELLS_SCHEMA,
            "treatment": self.treatment,
            "outcome": self.outcome,
            "strata": list(self.strata),
            "arms": self.arms.tolist(),
            "keys": self.keys.tolist(),
            "unit": self.unit,
            "n": self.n.tolist(),
            "total": self.total.tolist(),
            "squares": self.squares.tolist(),
        }

    @classmethod
    def from_json(cls, document: Json) -> Cells:
        """Read what `to_json` wrote.

        Raises:
            CorruptRecord: A field is missing, surplus or of another type, or the numbers cannot be.
        """
        fields = {field.name for field in dataclasses.fields(cls)}
        if not isinstance(document, dict) or set(document) != {"schema", *fields}:
            raise CorruptRecord("expected the cells of a table", where="$")
        if document["schema"] != CELLS_SCHEMA:
            raise CorruptRecord(f"cells of the unknown schema {document['schema']!r}", where="$.schema")
        strata = tuple(document["strata"])
        try:
            shape = (len(document["keys"]), len(strata))
            return cls(
                treatment=str(document["treatment"]),
                outcome=str(document["outcome"]),
                strata=strata,
                arms=np.asarray(document["arms"], dtype=np.float64),
                keys=np.asarray(document["keys"], dtype=np.float64).reshape(shape),
                unit=float(document["unit"]),
                n=_integers(document["n"], "$.n"),
                total=_integers(document["total"], "$.total"),
                squares=_integers(document["squares"], "$.squares"),
            )
        except (TypeError, ValueError) as error:
            raise CorruptRecord(f"the cells cannot be read ({error})", where="$") from None


def _integers(value: Json, where: str) -> NDArray[np.int64]:
    array = np.asarray(value)
    if array.dtype.kind != "i":
        raise CorruptRecord("expected whole numbers", where=where)
    return array.astype(np.int64)


def combinations(columns: list[NDArray[np.float64]], n: int) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    """Number the combinations that occur: (their values, shape (k, columns); each row's number, shape (n,))."""
    code = np.zeros(n, dtype=np.int64)
    size = 1
    lows, spans = [], []
    for values in columns:
        low = values.min()
        span = int(values.max() - low) + 1
        code *= span
        code += (values - low).astype(np.int64)
        lows.append(low)
        spans.append(span)
        size *= span
    if size > MOST_DENSE:
        occurring, number = np.unique(code, return_inverse=True)
    else:
        present = np.bincount(code, minlength=size) > 0
        occurring = np.flatnonzero(present)
        # Where every combination occurs the code is the number already.
        number = code if occurring.size == size else (np.cumsum(present) - 1)[code]
    keys = np.empty((occurring.size, len(columns)))
    rest = occurring
    for i in range(len(columns) - 1, -1, -1):
        keys[:, i] = rest % spans[i] + lows[i]
        rest = rest // spans[i]
    return keys, number


def _whole_numbers(y: NDArray[np.float64]) -> tuple[NDArray[np.float64], float]:
    """Return y as whole multiples of a unit, the unit a power of two so that dividing by it is exact."""
    unit = unit_for(float(np.abs(y).max()), y.size, whole=bool((y == np.rint(y)).all()))
    return (y, unit) if unit == 1.0 else (np.rint(y / unit), unit)


def unit_for(largest: float, n: int, *, whole: bool) -> float:
    """Return the unit in which an outcome is counted: 1 for moderate whole numbers, else a power of two.

    Args:
        largest: max |y|.
        n: Number of units.
        whole: Whether every outcome is a whole number.
    """
    # n·(y/unit)² must stay below 2^62, and y/unit is at most 2^30 so that its square splits into two exact halves.
    if whole and largest < 1 << 20 and n * largest**2 < 1 << 62:
        return 1.0
    bits = min(30, int((62 - math.ceil(math.log2(n + 1))) // 2))
    # Outcomes next to 0 would have the unit 0.
    return max(math.ldexp(1.0, math.ceil(math.log2(largest)) - bits), math.ulp(0.0))


def _sum_of_squares(cell: NDArray[np.int64], whole: NDArray[np.float64], size: int) -> NDArray[np.int64]:
    if np.abs(whole).max() <= 1:
        return np.bincount(cell, weights=np.abs(whole), minlength=size).astype(np.int64)
    square = whole * whole if np.abs(whole).max() < 1 << 15 else None
    if square is not None and square.max() * square.size < 1 << 53:
        return np.bincount(cell, weights=square, minlength=size).astype(np.int64)
    # The sums of doubles are exact below 2^53 only: add the high and the low bits of the squares apart.
    exact = whole.astype(np.int64) ** 2
    shift = 53 - math.ceil(math.log2(whole.size + 1))
    high = np.bincount(cell, weights=(exact >> shift).astype(float), minlength=size).astype(np.int64)
    low = np.bincount(cell, weights=(exact & ((1 << shift) - 1)).astype(float), minlength=size).astype(np.int64)
    return (high << shift) + low
