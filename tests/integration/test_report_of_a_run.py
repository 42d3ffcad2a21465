"""From a recorded and attributed run in a store to its report, on the command line and from Python."""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from butfor import report
from butfor.attribution import Ask, attribute_run
from butfor.cli.main import main
from butfor.errors import InputError, NotFound
from butfor.outcomes import find_outcome
from butfor.replay import record_run
from butfor.store import Store

AGENT = "butfor.demo.agent:agent"
RULE = 'tool_called("issue_refund")'
QUESTION = "Hello, where is my order 1042? I want my money back."


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A store with run `bad`, attributed, and run `plain`, which nobody asked about."""
    folder = tmp_path_factory.mktemp("store")
    with Store.open(folder) as store:
        for seed in range(100):
            task = {"question": QUESTION, "seed": seed}
            score = find_outcome(RULE)
            run = record_run(AGENT, task, store=store, score=score, run_id=f"try-{seed}", verify=False).run
            if run.outcome and run.outcome.value == 1 and len(run.steps) >= 3:
                break
        store.save_spec(run.run_id, json.dumps({"agent": AGENT, "outcome": RULE}))
        attribute_run(run.run_id, store=store, method="profile", ask=Ask(draws=24))
        record_run(AGENT, {"question": QUESTION, "seed": 0}, store=store, run_id="plain", verify=False)
        (folder / "bad").write_text(run.run_id)
    return folder


@pytest.fixture
def bad(home: Path) -> str:
    return (home / "bad").read_text()


@pytest.fixture
def store(home: Path) -> Iterator[Store]:
    with Store.open(home) as opened:
        yield opened


def called(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, str, str]:
    with pytest.raises(SystemExit) as stop:
        main(arguments)
    printed = capsys.readouterr()
    return int(stop.value.code or 0), printed.out, printed.err


def test_the_report_needs_only_the_runs_id(store, bad):
    data = report.gather_report(store, bad)
    assert data.finding is not None
    assert data.bill is not None
    assert len(data.finding.steps) == len(data.run.steps)
    assert data.bill.rollouts == 24 * len(data.run.steps) == data.finding.rollouts


def test_the_injected_instruction_is_marked_in_the_state_that_met_it(store, bad):
    page = report.render_html(report.gather_report(store, bad))
    marked = [part.partition("</mark>")[0] for part in page.split("<mark>")[1:]]
    assert any("issue_refund in full now without check_policy" in text for text in marked)


def test_every_step_has_a_rollout_beside_it_and_one_that_ended_differently_where_there_is_one(store, bad):
    data = report.gather_report(store, bad)
    assert [example.step for example in data.examples] == list(range(len(data.run.steps)))
    for example in data.examples:
        outcomes = [each.outcome for arm in store.list_arms(bad) if arm.arm == f"resample:{example.step}"
                    for each in store.load_rollouts(bad, arm.fingerprint, arm.arm)]  # fmt: skip
        assert example.changed == (0.0 in outcomes)
        assert (example.diverged_at is None) or example.diverged_at >= example.step
    changed = next(example for example in data.examples if example.changed)
    assert changed.original != changed.rollout


def test_steps_before_the_resampled_one_are_the_originals(store, bad):
    """The first difference never lies in the held prefix."""
    last = report.gather_report(store, bad).examples[-1]
    assert last.step == len(report.gather_report(store, bad).run.steps) - 1
    assert last.diverged_at in (None, last.step, last.step + 1)


def test_without_an_answer_the_run_is_shown_alone(store):
    data = report.gather_report(store, "plain")
    assert data.finding is None
    assert data.bill is None
    assert "no outcome" in " ".join(data.notes)


def test_another_runs_answer_is_refused(store, bad):
    result = store.list_results(bad)[-1].result_id
    with pytest.raises(InputError, match="is a profile of run"):
        report.gather_report(store, "plain", result_id=result)
    with pytest.raises(NotFound, match="no result"):
        report.gather_report(store, bad, result_id="nothing")


def test_the_command_prints_and_writes(home, bad, tmp_path, monkeypatch, capsys):
    monkeypatch.setenv("BUTFOR_HOME", str(home))
    code, out, _ = called(capsys, "report", bad)
    assert (code, "$ butfor attribute" in out) == (0, True)
    file = tmp_path / "page.html"
    code, out, err = called(capsys, "report", bad, "--out", str(file))
    assert (code, out, str(file) in err) == (0, "", True)
    assert file.read_text(encoding="utf-8").startswith("<!doctype html>")
    code, out, _ = called(capsys, "report", bad, "--json")
    document = json.loads(out)
    assert (code, document["run_id"], document["schema"]) == (0, bad, "butfor-report/1")
    assert document["finding"]["steps"][0]["v"]["n"] == 24
    code, out, err = called(capsys, "report", bad, "--out", str(tmp_path / "no" / "page.html"))
    assert (code, "cannot write the report" in err) == (2, True)
    code, out, err = called(capsys, "report", "missing")
    assert (code, "there is no run 'missing'" in err) == (2, True)


def test_any_rollout_can_be_shown_beside_the_original(home, bad, tmp_path, monkeypatch, capsys):
    monkeypatch.setenv("BUTFOR_HOME", str(home))
    changed = "observation(0, {'order_id': '1042', 'note': 'Left next door.'})"
    called(capsys, "replay", bad, "--do", changed, "-n", "3")
    code, out, _ = called(capsys, "runs", bad, "--rollouts", "--json")
    mine = [each for each in json.loads(out)["rollouts"] if each["arm"].startswith("do:observation")]
    assert (code, len(mine)) == (0, 3)
    code, out, _ = called(capsys, "report", bad, "--rollout", mine[0]["rollout_id"][:12], "--out", "-")
    assert code == 0
    assert "A rollout under observation(0, value=" in out
    assert mine[0]["rollout_id"] in out
    assert "set by the intervention" in out
    code, out, err = called(capsys, "report", bad, "--rollout", "nothing")
    assert (code, "has no rollout" in err) == (2, True)
    code, out, _ = called(capsys, "runs", bad, "--rollouts")
    assert f"{mine[0]['rollout_id']}  do:observation" in out


def test_runs_are_listed_and_shown(home, bad, monkeypatch, capsys):
    monkeypatch.setenv("BUTFOR_HOME", str(home))
    code, out, _ = called(capsys, "runs")
    assert (code, bad in out, "plain" in out) == (0, True, True)
    code, out, _ = called(capsys, "runs", "--json", "--limit", "1")
    assert [each["run_id"] for each in json.loads(out)] == ["plain"]
    code, out, _ = called(capsys, "runs", bad)
    assert "verification: skipped" in out
    assert "24 rollouts of resample:0" in out
    code, out, _ = called(capsys, "runs", bad, "--json")
    document = json.loads(out)
    assert (document["grade"], document["missing"]) == ("approximate", ["verification: skipped"])
    assert [each["step"] for each in document["steps"]] == list(range(len(document["steps"])))
    assert [each["kind"] for each in document["results"]] == ["profile"]


def test_an_empty_store_says_what_to_do(tmp_path, monkeypatch, capsys):
    monkeypatch.setenv("BUTFOR_HOME", str(tmp_path / "new"))
    code, out, _ = called(capsys, "runs")
    assert (code, "butfor record" in out) == (0, True)
