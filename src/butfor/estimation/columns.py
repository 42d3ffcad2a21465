"""Units as named columns of equal length, checked once so that no estimator has to."""

from __future__ import annotations

import dataclasses
import types
from typing import TYPE_CHECKING, Any

import numpy as np

from butfor.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from numpy.typing import ArrayLike, NDArray

# A whole-numbered column with at most so many values counts as discrete. Nothing is ever binned.
MOST_LEVELS = 50


@dataclasses.dataclass(frozen=True, kw_only=True, eq=False)
class Columns:
    """One row a unit, as NumPy columns that cannot be written to. Made by `Columns.of`, which checks them.

    Attributes:
        table: Every column by name, float64, shape (n,). Text is coded 0, 1, … in sorted order.
        levels: For each text column its texts, in the order of the codes.
        treatment: Name of the treatment.
        outcome: Name of the outcome.
        covariates: Every other column that an analysis may use, in the given order: confounders, mediators,
            instruments, strata. Which of them is used is the proof's choice.
        discrete: The columns that take few whole values.
        clusters: Code of each unit's cluster, int64, shape (n,); None where every unit stands alone.
        time: When each unit was seen, in any unit of time, float64, shape (n,); None where unknown.
        probability: P(the unit gets the treatment value that it got), known by design, float64, shape (n,), in (0, 1];
            None where it is not known.
    """

    table: Mapping[str, NDArray[np.float64]]
    levels: Mapping[str, tuple[str, ...]]
    treatment: str
    outcome: str
    covariates: tuple[str, ...]
    discrete: frozenset[str]
    clusters: NDArray[np.int64] | None = None
    time: NDArray[np.float64] | None = None
    probability: NDArray[np.float64] | None = None

    @classmethod
    def of(
        cls,
        table: Mapping[str, ArrayLike],
        *,
        treatment: str,
        outcome: str,
        covariates: Iterable[str] | None = None,
        clusters: str | None = None,
        time: str | None = None,
        probability: str | None = None,
    ) -> Columns:
        """Check columns and take the ones that are named.

        Args:
            table: Columns by name: numbers, truth values, or text.
            treatment: Name of the treatment's column.
            outcome: Name of the outcome's column.
            covariates: Names of the further columns; by default all that have no other part.
            clusters: Name of the column that tells which units belong together.
            time: Name of the column of times (numbers, or datetime64).
            probability: Name of the column with the known probability of the treatment value that the unit got.

        Raises:
            InputError: A column is missing, empty, of unequal length, of mixed types, holds NaN or infinity, is there
                twice under two names, the treatment is constant, a time is impossible, or a probability is not in
                (0, 1].
        """
        parts = [name for name in (treatment, outcome, clusters, time, probability) if name is not None]
        if covariates is None:
            covariates = [name for name in table if name not in parts]
        chosen = tuple(covariates)
        _check_names(table, [*parts, *chosen])
        coded = {name: _coded(name, table[name]) for name in (treatment, outcome, *chosen)}
        arrays = {name: values for name, (values, _) in coded.items()}
        _check_lengths({**arrays, **{name: np.asarray(table[name]) for name in parts}})
        _check_values(arrays, treatment)
        return cls(
            table=types.MappingProxyType(arrays),
            levels=types.MappingProxyType({name: texts for name, (_, texts) in coded.items() if texts}),
            treatment=treatment,
            outcome=outcome,
            covariates=chosen,
            discrete=frozenset(name for name, (values, texts) in coded.items() if texts or _few_whole_values(values)),
            clusters=None if clusters is None else _cluster_codes(clusters, table[clusters]),
            time=None if time is None else _times(time, table[time]),
            probability=None if probability is None else _probabilities(probability, table[probability]),
        )

    @property
    def n(self) -> int:
        """Number of units."""
        return int(self.table[self.outcome].size)

    @property
    def t(self) -> NDArray[np.float64]:
        """The treatment, shape (n,)."""
        return self.table[self.treatment]

    @property
    def y(self) -> NDArray[np.float64]:
        """The outcome, shape (n,)."""
        return self.table[self.outcome]

    def matrix(self, names: Iterable[str]) -> NDArray[np.float64]:
        """Return columns side by side, shape (n, number of names).

        Raises:
            InputError: There is no such column.
        """
        wanted = list(names)
        self.require(wanted)
        return np.column_stack([self.table[name] for name in wanted]) if wanted else np.empty((self.n, 0))

    def independent(self, rows: NDArray[np.bool_] | None = None) -> int:
        """Count the independent units, among some rows or all: clusters, where units come in clusters.

        A basis grows with these: runs of five units that are treated together say as much about a curve as one unit.
        """
        if self.clusters is None:
            return self.n if rows is None else int(rows.sum())
        return int(np.unique(self.clusters if rows is None else self.clusters[rows]).size)

    def require(self, names: Iterable[str]) -> None:
        """Make sure that columns are there.

        Raises:
            InputError: One is missing.
        """
        for name in names:
            if name not in self.table:
                raise InputError(f"the evidence has no column {name!r}", fix="add it, or name another graph variable")

    def value(self, name: str, value: float | str) -> float:
        """Return the number that stands for a value of a column: the code of a text.

        Raises:
            InputError: The column has no such text.
        """
        self.require([name])
        if name not in self.levels:
            if isinstance(value, str):
                raise InputError(f"the column {name!r} holds numbers, not {value!r}", fix="pass a number")
            return float(value)
        texts = self.levels[name]
        if value not in texts:
            raise InputError(f"the column {name!r} never has the value {value!r}", fix=f"choose one of {list(texts)}")
        return float(texts.index(str(value)))

    def where(self, rows: NDArray[np.bool_]) -> Columns:
        """Return the units for which `rows` (shape (n,)) is true, unchecked."""
        part = {name: _frozen(values[rows]) for name, values in self.table.items()}
        return dataclasses.replace(
            self,
            table=types.MappingProxyType(part),
            clusters=None if self.clusters is None else self.clusters[rows],
            time=None if self.time is None else self.time[rows],
            probability=None if self.probability is None else self.probability[rows],
        )


def _check_names(table: Mapping[str, ArrayLike], names: list[str]) -> None:
    for name in names:
        if name not in table:
            raise InputError(f"the evidence has no column {name!r}", fix=f"its columns are {sorted(table)}")
        if names.count(name) > 1:
            raise InputError(f"the column {name!r} has two parts", fix="give each column one part")


def _check_lengths(arrays: Mapping[str, NDArray[Any]]) -> None:
    (first, values), *others = arrays.items()
    if values.size == 0:
        raise InputError("the evidence has no rows", fix="give at least one row for each arm")
    for name, other in others:
        if other.shape != values.shape:
            raise InputError(
                f"the columns {first!r} and {name!r} have {values.shape} and {other.shape} entries",
                fix="give every column one entry a unit",
            )


def _check_values(arrays: Mapping[str, NDArray[np.float64]], treatment: str) -> None:
    if (arrays[treatment] == arrays[treatment][0]).all():
        raise InputError(f"the treatment {treatment!r} is constant", fix="give evidence in which it varies")
    # The treatment may be copied (an instrument that everyone follows); a confounder that copies it is refused where
    # it is adjusted for.
    names = [name for name in arrays if name != treatment]
    for i, name in enumerate(names):
        for other in names[i + 1 :]:
            one, two = arrays[name], arrays[other]
            # Most pairs differ early: the whole columns are compared only where the first thousand agree.
            if np.array_equal(one[:1000], two[:1000]) and np.array_equal(one, two) and not (one == one[0]).all():
                raise InputError(f"the columns {name!r} and {other!r} are the same", fix="leave one of them out")


def _coded(name: str, column: ArrayLike) -> tuple[NDArray[np.float64], tuple[str, ...]]:
    """Return a column as float64, and its texts where it holds text."""
    raw = np.asarray(column)
    if raw.ndim != 1:
        raise InputError(f"the column {name!r} has {raw.ndim} dimensions", fix="give one value a unit")
    if raw.dtype.kind in "OUS":
        return _from_objects(name, column)
    if raw.dtype.kind not in "biuf":
        raise InputError(f"the column {name!r} holds {raw.dtype}", fix="give numbers, truth values or text")
    return _finite(name, raw), ()


def _from_objects(name: str, column: ArrayLike) -> tuple[NDArray[np.float64], tuple[str, ...]]:
    # NumPy turns [1, "a"] into two texts, so the given values are looked at, not its array.
    values = _listed(column)
    if any(value is None for value in values):
        raise InputError(
            f"the column {name!r} has an empty entry", fix="fill it or drop the unit, and say why it may be"
        )
    if all(isinstance(value, str) for value in values):
        texts, codes = np.unique(np.asarray(values), return_inverse=True)
        return _frozen(codes.astype(np.float64)), tuple(str(text) for text in texts)
    if all(isinstance(value, bool | int | float | np.number | np.bool_) for value in values):
        return _finite(name, np.asarray(values, dtype=np.float64)), ()
    kinds = sorted({type(value).__name__ for value in values})
    raise InputError(f"the column {name!r} mixes {' and '.join(kinds)}", fix="give values of one type")


def _listed(column: ArrayLike) -> list[Any]:
    return column.tolist() if isinstance(column, np.ndarray) else list(column)  # type: ignore[arg-type]


def _finite(name: str, raw: NDArray[Any]) -> NDArray[np.float64]:
    values = np.array(raw, dtype=np.float64)
    # One pass: a sum is finite unless an entry is not (or the sum overflows, which the slow check then clears).
    if not np.isfinite(values.sum()) and not np.isfinite(values).all():
        row = int(np.argmin(np.isfinite(values)))
        raise InputError(f"the column {name!r} holds {values[row]}", where=f"row {row}", fix="fill it or drop the unit")
    return _frozen(values)


def _frozen(values: NDArray[np.float64]) -> NDArray[np.float64]:
    values.setflags(write=False)
    return values


def _few_whole_values(values: NDArray[np.float64]) -> bool:
    low, high = values.min(), values.max()
    return bool(high - low < MOST_LEVELS and low == np.rint(low) and (values == np.rint(values)).all())


def _cluster_codes(name: str, column: ArrayLike) -> NDArray[np.int64]:
    values, _ = _coded(name, column)
    codes: NDArray[np.int64] = np.unique(values, return_inverse=True)[1].astype(np.int64)
    return codes


def _times(name: str, column: ArrayLike) -> NDArray[np.float64]:
    raw = np.asarray(column)
    if raw.dtype.kind != "M":
        return _coded(name, column)[0]
    if np.isnat(raw).any():
        row = int(np.argmax(np.isnat(raw)))
        raise InputError(f"the time {name!r} is no time", where=f"row {row}", fix="correct it or drop the unit")
    return _frozen(raw.astype("datetime64[us]").astype(np.float64) / 1e6)


def _probabilities(name: str, column: ArrayLike) -> NDArray[np.float64]:
    values, _ = _coded(name, column)
    if not ((values > 0) & (values <= 1)).all():
        row = int(np.argmin((values > 0) & (values <= 1)))
        raise InputError(
            f"the probability {name!r} is {values[row]}",
            where=f"row {row}",
            fix="give the probability, in (0, 1], of the treatment value that the unit got",
        )
    return values
