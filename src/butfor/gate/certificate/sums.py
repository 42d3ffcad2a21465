"""Counts and sums as a certificate carries them: sums as decimal text, since they can exceed what JSON numbers keep."""

from __future__ import annotations

from typing import TYPE_CHECKING

from butfor.errors import CorruptRecord
from butfor.estimation.cells import Cells

if TYPE_CHECKING:
    from collections.abc import Callable

    from butfor.canonical import Json

_SUMS = ("total", "squares")


def cells_document(cells: Cells) -> dict[str, Json]:
    """Return cells as JSON that can be signed."""
    document = cells.to_json()
    return {**document, **{name: _each(document[name], str) for name in _SUMS}}


def cells_in(document: Json) -> Cells:
    """Read what `cells_document` wrote.

    Raises:
        CorruptRecord: It is not that, or the numbers cannot be.
    """
    if not isinstance(document, dict) or not set(_SUMS) <= set(document):
        raise CorruptRecord("expected the cells of a table", where="$.provenance.statistics")
    return Cells.from_json({**document, **{name: _each(document[name], _number) for name in _SUMS}})


def _each(grid: Json, change: Callable[[Json], Json]) -> Json:
    try:
        return [[change(value) for value in row] for row in grid]
    except (TypeError, ValueError) as error:
        raise CorruptRecord(f"expected sums by stratum and arm ({error})", where="$.provenance.statistics") from None


def _number(text: Json) -> int:
    found = int(text)
    if not isinstance(text, str) or str(found) != text or not -(1 << 63) <= found < 1 << 63:
        raise ValueError(f"{text!r} is no sum")
    return found
