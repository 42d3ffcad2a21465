"""CSV files, read with the place of every fault: file, line and column."""

from __future__ import annotations

import csv
import math
from typing import TYPE_CHECKING, TypeAlias

from butfor.errors import InputError, NotFound, system_reason

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from pathlib import Path

EMPTY = frozenset({"", "na", "n/a", "nan", "null", "none"})
Raw: TypeAlias = "Mapping[str, list[str] | list[float]]"


def read_delimited(path: Path, names: Iterable[str], *, text: frozenset[str] = frozenset()) -> dict[str, list[object]]:
    """Read columns of a CSV file with a header.

    A column is numeric if most of its cells are numbers; one cell that is not is then a fault.

    Args:
        path: The file, UTF-8; fields are separated by commas, or tabs in ``.tsv``.
        names: The columns to read.
        text: Columns that are text whatever they look like.

    Raises:
        NotFound: There is no such file.
        InputError: A column is missing, a line has too few fields, a cell is empty, or a column mixes types.
    """
    wanted = list(dict.fromkeys(names))
    try:
        with path.open(encoding="utf-8-sig", newline="") as stream:
            reader = csv.reader(stream, delimiter="\t" if path.suffix == ".tsv" else ",", strict=True)
            header = next(reader, [])
            places = [_place(header, name, path) for name in wanted]
            cells, lines = _cells(reader, places, wanted, path, len(header))
    except FileNotFoundError:
        raise NotFound("there is no such file", where=str(path), fix="check the path") from None
    except (OSError, UnicodeDecodeError, csv.Error) as error:
        raise InputError(f"the file cannot be read as CSV ({system_reason(error)})", where=str(path)) from None
    return {
        name: list(column) if name in text else _typed(name, column, lines, path)
        for name, column in zip(wanted, cells, strict=True)
    }


def _place(header: list[str], name: str, path: Path) -> int:
    if header.count(name) != 1:
        how = "no column" if name not in header else "two columns"
        raise InputError(f"the file has {how} {name!r}", where=f"{path}, line 1", fix=f"its columns are {header}")
    return header.index(name)


def _cells(
    reader: Iterable[list[str]], places: list[int], names: list[str], path: Path, width: int
) -> tuple[list[list[str]], list[int]]:
    columns: list[list[str]] = [[] for _ in places]
    lines: list[int] = []
    for row in reader:
        if not row:
            continue
        line = reader.line_num  # type: ignore[attr-defined]  # typed as an iterable; a csv reader counts its lines
        if len(row) != width:
            raise InputError(
                f"the line has {len(row)} fields, the header {width}", where=f"{path}, line {line}", fix="mend the line"
            )
        for column, place, name in zip(columns, places, names, strict=True):
            cell = row[place].strip()
            if cell.lower() in EMPTY:
                raise InputError(
                    f"an empty cell {cell!r}" if cell else "an empty cell",
                    where=f"{path}, line {line}, column {name!r}",
                    fix="fill it, or leave the unit out and say why you may",
                )
            column.append(cell)
        lines.append(line)
    return columns, lines


def _typed(name: str, column: list[str], lines: list[int], path: Path) -> list[object]:
    numbers = [_number(cell) for cell in column]
    bad = [i for i, number in enumerate(numbers) if number is None]
    if not bad:
        infinite = next((i for i, number in enumerate(numbers) if number is None or math.isinf(number)), None)
        if infinite is None:
            return list(numbers)
        bad, what = [infinite], "infinite"
    elif 2 * len(bad) >= len(column):
        if len(bad) == len(column):
            return list(column)
        bad, what = [next(i for i, number in enumerate(numbers) if number is not None)], "a number among texts"
    else:
        what = "not a number, as the others are"
    raise InputError(
        f"{column[bad[0]]!r} is {what}",
        where=f"{path}, line {lines[bad[0]]}, column {name!r}",
        fix="correct it, or declare the column to be text",
    )


def _number(cell: str) -> float | None:
    if cell.lower() in ("true", "false"):
        return float(cell.lower() == "true")
    try:
        return float(cell) if "_" not in cell else None
    except ValueError:
        return None
