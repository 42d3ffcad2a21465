import json

import numpy as np
import pytest

from butfor.errors import CorruptRecord, InputError
from butfor.estimation import Cells, Columns
from butfor.estimation.cells import unit_for


def table(n=2000, seed=1, *, outcome=None):
    rng = np.random.default_rng(seed)
    t, a, b = rng.integers(0, 3, n), rng.integers(-2, 3, n), rng.integers(0, 2, n)
    y = rng.integers(0, 2, n) if outcome is None else outcome(rng, n)
    return Columns.of({"t": t, "y": y, "a": a, "b": b}, treatment="t", outcome="y")


def counted(columns):
    """The same by a loop over rows."""
    found: dict[tuple[float, float, float], list[float]] = {}
    for t, y, a, b in zip(*(columns.table[name] for name in ("t", "y", "a", "b")), strict=True):
        cell = found.setdefault((a, b, t), [0, 0.0, 0.0])
        cell[0] += 1
        cell[1] += y
        cell[2] += y * y
    return found


@pytest.mark.parametrize(
    "outcome",
    [
        None,
        lambda rng, n: rng.integers(-40, 900, n),
        lambda rng, n: rng.normal(size=n),
        lambda rng, n: 1e6 * rng.standard_t(2, size=n),
        lambda rng, n: 1e-9 * rng.random(n),
    ],
)
def test_cells_are_what_a_loop_counts(outcome):
    columns = table(outcome=outcome)
    cells = Cells.of(columns, ["a", "b"])
    for (a, b, t), (n, total, squares) in counted(columns).items():
        i = next(i for i, key in enumerate(cells.keys.tolist()) if key == [a, b])
        j = cells.arms.tolist().index(t)
        assert cells.n[i, j] == n
        scale = np.abs(columns.y).max() * n
        assert abs(cells.total[i, j] * cells.unit - total) <= 1e-6 * scale
        assert abs(cells.squares[i, j] * cells.unit**2 - squares) <= 1e-5 * np.abs(columns.y).max() * scale


def test_only_strata_that_occur_are_kept():
    columns = Columns.of({"t": [0, 1, 0], "y": [0, 1, 1], "z": [0, 7, 7]}, treatment="t", outcome="y")
    assert Cells.of(columns, ["z"]).keys.tolist() == [[0], [7]]


def test_the_order_of_rows_does_not_matter():
    columns = table(outcome=lambda rng, n: rng.normal(size=n))
    order = np.random.default_rng(5).permutation(columns.n)
    shuffled = Columns.of({name: values[order] for name, values in columns.table.items()}, treatment="t", outcome="y")
    assert Cells.of(columns, ["a"]).to_json() == Cells.of(shuffled, ["a"]).to_json()


def test_nothing_is_binned():
    with pytest.raises(InputError, match="'x' is not discrete"):
        Cells.of(Columns.of({"t": [0, 1], "y": [0, 1], "x": [0.5, 0.25]}, treatment="t", outcome="y"), ["x"])


def test_cells_survive_json():
    cells = Cells.of(table(), ["a", "b"])
    assert Cells.from_json(json.loads(json.dumps(cells.to_json()))).to_json() == cells.to_json()


def test_impossible_sums_are_refused():
    document = Cells.of(table(), []).to_json()
    document["squares"][0][0] = 0
    with pytest.raises(CorruptRecord, match="cannot be"):
        Cells.from_json(document)


@pytest.mark.parametrize("n", [10, 1 << 20, 1 << 30])
@pytest.mark.parametrize("largest", [1.0, 1000.0, float((1 << 20) - 1), 1e9])
def test_sums_of_squares_of_a_billion_whole_numbers_fit(n, largest):
    unit = unit_for(largest, n, whole=True)
    assert n * (largest / unit) ** 2 < 1 << 62
    assert unit == 1.0 or largest / unit >= 1 << 14
