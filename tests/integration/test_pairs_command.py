"""`butfor pairs` and `butfor skills` on the demo's own repair, through the command line."""

import json
from dataclasses import replace

import pytest

from butfor.cli.main import main
from butfor.outcomes import find_outcome
from butfor.repairs import Proposal, repair_run, repairs_of
from butfor.repairs.stored import save_repair
from butfor.replay import record_run
from butfor.store import Store
from tests.unit.repairs.pair_cases import lines

AGENT, RULE = "butfor.demo.agent:agent", 'tool_called("issue_refund")'
QUESTION = "My parcel 1042 never reached me. I want my money back."


@pytest.fixture(scope="module")
def home(tmp_path_factory):
    """A store with one failed run of the demo's agent, repaired, and one that went well."""
    folder = tmp_path_factory.mktemp("store")
    with Store.open(folder) as store:
        for seed in range(100):
            run = record_run(
                AGENT,
                {"question": QUESTION, "seed": seed},
                store=store,
                score=find_outcome(RULE),
                run_id=f"try-{seed}",
                verify=False,
            ).run
            store.save_spec(run.run_id, json.dumps({"agent": AGENT, "outcome": RULE}))
            if run.outcome and run.outcome.value == 1 and len(run.steps) == 3:
                break
        repair_run(run.run_id, store=store)
    (folder / "run").write_text(run.run_id)
    return folder


@pytest.fixture(autouse=True)
def _there(home, monkeypatch):
    monkeypatch.setenv("BUTFOR_HOME", str(home))
    monkeypatch.setenv("COLUMNS", "200")


def called(capsys, *arguments):
    with pytest.raises(SystemExit) as stop:
        main([str(each) for each in arguments])
    printed = capsys.readouterr()
    return int(stop.value.code or 0), printed.out, printed.err


@pytest.mark.parametrize("name", ["trl-dpo", "trl-kto", "trl-reward", "openai"])
def test_the_demos_repair_is_exported_and_passes_the_check(capsys, home, tmp_path, name):
    code, out, err = called(capsys, "pairs", "export", "--format", name, "--out", tmp_path / "out")
    assert (code, err) == (0, "")
    assert "pairs: 1, of 1 stored repairs" in out
    code, out, _ = called(capsys, "pairs", "check", tmp_path / "out" / "train.jsonl", "--json")
    assert code == 0
    assert json.loads(out)["format"] == name
    assert json.loads(out)["problems"] == []
    told = lines(tmp_path / "out" / "provenance.jsonl")
    assert {each["run_id"] for each in told} == {(home / "run").read_text()}
    assert all(each["lift"]["lower"] > 0.0 for each in told)


def test_the_prompt_is_the_recorded_request(capsys, home, tmp_path):
    called(capsys, "pairs", "export", "--format", "openai", "--out", tmp_path / "out")
    (row,) = lines(tmp_path / "out" / "train.jsonl")
    with Store.open(home) as store:
        run = store.load_run((home / "run").read_text())
        (repair,) = repairs_of(store, run.run_id)
        recorded = run.request(repair.step)
    for ours, theirs in zip(row["input"]["messages"], recorded["messages"], strict=True):
        assert {**theirs, "content": theirs.get("content", "")} == ours
    assert row["input"]["tools"] == recorded["tools"]
    assert row["preferred_output"][0]["tool_calls"][0]["function"]["name"] == "check_policy"
    assert row["non_preferred_output"][0]["tool_calls"][0]["function"]["name"] == "issue_refund"


def test_an_export_is_told_as_json_and_never_overwritten(capsys, tmp_path):
    arguments = ("pairs", "export", "--format", "trl-dpo", "--out", tmp_path / "out", "--json")
    code, out, _ = called(capsys, *arguments)
    assert code == 0
    assert json.loads(out) == json.loads((tmp_path / "out" / "export.json").read_text())
    code, out, err = called(capsys, *arguments)
    assert (code, out) == (2, "")
    assert "holds train.jsonl already" in err


def test_an_export_without_an_honest_pair_is_one_sentence(capsys, home, monkeypatch, tmp_path):
    with Store.open(home) as store, Store.open(tmp_path / "other") as other:
        run = store.load_run((home / "run").read_text())
        (repair,) = repairs_of(store, run.run_id)
        other.save_run(run)

        leaking = Proposal(step=repair.step, action=repair.repaired, source="model", leaks=("check_policy",))
        save_repair(other, replace(repair, proposal=leaking))
        save_repair(other, replace(repair, kind="predicted", verdict=None))
    monkeypatch.setenv("BUTFOR_HOME", str(tmp_path / "other"))
    code, out, err = called(capsys, "pairs", "export", "--format", "openai", "--out", tmp_path / "out")
    assert (code, out) == (2, "")
    assert err.count("\n") == 1
    assert "no honest pair can be derived from 2 stored repairs" in err
    assert "1 × predicted, not validated" in err
    assert "1 × it contains what only the verifier knows" in err
    assert not (tmp_path / "out").exists()


def test_a_broken_file_is_told_line_by_line_and_exits_1(capsys, tmp_path):
    called(capsys, "pairs", "export", "--format", "trl-dpo", "--out", tmp_path / "out")
    (row,) = lines(tmp_path / "out" / "train.jsonl")
    broken = tmp_path / "broken.jsonl"
    broken.write_text("\n".join(json.dumps(each) for each in (row, row | {"chosen": row["rejected"]})))
    code, out, _ = called(capsys, "pairs", "check", broken)
    assert code == 1
    assert "line 2, rejected: it says the same as chosen" in out


def test_skills_are_said_and_the_curriculum_is_written(capsys, tmp_path):
    code, out, err = called(capsys, "skills", "--curriculum", tmp_path / "c.jsonl")
    assert (code, err) == (0, "")
    assert "1 causal steps of 1 runs: groups 0, 100% of the steps in none" in out
    (row,) = lines(tmp_path / "c.jsonl")
    assert row["repaired"] == {"tool": "check_policy", "arguments": {"order_id": "1042"}}
    assert 0.0 < row["difficulty"] < 1.0
    code, out, _ = called(capsys, "skills", "--json", "--runs", "failed")
    assert code == 0
    assert json.loads(out)["unclustered"]["share"] == 1.0


def test_no_causal_step_is_a_sentence(capsys):
    code, out, err = called(capsys, "skills", "--runs", "y<0.5")
    assert (code, out) == (2, "")
    assert "known to have caused" in err
