"""One aggregate query gives the very integers that the rows give."""

import duckdb
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from butfor.errors import InputError, NotFound
from butfor.estimation.cells import Cells
from butfor.estimation.evidence import Roles, aggregate, read_object, read_sql
from butfor.noise import numpy_generator

ROLES = Roles(treatment="T", outcome="Y", covariates=("a", "b", "c"))


def table(seed, outcome, n=3000):
    rng = numpy_generator("aggregate", seed)
    drawn = {
        "normal": lambda: rng.normal(0.1, 1e3, n),
        "binary": lambda: rng.integers(0, 2, n),
        "truth": lambda: rng.integers(0, 2, n).astype(bool),
        "tiny": lambda: rng.random(n) * 1e-12,
        "large": lambda: rng.integers(-(10**9), 10**9, n),
        "halves": lambda: rng.integers(-9, 9, n) / 2,
    }
    return {
        "T": rng.choice(["hold", "refund", "ask"], n) if seed % 2 else rng.integers(0, 3, n),
        "Y": drawn[outcome](),
        "a": rng.integers(-2, 3, n),
        "b": rng.integers(0, 2, n).astype(bool),
        "c": rng.choice(["red", "Blue", "é", "green ' \""], n),
    }


def same(one, other):
    assert (one.strata, one.unit) == (other.strata, other.unit)
    for name in ("arms", "keys", "n", "total", "squares"):
        assert np.array_equal(getattr(one, name), getattr(other, name)), name


@pytest.mark.parametrize("outcome", ["normal", "binary", "truth", "tiny", "large", "halves"])
@pytest.mark.parametrize("seed", [1, 2])
def test_the_query_gives_what_the_rows_give(tmp_path, seed, outcome):
    drawn, path = table(seed, outcome), tmp_path / "it's a log.parquet"
    pq.write_table(pa.table(drawn), path)
    found = aggregate(path, ROLES, kind="observational")
    columns = read_object(drawn, ROLES, kind="observational").columns
    same(found.cells, Cells.of(columns, ["a", "b", "c"]))
    assert found.levels["c"] == columns.levels["c"]
    assert sum(found.evidence.arms.values()) == found.evidence.rows == 3000


def test_sums_and_hash_do_not_depend_on_the_order_of_rows(tmp_path):
    drawn = table(1, "normal")
    order = numpy_generator("order").permutation(3000)
    answers = []
    for i, each in enumerate((drawn, {name: values[order] for name, values in drawn.items()})):
        path = tmp_path / f"{i}.parquet"
        pq.write_table(pa.table(each), path)
        answers.append(aggregate(path, ROLES, kind="mixed"))
    assert answers[0].rows_hash == answers[1].rows_hash
    assert answers[0].evidence.digest == answers[1].evidence.digest
    drawn["Y"][7] += 1.0
    path = tmp_path / "changed.parquet"
    pq.write_table(pa.table(drawn), path)
    assert aggregate(path, ROLES, kind="mixed").rows_hash != answers[0].rows_hash


def test_a_query_and_a_connection_of_the_users_own():
    connection = duckdb.connect()
    connection.execute("CREATE TABLE log AS SELECT i % 2 AS t, i % 3 AS y FROM range(100) r(i)")
    roles = Roles(treatment="t", outcome="y")
    found = aggregate("SELECT * FROM log WHERE y < 2;", roles, kind="mixed", connection=connection)
    assert found.cells.n.tolist() == [[33, 34]]
    assert found.cells.keys.shape == (1, 0)
    assert connection.execute("SELECT count(*) FROM log").fetchone() == (100,)


def test_a_temporary_table_in_an_open_transaction_is_read_and_left_alone():
    connection = duckdb.connect()
    connection.execute("CREATE TEMP TABLE log AS SELECT i % 2 AS t, i % 3 AS y FROM range(100) r(i)")
    connection.execute("BEGIN TRANSACTION")
    connection.execute("INSERT INTO log VALUES (1, 2)")
    roles = Roles(treatment="t", outcome="y")
    assert aggregate("FROM log", roles, kind="mixed", connection=connection).evidence.rows == 101
    assert read_sql("FROM log", roles, kind="mixed", connection=connection).evidence.rows == 101
    with pytest.raises(InputError, match="no column 'z'"):
        aggregate("FROM log", Roles(treatment="t", outcome="z"), kind="mixed", connection=connection)
    connection.execute("COMMIT")
    assert connection.execute("SELECT count(*) FROM log").fetchone() == (101,)


def test_a_csv_file_is_reduced_too(tmp_path):
    path = tmp_path / "log.csv"
    path.write_text("t,y,c\n1,0.5,red\n0,0.25,blue\n1,1.5,red\n")
    found = aggregate(path, Roles(treatment="t", outcome="y", covariates=("c",)), kind="mixed")
    assert found.levels == {"c": ("blue", "red")}
    assert found.cells.n.tolist() == [[1, 0], [0, 2]]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"T": ["hold"] * 3000}, "treatment 'T' is constant"),
        ({"Y": [None, *[0.5] * 2999]}, "1 empty entries in column 'Y'"),
        ({"c": [None, *["x"] * 2999]}, "1 empty entries in column 'c'"),
        ({"Y": [float("nan"), *[0.5] * 2999]}, "'Y' holds NaN or infinity"),
        ({"Y": [float("inf"), *[0.5] * 2999]}, "'Y' holds NaN or infinity"),
        ({"Y": ["x"] * 3000}, "the outcome 'Y' is text"),
        ({"a": np.linspace(0, 1, 3000)}, "'a' is not discrete"),
        ({"a": np.arange(3000)}, "'a' is not discrete"),
        ({"a": None}, "no column 'a'"),
    ],
)
def test_what_cannot_be_reduced_is_refused(tmp_path, change, message):
    drawn = {name: values for name, values in {**table(1, "normal"), **change}.items() if values is not None}
    path = tmp_path / "log.parquet"
    pq.write_table(pa.table(drawn), path)
    with pytest.raises(InputError, match=message):
        aggregate(path, ROLES, kind="mixed")


def test_no_rows_and_no_file(tmp_path):
    with pytest.raises(NotFound, match="no such file"):
        aggregate(tmp_path / "absent.parquet", ROLES, kind="mixed")
    with pytest.raises(InputError, match="no rows"):
        aggregate("SELECT 1 AS T, 1 AS Y WHERE false", Roles(treatment="T", outcome="Y"), kind="mixed")
