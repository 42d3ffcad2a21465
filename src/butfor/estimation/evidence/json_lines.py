"""JSON Lines: one object a row."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from butfor.errors import InputError, NotFound, system_reason

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from pathlib import Path


def read_json_lines(path: Path, names: Iterable[str]) -> dict[str, list[Any]]:
    """Read fields of a JSON Lines file.

    Raises:
        NotFound: There is no such file.
        InputError: A line is no object, lacks a field, or holds null, a list or an object there.
    """
    columns: dict[str, list[Any]] = {name: [] for name in names}
    try:
        with path.open(encoding="utf-8") as stream:
            for number, line in enumerate(stream, start=1):
                if line.strip():
                    _take(line, columns, f"{path}, line {number}")
    except FileNotFoundError:
        raise NotFound("there is no such file", where=str(path), fix="check the path") from None
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(f"the file cannot be read ({system_reason(error)})", where=str(path)) from None
    return columns


def _take(line: str, columns: Mapping[str, list[Any]], where: str) -> None:
    try:
        row = json.loads(line)
    except (ValueError, RecursionError) as error:
        raise InputError(f"the line is no JSON ({str(error)[:80]})", where=where) from None
    if not isinstance(row, dict):
        raise InputError("the line is no object", where=where, fix="write one object a line")
    for name, column in columns.items():
        if not isinstance(row.get(name), bool | int | float | str):
            kind = "no field" if name not in row else f"{type(row[name]).__name__} in field"
            raise InputError(f"{kind} {name!r}", where=where, fix="give a number or a text, or leave the unit out")
        column.append(row[name])


def write_json_lines(table: Mapping[str, list[Any]], path: Path) -> None:
    """Write columns as one object a row.

    Raises:
        InputError: The file cannot be written.
    """
    lines = (json.dumps(dict(zip(table, row, strict=True))) for row in zip(*table.values(), strict=True))
    try:
        path.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    except OSError as error:
        raise InputError(f"the file cannot be written ({error.strerror})", where=str(path)) from None
