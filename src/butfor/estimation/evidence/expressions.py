"""The same reduction through an Ibis table expression: one GROUP BY on the user's own engine."""

from __future__ import annotations

import importlib
import math
from typing import TYPE_CHECKING, Any

from butfor.errors import InputError, MissingExtra
from butfor.estimation.cells import MOST_DENSE, unit_for
from butfor.estimation.columns import MOST_LEVELS
from butfor.estimation.evidence.reduced import Aggregate, not_finite, reduced, unchanged

if TYPE_CHECKING:
    from butfor.estimation.evidence.description import Kind, Roles


def aggregate_expression(table: Any, roles: Roles, *, kind: Kind, note: str = "") -> Aggregate:
    """Reduce an Ibis table expression to counts and sums by stratum and arm, without loading its rows.

    Two queries run, where the table is: one that checks the columns, and the GROUP BY. They use nothing but counts,
    sums, minima, maxima, casts, floors and CASE, which every engine has. The sums are the integers that `aggregate` and
    the rows themselves give.

    Args:
        table: An `ibis.Table`: a table of a connection, a Parquet file, or any expression made of them.
        roles: Which column plays which part; the strata are the covariates.
        kind: How the treatments were chosen.
        note: What a reader must know.

    Raises:
        MissingExtra: Ibis is not installed.
        InputError: This is not an Ibis table, the engine fails, a column is missing, holds an empty, NaN or infinite
            entry, is not discrete where it must be, or the treatment is constant.
    """
    ibis = _ibis()
    if not isinstance(table, ibis.Table):
        raise InputError(f"a {type(table).__name__} is not an Ibis table", where="table", fix="pass an ibis.Table")
    where = f"the Ibis table on {table.get_backend().name}"
    text = _text(table, roles, where)
    rows, unit = _probe(ibis, table, roles, text, where)
    query = _grouped(ibis, table, roles, text, unit)
    groups = _run(query, where)
    if len(groups) > MOST_DENSE:
        raise InputError(f"there are more than {MOST_DENSE} strata and arms", where=where, fix="use fewer covariates")
    unchanged(sum(group[-3] for group in groups), rows, where)
    return reduced(
        groups,
        roles,
        text=text,
        kind=kind,
        unit=unit,
        query=str(ibis.to_sql(query)),
        rows_hash="",
        where=where,
        note=note,
    )


def _ibis() -> Any:
    try:
        return importlib.import_module("ibis")
    except ImportError:
        raise MissingExtra("ibis-framework", extra="ibis", purpose="aggregating on an engine of your own") from None


def _run(expression: Any, where: str) -> list[tuple[Any, ...]]:
    """Return the rows of an expression; what an engine raises is its own, so anything is caught and named."""
    try:
        table = expression.to_pyarrow()
    except Exception as error:  # noqa: BLE001
        first = str(error).split("\n", 1)[0]
        raise InputError(f"the query cannot be run ({first[:160]})", where=where, fix="mend the expression") from None
    return list(zip(*(column.to_pylist() for column in table.columns), strict=True))


def _text(table: Any, roles: Roles, where: str) -> set[str]:
    """Return the text columns among those that are used."""
    types = dict(table.schema().items())
    used = (roles.treatment, roles.outcome, *roles.covariates)
    for name in used:
        if name not in types:
            raise InputError(f"there is no column {name!r}", where=where, fix=f"the columns are {list(types)[:40]}")
        if not (types[name].is_numeric() or types[name].is_boolean() or types[name].is_string()):
            raise InputError(f"the column {name!r} is of type {types[name]}", where=where, fix="give numbers or text")
    if types[roles.outcome].is_string():
        raise InputError(f"the outcome {roles.outcome!r} is text", where=where, fix="give a number")
    return {name for name in used if types[name].is_string()}


def _number(table: Any, name: str) -> Any:
    """Return a column as a double; some engines neither add nor compare truth values."""
    column = table[name]
    return (column.cast("int8") if column.type().is_boolean() else column).cast("float64")


def _probe(ibis: Any, table: Any, roles: Roles, text: set[str], where: str) -> tuple[int, float]:
    """Check what a group by would hide, and return the number of rows and the unit of the outcome."""
    used = (roles.treatment, roles.outcome, *roles.covariates)
    numeric = [name for name in used if name not in text]
    parts = [table.count().name("rows"), *(table[name].count().name(f"there {i}") for i, name in enumerate(used))]
    for i, name in enumerate(numeric):
        value = _number(table, name)
        # NaN and infinity less themselves are NaN, on every engine.
        finite = (value - value) == 0.0
        whole = finite & (value == value.floor())
        parts += [_count(ibis, finite).name(f"finite {i}"), _count(ibis, whole).name(f"whole {i}")]
        # NaN sorts differently on different engines, so ends are those of finite values.
        ends = ibis.ifelse(finite, value, None)
        parts += [ends.min().name(f"least {i}"), ends.max().name(f"most {i}")]
    rows, *found = _run(table.aggregate(parts), where)[0]
    if rows == 0:
        raise InputError("the evidence has no rows", where=where, fix="give at least one row for each arm")
    for name, there in zip(used, found, strict=False):
        if there < rows:
            fix = "fill them or leave the units out"
            raise InputError(f"{rows - there} empty entries in column {name!r}", where=where, fix=fix)
    measured = [found[len(used) + 4 * i : len(used) + 4 * i + 4] for i in range(len(numeric))]
    unit = 1.0
    for name, (finite, whole, least, most) in zip(numeric, measured, strict=True):
        if finite < rows:
            raise not_finite(name, where)
        if name == roles.outcome:
            unit = unit_for(max(abs(least), abs(most)), rows, whole=whole == rows)
        elif not (whole == rows and most - least < MOST_LEVELS):
            raise InputError(f"the column {name!r} is not discrete", where=where, fix="read the rows instead")
    return rows, unit


def _count(ibis: Any, condition: Any) -> Any:
    return ibis.ifelse(condition, 1, 0).sum()


def _grouped(ibis: Any, table: Any, roles: Roles, text: set[str], unit: float) -> Any:
    """Return count, sum and sum of squares of the outcome in units, by stratum and arm."""
    names = (*roles.covariates, roles.treatment)
    keys = {f"k{i}": table[name] if name in text else _number(table, name) for i, name in enumerate(names)}
    # Dividing by a power of two is exact. Halves go to the even neighbour, as the rows' own rounding sends them; what
    # an engine calls `round` differs.
    scaled = _number(table, roles.outcome) * math.ldexp(1.0, -int(math.log2(unit)))
    floor = scaled.floor()
    over = scaled - floor
    odd = floor - 2.0 * (floor * 0.5).floor()
    whole = (floor + ibis.ifelse((over > 0.5) | ((over == 0.5) & (odd == 1.0)), 1.0, 0.0)).cast("int64")
    counted = table.select(**keys, whole=whole)
    sums = {"n": counted.count(), "total": counted.whole.sum(), "squares": (counted.whole * counted.whole).sum()}
    return counted.group_by(list(keys)).aggregate(**sums).limit(MOST_DENSE + 1)
