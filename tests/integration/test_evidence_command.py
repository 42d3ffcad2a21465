"""`butfor evidence` as a user calls it."""

import json

import pytest

from butfor.cli.main import main
from butfor.noise import numpy_generator
from butfor.runs import Observation, Outcome, Run, Step, Text, ToolCall, Value
from butfor.store import Store


def called(capsys, *arguments):
    with pytest.raises(SystemExit) as caught:
        main(["evidence", *map(str, arguments)])
    out, err = capsys.readouterr()
    return caught.value.code, out, err


@pytest.fixture
def log(tmp_path):
    rng, n = numpy_generator("log"), 600
    load = rng.integers(0, 3, n)
    t = (rng.random(n) < 0.2 + 0.2 * load).astype(int)
    y = 1.0 * t + load + rng.normal(size=n)
    path = tmp_path / "log.csv"
    lines = [f"{a},{b:.4f},{c}" for a, b, c in zip(t, y, load, strict=True)]
    path.write_text("\n".join(["T,Y,load", *lines]) + "\n")
    return path


PARTS = ("-t", "T", "-y", "Y", "-x", "load")


def test_show_describes_and_saves(capsys, log):
    code, out, _ = called(capsys, "show", log, *PARTS, "--save")
    assert code == 0
    assert "600 units, observational" in out
    assert "treatment T (0: " in out
    code, out, _ = called(capsys, "show", log, "--json")
    assert code == 0
    assert json.loads(out)["digest"].startswith("sha256:")
    log.write_text(log.read_text().replace("\n1,", "\n0,", 1))
    code, _, err = called(capsys, "show", log)
    assert code == 2
    assert "not those that the description names" in err


def test_a_right_graph_is_0_and_a_wrong_one_1(capsys, log, tmp_path):
    right, wrong = tmp_path / "right.txt", tmp_path / "wrong.txt"
    right.write_text("dag { load -> T load -> Y T -> Y }")
    wrong.write_text("dag { load -> T T -> Y }")
    code, out, _ = called(capsys, "test", log, *PARTS, "-g", right)
    assert (code, "nothing speaks for or against it" in out) == (0, True)
    code, out, _ = called(capsys, "test", log, *PARTS, "-g", wrong, "--baseline", "5")
    assert code == 1
    assert "The data contradict the graph: Y ⊥ load | T" in out
    assert "1 of 1 violated" in out
    code, out, _ = called(capsys, "test", log, *PARTS, "-g", right, "--control", "load ~ T", "--json")
    assert code == 1
    assert json.loads(out)["refuted"] == ["load ⊥ T"]
    code, _, err = called(capsys, "test", log, *PARTS, "-g", right, "--control", "load")
    assert (code, "no control" in err) == (2, True)


def test_sensitivity_is_said_in_words(capsys, log):
    code, out, _ = called(capsys, "sensitivity", log, *PARTS)
    assert code == 0
    assert "as strong as `load` would flip this" in out
    assert called(capsys, "sensitivity", log, *PARTS, "--json")[0] == 0
    lines = log.read_text().splitlines()
    log.write_text("\n".join(line if i == 0 else f"{i % 2},{i % 2},{i % 3}" for i, line in enumerate(lines)))
    code, out, _ = called(capsys, "sensitivity", log, *PARTS)
    assert (code, "no answer" in out) == (3, True)


def test_a_fault_is_named_by_its_place(capsys, log):
    log.write_text(log.read_text() + "1,,2\n")
    code, _, err = called(capsys, "show", log, *PARTS)
    assert code == 2
    assert "an empty cell" in err
    assert "line 602, column 'Y'" in err
    assert called(capsys, "show", log, "-t", "T")[0] == 2
    assert called(capsys, "show", log)[0] == 2


@pytest.mark.parametrize("suffix", ["parquet", "jsonl"])
def test_runs_become_evidence_with_a_graph_to_start_from(capsys, tmp_path, monkeypatch, suffix):
    monkeypatch.setenv("BUTFOR_HOME", str(tmp_path / "store"))
    with Store.open(tmp_path / "store") as store:
        for i in range(6):
            parts = (ToolCall(call_id="c", name="refund"), Observation(call_id="c", content=Value.of("ok")))
            steps = (Step(index=0, parts=parts if i % 2 else (Text(),)), Step(index=1, parts=(Text(),)))
            store.save_run(Run(run_id=f"run{i}", steps=steps, outcome=Outcome(value=float(i % 2), rule="r")))
        store.save_run(Run(run_id="unscored", steps=(Step(index=0),)))
    out = tmp_path / f"decisions.{suffix}"
    code, text, _ = called(capsys, "build", "--out", out, "--tool", "refund")
    assert code == 0
    assert "12 units, policy-confounded" in text
    assert "1 runs with no outcome" in text
    code, text, _ = called(capsys, "show", out, "--json")
    assert json.loads(text)["kind"] == "policy-confounded"
    with pytest.raises(SystemExit) as caught:
        main(["graph", "identify", f"{out}.graph.yaml", "-t", "treatment", "-y", "outcome"])
    assert caught.value.code == 3
    assert "not identified" in capsys.readouterr().out
    again = tmp_path / f"again.{suffix}"
    digests = [json.loads(called(capsys, "build", "--out", again, "--json")[1])["digest"] for _ in range(2)]
    assert digests[0] == digests[1]
    assert called(capsys, "build", "--out", tmp_path / "x.xlsx")[0] == 2


def test_an_empty_store_says_so(capsys, tmp_path, monkeypatch):
    monkeypatch.setenv("BUTFOR_HOME", str(tmp_path))
    Store.open(tmp_path).close()
    code, _, err = called(capsys, "build", "--out", tmp_path / "x.jsonl")
    assert (code, "no run has both steps and an outcome" in err) == (2, True)
