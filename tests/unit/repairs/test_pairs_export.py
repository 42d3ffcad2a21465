"""What is written: splits by task, a line of provenance a row, the same bytes every time."""

import json

import pytest

from butfor import canonical
from butfor.errors import InputError
from butfor.repairs.pairs import FORMATS, Derived, check_file, derive_pairs, export_pairs, split_of, tasks_of
from butfor.store import MemoryStore
from tests.unit.repairs.pair_cases import call, keep, lines, pair, repair, request


def many(count):
    return Derived(
        pairs=[pair(f"Question {i}", "wrong", f"right {i}", task=f"t{i}") for i in range(count)], repairs=count
    )


@pytest.mark.parametrize("name", FORMATS)
def test_every_row_has_its_line_of_provenance(tmp_path, name):
    exported = export_pairs(many(30), name=name, out=tmp_path, test=0.3)
    told = lines(tmp_path / "provenance.jsonl")
    written = {file: lines(tmp_path / file) for file in ("train.jsonl", "test.jsonl")}
    assert exported.pairs == 30
    assert len(told) == sum(map(len, written.values())) == sum(each["rows"] for each in exported.splits.values())
    for each in told:
        row = written[each["file"]][each["line"] - 1]
        assert each["row"] == canonical.digest_text(json.dumps(row, ensure_ascii=False))
        assert each["lift"]["lower"] == 0.2
        assert each["success"]["point"] == 1.0
        assert (each["run_id"], each["step"], each["result_id"]) == ("r", 0, "r:repair")
    tasks = [{each["task"] for each in told if each["file"] == file} for file in written]
    assert not tasks[0] & tasks[1]
    for file in written:
        assert check_file(tmp_path / file).ok


def test_the_same_repairs_give_the_same_bytes(tmp_path):
    for folder in ("a", "b"):
        export_pairs(many(12), name="openai", out=tmp_path / folder, test=0.3)
    for path in (tmp_path / "a").iterdir():
        assert path.read_bytes() == (tmp_path / "b" / path.name).read_bytes()
    manifest = json.loads((tmp_path / "a" / "export.json").read_text())
    for file, digest in manifest["files"].items():
        assert canonical.digest_text((tmp_path / "a" / file).read_bytes()) == digest


def test_an_answer_that_two_pairs_share_is_one_row_of_kto(tmp_path):
    shared = Derived(pairs=[pair("Q", "wrong", "right"), pair("Q", "wrong", "also right")], repairs=2)
    export_pairs(shared, name="trl-kto", out=tmp_path)
    assert [row["label"] for row in lines(tmp_path / "train.jsonl")] == [True, False, True]


def test_nothing_is_overwritten(tmp_path):
    export_pairs(many(1), name="openai", out=tmp_path)
    with pytest.raises(InputError, match=r"holds train\.jsonl already"):
        export_pairs(many(1), name="trl-dpo", out=tmp_path)


def test_no_honest_pair_writes_no_file(tmp_path):
    with pytest.raises(InputError, match="no repair is stored"):
        export_pairs(Derived(), name="openai", out=tmp_path / "out")
    assert not (tmp_path / "out").exists()


def test_a_pair_that_its_format_does_not_allow_is_left_out(tmp_path):
    odd = Derived(pairs=[pair("Q", call("no spaces"), call("look")), pair("P", "a", "b")], repairs=2)
    exported = export_pairs(odd, name="openai", out=tmp_path)
    assert exported.pairs == 1
    (reason,) = exported.dropped
    assert "non_preferred_output[0].tool_calls[0].function.name" in reason
    with pytest.raises(InputError, match="none of 1 pairs can be written as openai"):
        export_pairs(Derived(pairs=odd.pairs[:1], repairs=1), name="openai", out=tmp_path / "none")


def test_runs_that_differ_by_their_seed_are_one_task():
    store = MemoryStore()
    for i in range(8):
        keep(store, f"r{i}", request("Q"), repair(f"r{i}", "a", f"b{i}"), task={"question": "Q", "seed": i})
    found = derive_pairs(store, [f"r{i}" for i in range(8)]).pairs
    assert len(found) == 8
    assert len(set(tasks_of(found))) == 1


def test_a_task_whose_prompt_holds_a_date_is_one_task():
    pairs = [pair("Today is Monday. Q", "a", "b", task="t"), pair("Today is Tuesday. Q", "a", "b", task="t")]
    assert len(set(tasks_of(pairs))) == 1


def test_a_task_stays_on_its_side_when_others_come():
    names = [f"task {i}" for i in range(400)]
    few, all_of_them = split_of(names[:100], test=0.25), split_of(names, test=0.25)
    assert all_of_them[:100] == few
    # 400 tasks at 0.25: 100 ± 5 standard deviations of 8.7.
    assert 56 <= all_of_them.count("test") <= 144
    assert split_of(names, test=0.25, seed=1) != all_of_them


def test_one_task_is_always_trained_on():
    for i in range(20):
        assert split_of([f"task {i}"], test=0.9) == ["train"]
