"""Arrow tables, and with them Parquet files, pandas and polars frames, and query results."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

import numpy as np

from butfor.errors import InputError, MissingExtra, NotFound, system_reason

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from pathlib import Path

    from numpy.typing import NDArray

LARGEST_EXACT = 1 << 53


def arrow() -> Any:
    """Import pyarrow.

    Raises:
        MissingExtra: It is not installed.
    """
    try:
        return importlib.import_module("pyarrow")
    except ImportError:
        raise MissingExtra("pyarrow", extra="evidence", purpose="reading Arrow, Parquet and frames") from None


def read_parquet(path: Path, names: Iterable[str]) -> dict[str, NDArray[Any]]:
    """Read columns of a Parquet file.

    Raises:
        NotFound: There is no such file.
        MissingExtra: pyarrow is not installed.
        InputError: The file is damaged, a column is missing, or holds an empty entry or what is no number or text.
    """
    pa = arrow()
    parquet = importlib.import_module("pyarrow.parquet")
    if not path.is_file():
        raise NotFound("there is no such file", where=str(path), fix="check the path")
    wanted = list(dict.fromkeys(names))
    try:
        schema = parquet.read_schema(path)
        _check_names(wanted, schema.names, str(path))
        table = parquet.read_table(path, columns=wanted)
    except (OSError, pa.ArrowException) as error:
        raise InputError(f"the Parquet file cannot be read ({str(error)[:120]})", where=str(path)) from None
    return from_arrow(table, wanted, where=str(path))


def write_parquet(table: Mapping[str, list[Any]], path: Path) -> None:
    """Write columns as a Parquet file.

    Raises:
        MissingExtra: pyarrow is not installed.
        InputError: The file cannot be written.
    """
    pa = arrow()
    try:
        importlib.import_module("pyarrow.parquet").write_table(pa.table(dict(table)), path)
    except OSError as error:
        raise InputError(f"the file cannot be written ({system_reason(error)})", where=str(path)) from None


def from_frame(frame: Any, names: Iterable[str], *, where: str) -> dict[str, NDArray[Any]]:
    """Read columns of anything that exports Arrow data: pandas and polars frames, Arrow tables, DuckDB relations.

    Raises:
        MissingExtra: pyarrow is not installed.
        InputError: As for `read_parquet`.
    """
    pa, wanted = arrow(), list(dict.fromkeys(names))
    if hasattr(frame, "columns") and not isinstance(frame, pa.Table):
        # Only the columns asked for are converted: another one may hold what Arrow cannot.
        _check_names(wanted, [str(name) for name in frame.columns], where)
        frame = frame[wanted]
    try:
        table = pa.table(frame)
    except (pa.ArrowException, TypeError, ValueError) as error:
        raise InputError(
            f"a column mixes types ({str(error)[:120]})", where=where, fix="give one type a column"
        ) from None
    return from_arrow(table, wanted, where=where)


def from_arrow(table: Any, names: Iterable[str], *, where: str) -> dict[str, NDArray[Any]]:
    """Turn columns of an Arrow table into NumPy arrays: numbers, texts or times."""
    _check_names(list(names), table.column_names, where)
    return {name: _array(name, table.column(name), where) for name in names}


def _check_names(wanted: list[str], present: Iterable[str], where: str) -> None:
    there = list(present)
    for name in wanted:
        if name not in there:
            raise InputError(f"there is no column {name!r}", where=where, fix=f"the columns are {there[:40]}")


def _array(name: str, column: Any, where: str) -> NDArray[Any]:
    pa = arrow()
    types, place = pa.types, f"{where}, column {name!r}"
    if column.null_count:
        row = column.is_null().to_numpy().argmax() + 1
        raise InputError(
            "an empty entry", where=f"{place}, row {row}", fix="fill it, or leave the unit out and say why you may"
        )
    kind = column.type
    if types.is_dictionary(kind):
        column = column.cast(kind.value_type)
        kind = column.type
    if types.is_timestamp(kind) or types.is_date(kind):
        return np.asarray(column.cast(pa.timestamp("us")).to_numpy(), dtype="datetime64[us]")
    if types.is_decimal(kind):
        return np.asarray(column.cast(pa.float64()).to_numpy())
    if types.is_string(kind) or types.is_large_string(kind) or types.is_string_view(kind):
        return np.asarray(column.to_pylist(), dtype=object)
    if not (types.is_integer(kind) or types.is_floating(kind) or types.is_boolean(kind)):
        raise InputError(f"the column holds {kind}", where=place, fix="give numbers, truth values, text or times")
    values = np.asarray(column.to_numpy())
    if values.dtype.kind in "iu" and values.size and max(abs(int(values.min())), int(values.max())) > LARGEST_EXACT:
        raise InputError("a whole number is beyond 2^53", where=place, fix="pass such a column as text")
    return values
