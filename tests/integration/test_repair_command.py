"""`butfor repair` through the command line: answers, exit codes, funnels, reports, and a killed process."""

import json
import signal
from pathlib import Path

import pytest

from butfor.cli.main import main
from butfor.outcomes import find_outcome
from butfor.replay import record_run
from butfor.store import Store
from tests.agents import mending
from tests.integration.test_crashes import CLI, calls, python, wait_for_calls

AGENT = "tests.agents.mending:agent"
OUTCOME = "tests.agents.mending:wrong"


def recorded(home: Path, name: str, **task) -> str:
    with Store.open(home) as store:
        run_id = record_run(
            AGENT,
            {"seed": mending.factual_seed(), **task},
            store=store,
            score=find_outcome(OUTCOME),
            run_id=name,
            verify=False,
        ).run.run_id
        store.save_spec(run_id, json.dumps({"agent": AGENT, "outcome": OUTCOME}))
    return run_id


@pytest.fixture(scope="module")
def home(tmp_path_factory):
    """A store with two failed runs, one that went well, and one that nobody can replay."""
    folder = tmp_path_factory.mktemp("store")
    runs = {"bad": recorded(folder, "bad"), "worse": recorded(folder, "worse", check=True)}
    right = next(seed for seed in range(100) if mending.write(task={}, history=["x"], seed=seed) == mending.RIGHT)
    runs["good"] = recorded(folder, "good", seed=right)
    (folder / "runs.json").write_text(json.dumps(runs))
    (folder / "proposals.json").write_text(json.dumps({"1": [mending.WRONG, mending.RIGHT]}))
    return folder


@pytest.fixture(autouse=True)
def _there(home, monkeypatch):
    monkeypatch.setenv("BUTFOR_HOME", str(home))
    monkeypatch.setenv("COLUMNS", "80")


@pytest.fixture
def runs(home):
    return json.loads((home / "runs.json").read_text())


def called(capsys, *arguments):
    with pytest.raises(SystemExit) as stop:
        main(arguments)
    printed = capsys.readouterr()
    return int(stop.value.code or 0), printed.out, printed.err


def test_a_run_is_repaired_and_the_diff_is_shown(capsys, home, runs):
    code, out, err = called(capsys, "repair", runs["bad"], "--step", "1", "--proposals", str(home / "proposals.json"))
    assert code == 0
    assert "- apples = 3 - 4" in out
    assert "+ apples = 3 + 4" in out
    assert "proven deterministic" in out
    assert "decided again" in out
    assert "price: " in err
    assert f"butfor report {runs['bad']}" in err
    assert all(len(line) <= 80 for line in out.splitlines())


def test_the_answer_is_json_too(capsys, home, runs):
    code, out, _ = called(
        capsys, "repair", runs["bad"], "--step", "1", "--proposals", str(home / "proposals.json"), "--json"
    )
    document = json.loads(out)
    assert code == 0
    assert document["repairs"][0]["repaired"] == mending.RIGHT
    assert document["funnel"]["no-ops"] >= 1


def test_a_report_shows_the_repair_beside_the_recording(capsys, home, runs, tmp_path):
    called(capsys, "repair", runs["bad"], "--step", "1", "--proposals", str(home / "proposals.json"))
    page = tmp_path / "report.html"
    code, _, _ = called(capsys, "report", runs["bad"], "--out", str(page))
    html = page.read_text()
    assert code == 0
    assert "What would have fixed it" in html
    assert "<del>" in html
    assert "<ins>" in html
    assert html.count('class="picture arm"') == 2
    code, out, _ = called(capsys, "report", runs["bad"])
    assert code == 0
    assert "Step 1 is repaired" in out


def test_a_model_proposes_and_critics_are_held_against_rollouts(capsys, runs):
    model = "tests.agents.mending:"
    arguments = ["--step", "1", "--resamples", "0", "--proposer", f"{model}fixer"]
    critics = ["--critic", f"{model}critic", "--meta-critic", f"{model}critic"]
    code, out, _ = called(capsys, "repair", runs["worse"], *arguments, *critics)
    assert code == 0
    assert "asked with the template correct/1" in " ".join(out.split())
    assert "consensus 0.93, kept" in out
    assert "precision against rollouts: 1.00 [0.0" in out  # one repair is no proof of a critic
    code, out, _ = called(capsys, "repair", runs["worse"], *arguments, "--critic", f"{model}critic", "--json")
    said = json.loads(out)["critique"]
    assert said["critiques"][0]["consensus"] == {"undefined": "meta-critic: nobody was asked"}
    assert "undefined" in said["quality"]["precision"]


def test_a_prediction_runs_nothing_and_says_what_it_is(capsys, home, runs):
    predictor = ["--predict", "tests.agents.mending:predictor", "--proposals", str(home / "proposals.json")]
    code, out, _ = called(capsys, "repair", runs["worse"], "--step", "1", *predictor)
    assert code == 0
    assert "validated by nothing" in out
    assert "0.90  step 1" in out


@pytest.mark.parametrize("option", ["--proposer", "--predict"])
def test_a_model_that_raises_is_one_sentence(capsys, home, runs, option):
    proposed = ["--step", "1", "--proposals", str(home / "proposals.json")]
    code, _, err = called(capsys, "repair", runs["worse"], *proposed, option, "tests.agents.mending:broken")
    assert code == 2
    assert "the model that was asked raised RuntimeError" in err
    assert "Traceback" not in err


def test_a_critic_that_cannot_be_imported_is_refused_before_anything_is_spent(capsys, runs):
    code, _, err = called(capsys, "repair", runs["worse"], "--critic", "nothing:there")
    assert code == 2
    assert "cannot import the critic" in err
    assert "price" not in err


def test_many_runs_leave_a_yield_funnel(capsys, runs):
    code, out, err = called(capsys, "repair", "--all", "all", "--verifier", OUTCOME, "--resamples", "16", "--json")
    document = json.loads(out)
    assert code == 0
    funnel = document["funnel"]
    assert funnel["selected"] == 3
    assert funnel["failed the verifier"] == funnel["replayable"] == 2
    assert funnel["repaired"] == funnel["exportable"] == 2
    assert "did not fail" in document["fell_out"][runs["good"]]
    assert err.count("repairing ") == 3


def test_the_funnel_is_a_table_and_the_budget_is_for_all_runs_together(capsys):
    code, out, _ = called(capsys, "repair", "--all", "failed", "--budget", "5", "--draws", "90")
    assert "selected" in out
    assert "exportable" in out
    assert code in (0, 3)


def test_a_repair_that_is_not_found_is_no_error_and_says_so(capsys, runs, tmp_path):
    bad = tmp_path / "bad.json"
    bad.write_text(json.dumps({"1": ["a = 1 + 1"]}))
    code, out, _ = called(
        capsys, "repair", runs["worse"], "--step", "1", "--proposals", str(bad), "--resamples", "0",
    )  # fmt: skip
    assert code == 3
    assert "No repair" in out


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ((), "name one run, or many"),
        (("x", "--all", "failed"), "name one run, or many"),
        (("--all", "nonsense"), "cannot read the filter"),
        (("x", "--verifier", "failed()"), "belong to --all"),
    ],
)
def test_what_cannot_be_meant_is_refused_in_a_sentence(capsys, arguments, said):
    code, _, err = called(capsys, "repair", *arguments)
    assert code == 2
    assert said in err
    assert "Traceback" not in err


def test_a_run_that_did_not_fail_is_refused(capsys, runs):
    code, _, err = called(capsys, "repair", runs["good"])
    assert code == 2
    assert "did not fail" in err


def test_ctrl_c_leaves_an_answer_that_the_next_call_goes_on_from(tmp_path):
    home, log = tmp_path / "home", tmp_path / "log"
    run_id = recorded(home, "acting", check=True, log=str(log), pause=0.02)
    log.unlink()
    arguments = ["repair", run_id, "--step", "1", "--json"]
    with python(CLI, *arguments, home=home, TESTS_SLOW_AFTER="10") as process:
        wait_for_calls(log, 10, process)
        process.send_signal(signal.SIGINT)
        out, errors = process.communicate(timeout=60)
    assert process.returncode == 130, errors
    document = json.loads(out)
    assert "interrupted" in document["stopped"]
    assert document["repairs"] == []
    with python(CLI, *arguments, home=home) as process:
        out, errors = process.communicate(timeout=120)
    assert process.returncode == 0, errors
    assert json.loads(out)["bill"]["found"] >= document["bill"]["rollouts"]


def test_a_killed_repair_goes_on_without_paying_twice(tmp_path):
    home, log = tmp_path / "home", tmp_path / "log"
    run_id = recorded(home, "acting", check=True, log=str(log), pause=0.01)
    log.unlink()
    arguments = ["repair", run_id, "--step", "1", "--json"]
    with python(CLI, *arguments, home=home, TESTS_SLOW_AFTER="60") as process:
        wait_for_calls(log, 60, process)
        process.send_signal(signal.SIGKILL)
        process.communicate(timeout=60)
    with Store.open(home) as store:
        kept = [
            each for arm in store.list_arms(run_id) for each in store.load_rollouts(run_id, arm.fingerprint, arm.arm)
        ]
    assert kept
    log.unlink()
    with python(CLI, *arguments, home=home) as process:
        out, errors = process.communicate(timeout=120)
    assert process.returncode == 0, errors
    document = json.loads(out)
    assert document["repairs"]
    # What the killed process had finished was found, and every other rollout was bought exactly once.
    assert document["bill"]["found"] == len(kept)
    spent = sum(json.loads(each.counts)["counts"]["policy"] for each in kept)
    assert calls(log) == document["bill"]["policy_calls"] - spent
    log.write_text("")
    with python(CLI, *arguments, home=home) as process:
        out, errors = process.communicate(timeout=120)
    assert json.loads(out)["repairs"] == document["repairs"]
    assert calls(log) == 0
