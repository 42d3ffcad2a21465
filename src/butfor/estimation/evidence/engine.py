"""Evidence that stays where it is: SQL through DuckDB, and discrete strata reduced by one aggregate query."""

from __future__ import annotations

import dataclasses
import importlib
import math
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from butfor import canonical
from butfor.errors import InputError, MissingExtra, NotFound
from butfor.estimation.cells import MOST_DENSE, Cells, unit_for
from butfor.estimation.columns import MOST_LEVELS
from butfor.estimation.evidence.description import Evidence, Kind, Roles
from butfor.estimation.evidence.reading import Table, read_object

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from datetime import datetime

    from numpy.typing import NDArray

_TEXT = ("VARCHAR", "ENUM")


@dataclasses.dataclass(frozen=True, kw_only=True, eq=False)
class Aggregate:
    """Evidence reduced to sums; the rows were never loaded.

    Attributes:
        evidence: The description. Its digest names the sums: the level of re-derivation is `statistics`.
        cells: Counts and sums by stratum and arm, the same integers that the rows themselves would give.
        levels: For each text column its texts, in the order of their codes in `cells`.
        query: The aggregate query.
        rows_hash: A hash of the multiset of rows, computed in the same query; it can be compared only where the same
            version of the engine made it.
    """

    evidence: Evidence
    cells: Cells
    levels: Mapping[str, tuple[str, ...]]
    query: str
    rows_hash: str


def read_sql(
    query: str,
    roles: Roles,
    *,
    kind: Kind,
    connection: Any = None,
    now: datetime | None = None,
    note: str = "",
) -> Table:
    """Read evidence from a query.

    Args:
        query: A SELECT statement; it may name files, as in ``SELECT * FROM 'log.parquet'``.
        roles: Which column plays which part.
        kind: How the treatments were chosen.
        connection: An open DuckDB connection; a fresh one in memory by default.
        now: The present: later times are refused. None does not look.
        note: What a reader must know.

    Raises:
        MissingExtra: DuckDB or pyarrow is not installed.
        InputError: The query fails, or its rows cannot be used (see `read_file`).
    """
    engine = _connected(connection)
    found = _run(engine.sql, query).to_arrow_table()
    return read_object(found, roles, kind=kind, now=now, note=note, name="the query's result")


def aggregate(source: Path | str, roles: Roles, *, kind: Kind, connection: Any = None, note: str = "") -> Aggregate:
    """Reduce evidence to counts and sums by stratum and arm, without loading its rows.

    Args:
        source: A Parquet or CSV file, or a SELECT statement.
        roles: Which column plays which part; the strata are the covariates.
        kind: How the treatments were chosen.
        connection: An open DuckDB connection; a fresh one in memory by default.
        note: What a reader must know.

    Raises:
        NotFound: There is no such file.
        MissingExtra: DuckDB is not installed.
        InputError: A column is missing, holds an empty, NaN or infinite entry, is not discrete where it must be, or the
            treatment is constant.
    """
    engine, relation = _connected(connection), _relation(source)
    where = str(source) if isinstance(source, Path) else "the query"
    kinds = _kinds(engine, relation, roles, where)
    rows, unit = _probe(engine, relation, roles, kinds, where)
    query = _query(relation, roles, unit)
    groups = _run(engine.execute, query).fetchall()
    if len(groups) > MOST_DENSE:
        raise InputError(f"there are more than {MOST_DENSE} strata and arms", where=where, fix="use fewer covariates")
    # No transaction holds the statements together: the user may have one open, and a nested BEGIN aborts it.
    if sum(group[-5] for group in groups) != rows:
        raise InputError("the rows changed while they were read", where=where, fix="read a snapshot")
    if any(group[-5] != group[-2] for group in groups):
        raise _not_finite(roles.outcome, where)
    cells, levels = _cells(groups, roles, kinds, unit, where)
    named = {"cells": cells.to_json(), "levels": {name: list(texts) for name, texts in sorted(levels.items())}}
    evidence = Evidence(
        digest=canonical.digest(named),
        kind=kind,
        roles=roles,
        rows=rows,
        arms={
            _shown(arm, levels.get(roles.treatment)): int(n) for arm, n in zip(cells.arms, cells.n.sum(0), strict=True)
        },
        source=where,
        note=note,
    )
    return Aggregate(evidence=evidence, cells=cells, levels=levels, query=query, rows_hash=_rows_hash(groups, rows))


def _connected(connection: Any) -> Any:
    try:
        duckdb = importlib.import_module("duckdb")
    except ImportError:
        raise MissingExtra("duckdb", extra="evidence", purpose="querying evidence") from None
    # Reading evidence must not fetch code from anywhere.
    settings = {"autoinstall_known_extensions": "false"}
    # The user's own connection, not a cursor of it: a cursor does not see temporary tables and registered frames.
    return duckdb.connect(":memory:", config=settings) if connection is None else connection


def _run(execute: Callable[[str], Any], query: str) -> Any:
    duckdb = importlib.import_module("duckdb")
    try:
        return execute(query)
    except duckdb.Error as error:
        first = str(error).split("\n", 1)[0]
        raise InputError(f"the query cannot be run ({first[:160]})", where="DuckDB", fix="mend the query") from None


def _relation(source: Path | str) -> str:
    if isinstance(source, str):
        return f"({source.strip().rstrip(';')})"
    if not source.is_file():
        raise NotFound("there is no such file", where=str(source), fix="check the path")
    reader = "read_parquet" if source.suffix in (".parquet", ".pq") else "read_csv"
    return f"{reader}('{str(source).replace(chr(39), chr(39) * 2)}')"


def _name(column: str) -> str:
    return '"' + column.replace('"', '""') + '"'


def _kinds(engine: Any, relation: str, roles: Roles, where: str) -> dict[str, str]:
    """Return the engine's type of each column used."""
    described = {row[0]: str(row[1]) for row in _run(engine.execute, f"DESCRIBE SELECT * FROM {relation}").fetchall()}  # noqa: S608
    used = (roles.treatment, roles.outcome, *roles.covariates)
    for name in used:
        if name not in described:
            raise InputError(f"there is no column {name!r}", where=where, fix=f"the columns are {list(described)[:40]}")
    if described[roles.outcome].startswith(_TEXT):
        raise InputError(f"the outcome {roles.outcome!r} is text", where=where, fix="give a number")
    return {name: described[name] for name in used}


def _probe(engine: Any, relation: str, roles: Roles, kinds: Mapping[str, str], where: str) -> tuple[int, float]:
    """Check what a group by would hide, and return the number of rows and the unit of the outcome."""
    # A Parquet file answers these from its statistics in 1 ms; whether all are whole takes a scan.
    parts = ["count(*)", *(f"count({_name(name)})" for name in kinds)]
    numeric = [name for name, kind in kinds.items() if not kind.startswith(_TEXT)]
    parts += [f"{end}({_name(name)})" for name in numeric for end in ("min", "max")]
    rows, *found = _run(engine.execute, f"SELECT {', '.join(parts)} FROM {relation}").fetchone()  # noqa: S608
    if rows == 0:
        raise InputError("the evidence has no rows", where=where, fix="give at least one row for each arm")
    for name, count in zip(kinds, found, strict=False):
        if count < rows:
            raise InputError(
                f"{rows - count} empty entries in column {name!r}", where=where, fix="fill them or leave the units out"
            )
    ends = dict(zip(numeric, np.reshape(np.array(found[len(kinds) :], dtype=float), (-1, 2)), strict=True))
    whole = _whole(engine, relation, {name: kinds[name] for name in numeric})
    for name, (low, high) in ends.items():
        if not (math.isfinite(low) and math.isfinite(high)):
            raise _not_finite(name, where)
        if name != roles.outcome and not (whole[name] and high - low < MOST_LEVELS):
            raise InputError(f"the column {name!r} is not discrete", where=where, fix="read the rows instead")
    largest = float(np.abs(ends[roles.outcome]).max())
    return rows, unit_for(largest, rows, whole=whole[roles.outcome])


def _whole(engine: Any, relation: str, kinds: Mapping[str, str]) -> dict[str, bool]:
    """Say for each numeric column whether all its values are whole numbers."""
    broken = [name for name, kind in kinds.items() if kind.startswith(("DOUBLE", "FLOAT", "REAL", "DECIMAL"))]
    if not broken:
        return dict.fromkeys(kinds, True)
    parts = [f"bool_and({_name(name)}::DOUBLE = round_even({_name(name)}::DOUBLE, 0))" for name in broken]
    found = _run(engine.execute, f"SELECT {', '.join(parts)} FROM {relation}").fetchone()  # noqa: S608
    return dict.fromkeys(kinds, True) | dict(zip(broken, map(bool, found), strict=True))


def _not_finite(name: str, where: str) -> InputError:
    return InputError(f"the column {name!r} holds NaN or infinity", where=where, fix="fill them or leave the units out")


def _query(relation: str, roles: Roles, unit: float) -> str:
    keys = ", ".join(_name(name) for name in (*roles.covariates, roles.treatment))
    outcome = _name(roles.outcome)
    # Dividing by a power of two is exact, so these are the integers that the rows themselves give. NaN becomes NULL.
    whole = f"TRY_CAST(round_even({outcome}::DOUBLE * {1.0 / unit!r}, 0) AS BIGINT)"
    # Within a group only the outcome differs, so hashes of outcomes, by group, name the multiset of rows.
    rows = f"SELECT {keys}, {whole} AS y, hash({outcome}) AS h FROM {relation}"  # noqa: S608
    sums = "count(*), sum(y), sum(y * y), count(y), sum(h)"
    places = ", ".join(str(i + 1) for i in range(len(roles.covariates) + 1))
    return f"SELECT {keys}, {sums} FROM ({rows}) GROUP BY {places} LIMIT {MOST_DENSE + 1}"  # noqa: S608


def _rows_hash(groups: list[tuple[Any, ...]], rows: int) -> str:
    version = importlib.import_module("duckdb").__version__
    named = sorted([*map(str, group[:-5]), str(group[-5]), str(group[-1])] for group in groups)
    return f"duckdb-{version}:{rows}:{canonical.digest(named)}"


def _cells(
    groups: list[tuple[Any, ...]], roles: Roles, kinds: Mapping[str, str], unit: float, where: str
) -> tuple[Cells, dict[str, tuple[str, ...]]]:
    names = (*roles.covariates, roles.treatment)
    coded, levels = [], {}
    for i, name in enumerate(names):
        values = [group[i] for group in groups]
        if kinds[name].startswith(_TEXT):
            levels[name] = tuple(sorted(set(values)))
            code = {text: float(place) for place, text in enumerate(levels[name])}
            values = [code[value] for value in values]
        coded.append(np.array(values, dtype=float))
    arms, arm = np.unique(coded[-1], return_inverse=True)
    if arms.size < 2:
        raise InputError(
            f"the treatment {roles.treatment!r} is constant", where=where, fix="give evidence in which it varies"
        )
    by_stratum = np.column_stack([*coded[:-1], np.zeros(len(groups))])  # the zeros serve where there are no strata
    keys, stratum = np.unique(by_stratum, axis=0, return_inverse=True)

    def placed(column: int) -> NDArray[np.int64]:
        grid = np.zeros((keys.shape[0], arms.size), dtype=np.int64)
        grid[stratum.ravel(), arm] = [int(group[len(names) + column]) for group in groups]
        return grid

    cells = Cells(
        treatment=roles.treatment,
        outcome=roles.outcome,
        strata=roles.covariates,
        arms=arms,
        keys=keys[:, :-1],
        unit=unit,
        n=placed(0),
        total=placed(1),
        squares=placed(2),
    )
    return cells, levels


def _shown(arm: float, texts: tuple[str, ...] | None) -> str:
    return f"{arm:g}" if texts is None else texts[int(arm)]
