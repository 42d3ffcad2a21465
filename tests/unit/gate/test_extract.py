"""An extract gives back the rows that were written, in their order, and is the same bytes each time."""

import numpy as np
import pytest

from butfor.errors import CorruptRecord
from butfor.estimation.columns import Columns
from butfor.estimation.evidence.row_digest import row_digest
from butfor.gate.certificate.extract import read_extract, write_extract

N = 50


def columns() -> Columns:
    draw = np.random.default_rng(3)
    return Columns.of(
        {
            "T": draw.choice(["a", "b", "é"], N),
            "Y": draw.normal(size=N) * np.where(np.arange(N) == 0, -0.0, 1.0),
            "Z": draw.integers(0, 3, N),
            "who": draw.choice(["x", "y"], N),
            "run": draw.choice(["r1", "r2", "r3"], N),
            "when": np.arange(N) + 0.5,
            "p": np.full(N, 0.25),
        },
        treatment="T",
        outcome="Y",
        covariates=["who", "Z"],
        clusters="run",
        time="when",
        probability="p",
    )


def test_rows_come_back_in_their_order_with_the_same_digest():
    rows = columns()
    data = write_extract(rows)
    found = read_extract(data)
    assert write_extract(found) == data
    assert row_digest(found) == row_digest(rows)
    assert found.levels == rows.levels
    assert (found.discrete, found.covariates, found.treatment) == (rows.discrete, rows.covariates, rows.treatment)
    for name in rows.table:
        np.testing.assert_array_equal(found.table[name], rows.table[name])
        assert not found.table[name].flags.writeable
    for name in ("clusters", "time", "probability"):
        np.testing.assert_array_equal(getattr(found, name), getattr(rows, name))
    assert found.clusters is not None
    assert found.clusters.dtype == np.int64


def test_a_changed_byte_is_refused_or_changes_the_digest():
    data, digest = write_extract(columns()), row_digest(columns())
    for place in range(0, len(data), 7):
        changed = data[:place] + bytes([data[place] ^ 1]) + data[place + 1 :]
        try:
            found = read_extract(changed)
        except CorruptRecord:
            continue
        # Which further column is which of the covariates' order is no part of the rows' digest.
        assert row_digest(found) != digest or place < data.index(b"\n"), place


@pytest.mark.parametrize(
    "data", [b"", b"{}\n", b"nothing", write_extract(columns())[:-8], write_extract(columns()) + b"x"]
)
def test_what_is_no_extract_is_refused(data):
    with pytest.raises(CorruptRecord, match="no extract"):
        read_extract(data)
