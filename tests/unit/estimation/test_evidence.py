"""Evidence: one digest whatever the source, and a named refusal for every table that cannot be used."""

import json
import subprocess
import sys
from datetime import UTC, datetime

import duckdb
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from butfor.errors import CorruptRecord, InputError, NotFound
from butfor.estimation.evidence import (
    KINDS,
    Evidence,
    Roles,
    open_evidence,
    read_file,
    read_object,
    read_sql,
    save_evidence,
    write_rows,
)
from butfor.noise import numpy_generator
from tests.patience import PATIENCE

ROLES = Roles(treatment="T", outcome="Y", covariates=("load", "team"), unit="id", clusters="run", time="at")
NOW = datetime(2026, 6, 1, tzinfo=UTC)


def rows(n=40):
    rng = numpy_generator("evidence")
    return {
        "id": [f"u{i}" for i in range(n)],
        "run": [f"r{i % 7}" for i in range(n)],
        "at": [f"2026-03-{1 + i % 28:02d}T12:00:00+00:00" for i in range(n)],
        "T": (np.arange(n) % 2).tolist(),
        "Y": rng.normal(size=n).round(3).tolist(),
        "load": rng.integers(0, 4, n).tolist(),
        "team": rng.choice(["red", "blue"], n).tolist(),
        "unused": [{"any": "thing"}] * n,
    }


def write_csv(path, table):
    lines = [",".join(table), *(",".join(map(str, row)) for row in zip(*table.values(), strict=True))]
    path.write_text("\n".join(lines) + "\n")
    return path


def used(table):
    return {name: column for name, column in table.items() if name != "unused"}


def test_every_source_gives_the_same_digest(tmp_path):
    table = used(rows())
    parquet, lines = tmp_path / "log.parquet", tmp_path / "log.jsonl"
    write_rows(table, parquet)
    write_rows(table, lines)
    frame = pd.DataFrame(rows())
    frame["team"] = frame["team"].astype("category")
    found = [
        read_object(table, ROLES, kind="observational"),
        read_object({**rows(), "T": np.array(table["T"], dtype=bool)}, ROLES, kind="observational"),
        read_object(frame, ROLES, kind="observational"),
        read_object(pl.DataFrame(table), ROLES, kind="observational"),
        read_object(pa.table(table), ROLES, kind="observational"),
        read_file(write_csv(tmp_path / "log.csv", table), ROLES, kind="observational"),
        read_file(parquet, ROLES, kind="observational"),
        read_file(lines, ROLES, kind="observational"),
        read_sql(f"SELECT * FROM '{parquet}' ORDER BY random()", ROLES, kind="observational"),
    ]
    assert {each.evidence.digest for each in found} == {found[0].evidence.digest}
    assert {each.evidence.window for each in found} == {("2026-03-01T12:00:00.000000Z", "2026-03-28T12:00:00.000000Z")}
    assert found[0].evidence.arms == {"0": 20, "1": 20}
    assert found[0].evidence.rows == 40


@pytest.mark.parametrize("column", ["T", "Y", "load", "team", "run", "at"])
def test_the_digest_is_of_the_rows_used_in_any_order(column):
    table = used(rows())
    digest = read_object(table, ROLES, kind="mixed").evidence.digest
    order = numpy_generator("shuffle").permutation(40)
    shuffled = {name: [values[i] for i in order] for name, values in table.items()}
    assert read_object(shuffled, ROLES, kind="mixed").evidence.digest == digest
    changed = {**table, column: [table[column][1], *table[column][1:]]}
    if changed[column] != table[column]:
        assert read_object(changed, ROLES, kind="mixed").evidence.digest != digest
    twice = {name: [*values, values[0]] for name, values in table.items() if name != "id"}
    no_unit = Roles(**{**ROLES.__dict__, "unit": None})
    assert read_object(twice, no_unit, kind="mixed").evidence.digest != digest
    minus = {**table, "load": [-0.0 if value == 0 else value for value in table["load"]]}
    assert read_object(minus, ROLES, kind="mixed").evidence.digest == digest


def test_two_columns_that_swap_names_are_other_evidence():
    table = used(rows())
    swapped = {**table, "load": table["Y"], "Y": table["load"]}
    assert (
        read_object(table, ROLES, kind="mixed").evidence.digest
        != read_object(swapped, ROLES, kind="mixed").evidence.digest
    )


@pytest.mark.parametrize(
    ("broken", "message"),
    [
        ({"Y": lambda y: [*y[:5], "", *y[6:]]}, r"an empty cell \(.*log.csv, line 7, column 'Y'\)"),
        ({"Y": lambda y: [*y[:5], "nan", *y[6:]]}, r"an empty cell 'nan' \(.*line 7, column 'Y'\)"),
        ({"Y": lambda y: [*y[:5], "inf", *y[6:]]}, r"'inf' is infinite \(.*line 7, column 'Y'\)"),
        ({"Y": lambda y: [*y[:5], "lots", *y[6:]]}, r"'lots' is not a number, as the others are \(.*line 7"),
        ({"team": lambda y: [*y[:5], 3, *y[6:]]}, r"'3' is a number among texts \(.*line 7, column 'team'\)"),
        ({"T": lambda y: [1] * len(y)}, r"the treatment 'T' is constant \(.*log.csv\)"),
        ({"id": lambda y: [*y[:-1], y[0]]}, r"the unit 'u0' has two rows, 1 and 40 \(.*column 'id'\)"),
        ({"at": lambda y: [*y[:5], "yesterday", *y[6:]]}, r"'yesterday' is no time \(.*column 'at', row 6\)"),
        ({"at": lambda y: [*y[:5], "2027-01-01", *y[6:]]}, r"2027-01-01.* is impossible .*row 6\)"),
        ({"at": lambda y: [*y[:5], "0001-01-01", *y[6:]]}, r"is impossible"),
        ({"load": lambda y: None}, r"the file has no column 'load' \(.*line 1\)"),
        ({"load": lambda y: y, "Y": lambda y: None}, r"no column 'Y'"),
    ],
)
def test_a_table_that_cannot_be_used_is_refused_by_place(tmp_path, broken, message):
    table = used(rows())
    for name, change in broken.items():
        table[name] = change(table[name])
    table = {name: column for name, column in table.items() if column is not None}
    with pytest.raises(InputError, match=message):
        read_file(write_csv(tmp_path / "log.csv", table), ROLES, kind="observational", now=NOW)


def test_lines_that_are_no_rows_are_refused_by_line(tmp_path):
    path = write_csv(tmp_path / "log.csv", used(rows()))
    path.write_text(path.read_text() + "1,2\n")
    with pytest.raises(InputError, match=r"2 fields, the header 7 \(.*line 42\)"):
        read_file(path, ROLES, kind="mixed")
    path.write_text("T,T,Y\n1,0,2\n")
    with pytest.raises(InputError, match="two columns 'T'"):
        read_file(path, Roles(treatment="T", outcome="Y"), kind="mixed")
    lines = tmp_path / "log.jsonl"
    for text, message in (
        ('{"T": 1, "Y": 2}\n{"T": 0}', r"no field 'Y' \(.*line 2\)"),
        ('{"T": 1, "Y": null}', r"NoneType in field 'Y' \(.*line 1\)"),
        ("[1]", "no object"),
        ("{", "no JSON"),
    ):
        lines.write_text(text)
        with pytest.raises(InputError, match=message):
            read_file(lines, Roles(treatment="T", outcome="Y"), kind="mixed")


@pytest.mark.parametrize(
    ("frame", "message"),
    [
        (pd.DataFrame({"T": [0, 1], "Y": [1.0, None]}), r"an empty entry \(the table, column 'Y', row 2\)"),
        (pd.DataFrame({"T": [0, 1], "Y": [1.0, "x"]}), "mixes types"),
        (pd.DataFrame({"T": [0, 1]}), r"no column 'Y' \(the table\)"),
        (pl.DataFrame({"T": [0, 1], "Y": [1.0, float("inf")]}), "holds inf"),
        (pl.DataFrame({"T": [0, 1], "Y": [1.0, float("nan")]}), "holds nan"),
        (pl.DataFrame({"T": [0, 1], "Y": [[1], [2]]}), "column holds"),
        (pl.DataFrame({"T": [0, 1], "Y": [2**60, 1]}), "beyond 2"),
        ({"T": [0, 1], "Y": [1.0, "x"]}, "mixes"),
        ({"T": [0, 1], "Y": [1.0]}, "entries"),
        ({"T": [0, 1]}, "no column 'Y'"),
    ],
)
def test_a_frame_that_cannot_be_used_is_refused_by_column(frame, message):
    with pytest.raises(InputError, match=message):
        read_object(frame, Roles(treatment="T", outcome="Y"), kind="observational")


def test_a_column_that_nobody_asked_for_may_hold_anything(tmp_path):
    frame = pd.DataFrame({"T": [0, 1], "Y": [1.0, 2.0], "odd": [1, "x"]})
    assert read_object(frame, Roles(treatment="T", outcome="Y"), kind="mixed").evidence.rows == 2


def test_numbers_that_are_names_stay_names(tmp_path):
    path = tmp_path / "log.csv"
    path.write_text("T,Y,u\n1,0.5,7\n0,0.25,007\n")
    read_file(path, Roles(treatment="T", outcome="Y", unit="u"), kind="mixed")
    found = read_file(path, Roles(treatment="T", outcome="Y", text=frozenset({"T"})), kind="mixed")
    assert found.columns.levels["T"] == ("0", "1")


def test_a_description_reads_back_and_its_rows_are_checked(tmp_path):
    path = write_csv(tmp_path / "log.csv", used(rows()))
    table = read_file(path, ROLES, kind="randomised", note="a trial")
    saved = save_evidence(table, path)
    again = open_evidence(path)
    assert again.evidence.digest == table.evidence.digest
    assert (again.evidence.kind, again.evidence.note) == ("randomised", "a trial")
    assert Evidence.from_json(json.loads(json.dumps(table.evidence.to_json()))) == table.evidence
    # One changed cell is other evidence.
    path.write_text(path.read_text().replace("red", "blue", 1))
    with pytest.raises(CorruptRecord, match="not those that the description names"):
        open_evidence(saved)
    saved.unlink()
    with pytest.raises(NotFound, match="no description"):
        open_evidence(path)


def test_a_description_cannot_point_elsewhere(tmp_path):
    outside = write_csv(tmp_path / "log.csv", used(rows()))
    inside = tmp_path / "inside"
    inside.mkdir()
    document = read_file(outside, ROLES, kind="mixed").evidence.to_json() | {"source": "../log.csv"}
    (inside / "log.csv.evidence.json").write_text(json.dumps(document))
    with pytest.raises(NotFound, match="no such file"):
        open_evidence(inside / "log.csv")


@pytest.mark.parametrize("change", [{"kind": "sure"}, {"schema": "x"}, {"rows": "many"}, {"surplus": 1}, {"roles": {}}])
def test_a_malformed_description_is_corrupt(change):
    document = read_object(used(rows()), ROLES, kind="mixed").evidence.to_json()
    with pytest.raises((CorruptRecord, InputError)):
        Evidence.from_json({**document, **change})


def test_kinds_and_parts_are_checked():
    assert KINDS == ("observational", "randomised", "mixed", "policy-confounded")
    with pytest.raises(InputError, match="two parts"):
        Roles(treatment="T", outcome="T")
    with pytest.raises(InputError, match="not read"):
        read_file(__import__("pathlib").Path("log.xlsx"), Roles(treatment="T", outcome="Y"), kind="mixed")
    for suffix in (".csv", ".parquet", ".jsonl"):
        with pytest.raises(NotFound, match="no such file"):
            read_file(__import__("pathlib").Path(f"absent{suffix}"), Roles(treatment="T", outcome="Y"), kind="mixed")


def test_damaged_files_and_queries_are_refused(tmp_path):
    path = tmp_path / "log.parquet"
    path.write_bytes(b"PAR1 no")
    with pytest.raises(InputError, match="cannot be read"):
        read_file(path, Roles(treatment="T", outcome="Y"), kind="mixed")
    with pytest.raises(InputError, match="cannot be run"):
        read_sql("SELEC 1", Roles(treatment="T", outcome="Y"), kind="mixed")
    pq.write_table(pa.table({"T": [1, 0]}), path)
    with pytest.raises(InputError, match="no column 'Y'"):
        read_file(path, Roles(treatment="T", outcome="Y"), kind="mixed")


def test_a_file_with_a_header_only_has_no_rows(tmp_path):
    path = tmp_path / "log.csv"
    for text in ("T,Y\n", ""):
        path.write_text(text)
        with pytest.raises(InputError, match=r"no rows|no column"):
            read_file(path, Roles(treatment="T", outcome="Y"), kind="mixed")


def test_a_connection_of_the_users_own_is_read():
    connection = duckdb.connect()
    connection.execute("CREATE TABLE log AS SELECT i % 2 AS T, i * 0.5 AS Y FROM range(10) r(i)")
    found = read_sql("SELECT * FROM log", Roles(treatment="T", outcome="Y"), kind="mixed", connection=connection)
    assert found.evidence.rows == 10


def test_reading_needs_no_engine():
    code = "import sys; import butfor.estimation.evidence; print(sorted(sys.modules))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=PATIENCE)
    for module in ("duckdb", "pyarrow", "pandas", "polars", "pydantic"):
        assert f"'{module}'" not in done.stdout
