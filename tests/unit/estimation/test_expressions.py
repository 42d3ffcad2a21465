"""An Ibis expression on an engine gives the very integers that the embedded engine and the rows give."""

import subprocess
import sys

import ibis
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from butfor.errors import InputError
from butfor.estimation.evidence import Roles, aggregate, aggregate_expression
from tests.patience import PATIENCE
from tests.unit.estimation.test_aggregate import ROLES, same, table


def on_engine(drawn, path):
    pq.write_table(pa.table(drawn), path)
    return ibis.duckdb.connect().read_parquet(str(path))


@pytest.mark.parametrize("outcome", ["normal", "binary", "truth", "tiny", "large", "halves"])
@pytest.mark.parametrize("seed", [1, 2])
def test_an_expression_gives_what_the_embedded_engine_gives(tmp_path, seed, outcome):
    path = tmp_path / "log.parquet"
    log = on_engine(table(seed, outcome), path)
    found, ours = aggregate_expression(log, ROLES, kind="observational"), aggregate(path, ROLES, kind="observational")
    same(found.cells, ours.cells)
    assert found.levels == ours.levels
    assert found.evidence.digest == ours.evidence.digest
    assert found.evidence.arms == ours.evidence.arms
    assert "GROUP BY" in found.query
    assert found.rows_hash == ""


def test_an_expression_of_an_expression_is_reduced(tmp_path):
    log = on_engine({"t": [0, 1] * 50, "y": np.arange(100) % 3, "when": np.arange(100)}, tmp_path / "log.parquet")
    recent = log.filter(log.when >= 40).mutate(late=log.when >= 80)
    found = aggregate_expression(recent, Roles(treatment="t", outcome="y", covariates=("late",)), kind="mixed")
    assert found.evidence.rows == 60
    assert found.cells.n.tolist() == [[20, 20], [10, 10]]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"T": ["hold"] * 3000}, "treatment 'T' is constant"),
        ({"Y": [None, *[0.5] * 2999]}, "1 empty entries in column 'Y'"),
        ({"c": [None, *["x"] * 2999]}, "1 empty entries in column 'c'"),
        ({"Y": [float("nan"), *[0.5] * 2999]}, "'Y' holds NaN or infinity"),
        ({"Y": [-float("inf"), *[0.5] * 2999]}, "'Y' holds NaN or infinity"),
        ({"a": [float("nan"), *[1.0] * 2999]}, "'a' holds NaN or infinity"),
        ({"Y": ["x"] * 3000}, "the outcome 'Y' is text"),
        ({"a": np.linspace(0, 1, 3000)}, "'a' is not discrete"),
        ({"a": np.arange(3000)}, "'a' is not discrete"),
        ({"a": np.arange(3000).astype("datetime64[s]")}, "'a' is of type timestamp"),
        ({"a": None}, "no column 'a'"),
    ],
)
def test_what_cannot_be_reduced_is_refused(tmp_path, change, message):
    drawn = {name: values for name, values in {**table(1, "normal"), **change}.items() if values is not None}
    with pytest.raises(InputError, match=message):
        aggregate_expression(on_engine(drawn, tmp_path / "log.parquet"), ROLES, kind="mixed")


def test_no_rows_no_table_and_a_broken_engine(tmp_path):
    log = on_engine({"t": [0, 1], "y": [0, 1]}, tmp_path / "log.parquet")
    roles = Roles(treatment="t", outcome="y")
    with pytest.raises(InputError, match="no rows"):
        aggregate_expression(log.filter(log.t > 5), roles, kind="mixed")
    with pytest.raises(InputError, match="not an Ibis table"):
        aggregate_expression({"t": [0, 1]}, roles, kind="mixed")
    (tmp_path / "log.parquet").unlink()
    with pytest.raises(InputError, match="cannot be run"):
        aggregate_expression(log, roles, kind="mixed")


def test_without_ibis_the_error_says_what_to_install():
    code = (
        "import sys; sys.modules['ibis'] = None\n"
        "from butfor.errors import MissingExtra\n"
        "from butfor.estimation.evidence import Roles, aggregate_expression\n"
        "try:\n    aggregate_expression(None, Roles(treatment='t', outcome='y'), kind='mixed')\n"
        "except MissingExtra as error:\n    print(error)\n"
    )
    said = subprocess.run(
        [sys.executable, "-c", code], check=True, capture_output=True, text=True, timeout=PATIENCE
    ).stdout
    assert "butfor[ibis]" in said
