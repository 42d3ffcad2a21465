"""Evidence that stays where it is: SQL through DuckDB, and discrete strata reduced by one aggregate query."""

from __future__ import annotations

import importlib
import math
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from butfor import canonical
from butfor.errors import InputError, MissingExtra, NotFound
from butfor.estimation.cells import MOST_DENSE, unit_for
from butfor.estimation.columns import MOST_LEVELS
from butfor.estimation.evidence.reading import Table, read_object
from butfor.estimation.evidence.reduced import Aggregate, not_finite, reduced, unchanged

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from datetime import datetime

    from butfor.estimation.evidence.description import Kind, Roles

_TEXT = ("VARCHAR", "ENUM")


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
    unchanged(sum(group[-5] for group in groups), rows, where)
    if any(group[-5] != group[-2] for group in groups):
        raise not_finite(roles.outcome, where)
    return reduced(
        groups,
        roles,
        text={name for name, kind in kinds.items() if kind.startswith(_TEXT)},
        kind=kind,
        unit=unit,
        query=query,
        rows_hash=_rows_hash(groups, rows),
        where=where,
        note=note,
    )


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
            raise not_finite(name, where)
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
