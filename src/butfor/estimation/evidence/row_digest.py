"""One digest for a multiset of rows: equal rows have equal digests, whatever their order, file or number type."""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING

import numpy as np

from butfor import canonical

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

    from butfor.estimation.columns import Columns

# The digest's own version: another way of writing rows is another name, so that digests are never confused.
FORM = "butfor.rows/1"


def row_digest(columns: Columns) -> str:
    """Return the tagged SHA-256 of the rows in sorted order.

    Sorting makes it independent of order without giving up collision resistance, which a sum of row hashes would.
    """
    table = _parts(columns)
    names = sorted(table)
    order = np.lexsort([table[name] for name in reversed(names)])
    head = {
        "form": FORM,
        "rows": columns.n,
        "columns": names,
        "levels": {name: list(texts) for name, texts in sorted(columns.levels.items())},
        "treatment": columns.treatment,
        "outcome": columns.outcome,
    }
    hasher = hashlib.sha256(canonical.canonical(head).encode())
    for name in names:
        # + 0.0 turns −0.0 into 0.0: they are equal, so they must not differ in bytes.
        hasher.update((table[name][order] + 0.0).astype("<f8").tobytes())
    return f"{canonical.SCHEME}:{hasher.hexdigest()}"


def _parts(columns: Columns) -> Mapping[str, NDArray[np.float64]]:
    further = {"clusters": columns.clusters, "time": columns.time, "probability": columns.probability}
    named = {f"column {name}": values for name, values in columns.table.items()}
    return named | {name: values.astype(float) for name, values in further.items() if values is not None}
