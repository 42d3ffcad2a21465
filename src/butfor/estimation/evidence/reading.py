"""From files and objects to a checked table with its description."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

import numpy as np

from butfor.errors import InputError
from butfor.estimation.columns import Columns
from butfor.estimation.evidence.arrow import from_frame, read_parquet
from butfor.estimation.evidence.delimited import read_delimited
from butfor.estimation.evidence.description import Evidence, Kind, Roles
from butfor.estimation.evidence.json_lines import read_json_lines
from butfor.estimation.evidence.row_digest import row_digest

if TYPE_CHECKING:
    from pathlib import Path

    from numpy.typing import NDArray

# Clocks of different machines differ, and an export may be dated by the day.
AHEAD = np.timedelta64(1, "D")
EARLIEST = np.datetime64("1900-01-01", "us")


@dataclasses.dataclass(frozen=True, kw_only=True, eq=False)
class Table:
    """Evidence with its rows in memory.

    Attributes:
        evidence: The description.
        columns: The rows, checked.
    """

    evidence: Evidence
    columns: Columns


def read_file(path: Path, roles: Roles, *, kind: Kind, now: datetime | None = None, note: str = "") -> Table:
    """Read evidence from a CSV, TSV, JSON Lines or Parquet file.

    Args:
        path: The file; its suffix says what it is.
        roles: Which column plays which part.
        kind: How the treatments were chosen.
        now: The present, with a time zone: later times are refused. None does not look.
        note: What a reader must know.

    Raises:
        NotFound: There is no such file.
        MissingExtra: A Parquet file, and pyarrow is not installed.
        InputError: A column is missing, of mixed types, has an empty, NaN or infinite entry, the treatment is constant,
            a unit has two rows, or a time is impossible. The message names file, line or row, and column.
    """
    if path.suffix in (".csv", ".tsv"):
        table: Mapping[str, Any] = read_delimited(path, roles.columns, text=_texts(roles))
    elif path.suffix in (".parquet", ".pq"):
        table = read_parquet(path, roles.columns)
    elif path.suffix == ".jsonl":
        table = read_json_lines(path, roles.columns)
    else:
        raise InputError(
            f"evidence of the kind {path.suffix!r} is not read", where=str(path), fix="give CSV, Parquet or JSON Lines"
        )
    return _checked(table, roles, kind=kind, now=now, note=note, where=str(path))


def read_object(
    source: object, roles: Roles, *, kind: Kind, now: datetime | None = None, note: str = "", name: str = "the table"
) -> Table:
    """Read evidence from a pandas or polars frame, an Arrow table, or a mapping of columns.

    Args:
        source: The table.
        roles: Which column plays which part.
        kind: How the treatments were chosen.
        now: The present, with a time zone: later times are refused. None does not look.
        note: What a reader must know.
        name: What to call it in messages and in the description.

    Raises:
        MissingExtra: A frame, and pyarrow is not installed.
        InputError: As for `read_file`.
    """
    if isinstance(source, Mapping):
        for column in roles.columns:
            if column not in source:
                raise InputError(
                    f"there is no column {column!r}", where=name, fix=f"the columns are {list(source)[:40]}"
                )
        table: Mapping[str, Any] = {column: source[column] for column in roles.columns}
    else:
        table = from_frame(source, roles.columns, where=name)
    return _checked(table, roles, kind=kind, now=now, note=note, where=name)


def _texts(roles: Roles) -> frozenset[str]:
    # Identifiers and times are no quantities: 007 and 7 are two units.
    named = (roles.unit, roles.clusters, roles.time)
    return roles.text | {name for name in named if name is not None}


def _checked(
    table: Mapping[str, Any], roles: Roles, *, kind: Kind, now: datetime | None, note: str, where: str
) -> Table:
    used = dict(table)
    if roles.time is not None:
        used[roles.time] = _times(table[roles.time], now, where=f"{where}, column {roles.time!r}")
    if roles.unit is not None:
        _check_units(table[roles.unit], roles.unit, where)
    for name in roles.text:
        used[name] = [str(value) for value in table[name]]
    try:
        columns = Columns.of(
            used,
            treatment=roles.treatment,
            outcome=roles.outcome,
            covariates=roles.covariates,
            clusters=roles.clusters,
            time=roles.time,
            probability=roles.probability,
        )
    except InputError as error:
        raise InputError(error.what, where=f"{where}, {error.where}" if error.where else where, fix=error.fix) from None
    description = Evidence(
        digest=row_digest(columns),
        kind=kind,
        roles=roles,
        rows=columns.n,
        arms=_arms(columns),
        window=None if roles.time is None else _window(used[roles.time]),
        source=where,
        note=note,
    )
    return Table(evidence=description, columns=columns)


def _arms(columns: Columns) -> dict[str, int]:
    values, counts = np.unique(columns.t, return_counts=True)
    texts = columns.levels.get(columns.treatment)
    named = [f"{value:g}" if texts is None else texts[int(value)] for value in values]
    # A continuous treatment has an arm for each unit; naming them all would say nothing.
    return dict(zip(named, counts.tolist(), strict=True)) if len(named) <= 50 else {"different values": len(named)}


def _times(values: Any, now: datetime | None, *, where: str) -> NDArray[Any]:
    """Turn times into datetime64 in UTC, or leave numbers as they are."""
    raw = np.asarray(values)
    if raw.dtype.kind in "OUS":
        raw = _numbers(raw)
    if raw.dtype.kind in "OUS":
        raw = np.array(
            [_moment(value, f"{where}, row {i + 1}") for i, value in enumerate(raw.tolist())], "datetime64[us]"
        )
    if raw.dtype.kind == "M":
        latest = None if now is None else np.datetime64(now.astimezone(UTC).replace(tzinfo=None), "us") + AHEAD
        bad = np.isnat(raw) | (raw < EARLIEST) | (np.zeros(raw.shape, bool) if latest is None else raw > latest)
        if bad.any():
            row = int(np.argmax(bad))
            raise InputError(
                f"the time {raw[row]} is impossible (before 1900, or still to come)",
                where=f"{where}, row {row + 1}",
                fix="correct it, or leave the unit out",
            )
    return raw


def _numbers(raw: NDArray[Any]) -> NDArray[Any]:
    try:
        return raw.astype(float)
    except (TypeError, ValueError):
        return raw


def _moment(value: object, where: str) -> datetime:
    """Read one ISO 8601 time; without a zone it is taken for UTC."""
    try:
        found = value if isinstance(value, datetime) else datetime.fromisoformat(str(value))
    except ValueError:
        raise InputError(f"{value!r} is no time", where=where, fix="write ISO 8601, as 2026-03-01T12:00:00Z") from None
    return found.astimezone(UTC).replace(tzinfo=None) if found.tzinfo else found


def _window(times: NDArray[Any]) -> tuple[str, str]:
    first, last = times.min(), times.max()
    return (f"{first}Z", f"{last}Z") if times.dtype.kind == "M" else (f"{first:g}", f"{last:g}")


def _check_units(values: Any, name: str, where: str) -> None:
    units = [str(value) for value in values]
    if len(set(units)) == len(units):
        return
    first: dict[str, int] = {}
    for i, unit in enumerate(units):
        if unit in first:
            raise InputError(
                f"the unit {unit!r} has two rows, {first[unit] + 1} and {i + 1}",
                where=f"{where}, column {name!r}",
                fix="keep one row a unit, or name the column as clusters",
            )
        first[unit] = i
