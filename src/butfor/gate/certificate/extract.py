r"""The rows that a decision was made from, in one file that is the same bytes for the same rows in the same order.

A line of canonical JSON (names, parts, texts of coded columns), a line break, then each column as little-endian doubles
in the order of the line. The digest of evidence does not depend on the order of rows; estimators that split rows into
folds do, so the order is kept.
"""

from __future__ import annotations

import types
from typing import TYPE_CHECKING

import numpy as np

from butfor.errors import CorruptRecord, InputError
from butfor.estimation.columns import Columns
from butfor.gate.signing.strict_json import canonical_bytes, parse_canonical

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from numpy.typing import NDArray

    from butfor.canonical import Json

SCHEMA = "butfor.extract/1"
MOST_ROWS = 1_000_000
"""How many rows an extract holds by default; more are kept as statistics or by digest."""
_FIELDS = {"schema", "rows", "columns", "further", "levels", "treatment", "outcome", "covariates", "discrete"}
_FURTHER = ("clusters", "time", "probability")


def write_extract(columns: Columns) -> bytes:
    """Return the file of these rows."""
    return b"".join(extract_blocks(columns))


def extract_blocks(columns: Columns) -> Iterator[bytes | memoryview]:
    """Return the file of these rows piece by piece, without copies of all of them."""
    further = {name: values for name in _FURTHER if (values := getattr(columns, name)) is not None}
    head: dict[str, Json] = {
        "schema": SCHEMA,
        "rows": columns.n,
        "columns": list(columns.table),
        "further": list(further),
        "levels": {name: list(texts) for name, texts in columns.levels.items()},
        "treatment": columns.treatment,
        "outcome": columns.outcome,
        "covariates": list(columns.covariates),
        "discrete": sorted(columns.discrete),
    }
    yield canonical_bytes(head) + b"\n"
    for values in (*columns.table.values(), *further.values()):
        # + 0.0 turns −0.0 into 0.0, as the digest of rows does.
        yield np.ascontiguousarray(values + 0.0, dtype="<f8").data


def read_extract(data: bytes, *, where: str = "extract") -> Columns:
    """Read what `write_extract` wrote. Whether the rows are those of a certificate, their digest says.

    Raises:
        CorruptRecord: It is no extract, or its columns cannot be.
    """
    line, _, blocks = data.partition(b"\n")
    try:
        head = parse_canonical(line)
        _require(isinstance(head, dict) and set(head) == _FIELDS and head["schema"] == SCHEMA)
        names = [*head["columns"], *(f"further {name}" for name in head["further"])]
        _require(len(set(names)) == len(names) and set(head["further"]) <= set(_FURTHER))
        rows = head["rows"]
        _require(type(rows) is int and rows > 0 and len(blocks) == 8 * rows * len(names))
        arrays = np.frombuffer(blocks, dtype="<f8").astype(np.float64).reshape(len(names), rows)
        _require(bool(np.isfinite(arrays).all()))
        found = _columns(head, dict(zip(names, arrays, strict=True)))
        # A code of a cluster that is no whole number, or −0.0, would otherwise read as a value that others write.
        _require(write_extract(found) == data)
        return found
    except (InputError, CorruptRecord, KeyError, TypeError, ValueError) as error:
        raise CorruptRecord(f"this is no extract of rows ({error})", where=where, fix="export it again") from None


def _columns(head: Mapping[str, Json], arrays: Mapping[str, NDArray[np.float64]]) -> Columns:
    """Check the columns as evidence is checked, with texts in the place of their codes."""
    levels = {name: tuple(texts) for name, texts in head["levels"].items()}
    table = {name: arrays[name] for name in head["columns"]}
    for name, texts in levels.items():
        codes = table[name]
        _require(list(texts) == sorted(set(texts)) and bool(np.isin(codes, np.arange(len(texts))).all()))
    for values in arrays.values():
        values.setflags(write=False)
    # Checks names, lengths, values and parts; codes stand for texts, so texts need not be written out for it.
    checked = Columns.of(table, treatment=head["treatment"], outcome=head["outcome"], covariates=head["covariates"])
    discrete = checked.discrete | set(levels)
    _require(sorted(discrete) == head["discrete"] and set(table) == set(checked.table))
    further = {name: arrays[f"further {name}"] for name in head["further"]}
    clusters = further.get("clusters")
    return Columns(
        table=types.MappingProxyType(table),
        levels=types.MappingProxyType(levels),
        treatment=checked.treatment,
        outcome=checked.outcome,
        covariates=checked.covariates,
        discrete=frozenset(discrete),
        clusters=None if clusters is None else clusters.astype(np.int64),
        time=further.get("time"),
        probability=further.get("probability"),
    )


def _require(holds: bool) -> None:
    if not holds:
        raise CorruptRecord("its parts do not fit")
