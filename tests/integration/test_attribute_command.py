"""Every method on the demo's agent, through the command line: its own answer, its price, its commands."""

import json
import re
import shlex
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from butfor.attribution import METHODS, Ask, Question
from butfor.attribution.case import open_case
from butfor.attribution.quotes import quote_method
from butfor.cli.main import main
from butfor.outcomes import find_outcome
from butfor.replay import Budget, record_run
from butfor.store import Store

if TYPE_CHECKING:
    from butfor.attribution.sampling import Draw

AGENT = "butfor.demo.agent:agent"
RULE = 'tool_called("issue_refund")'
PROPOSALS = {"0": ["I cannot help."], "1": ["It is not eligible.", "No."]}


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A store with one failed run of three steps."""
    folder = tmp_path_factory.mktemp("store")
    with Store.open(folder) as store:
        for seed in range(100):
            task = {"question": "Where is my order 1042? I want my money back.", "seed": seed}
            run = record_run(AGENT, task, store=store, score=find_outcome(RULE), run_id=f"r{seed}", verify=False).run
            if run.outcome and run.outcome.value == 1 and len(run.steps) == 3:
                break
        store.save_spec(run.run_id, json.dumps({"agent": AGENT, "outcome": RULE}))
        (folder / "bad").write_text(run.run_id)
        (folder / "proposals.json").write_text(json.dumps(PROPOSALS))
    return folder


@pytest.fixture(autouse=True)
def _there(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("BUTFOR_HOME", str(home))
    monkeypatch.setenv("COLUMNS", "80")


@pytest.fixture
def bad(home: Path) -> str:
    return (home / "bad").read_text()


def called(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, str, str]:
    with pytest.raises(SystemExit) as stop:
        main(arguments)
    printed = capsys.readouterr()
    return int(stop.value.code or 0), printed.out, printed.err


# What is looked for is said of any answer.
SAID = {
    "search": ["decisive", "what it did", "`profile` would make about 384"],
    "profile": ["decisive", "blame [interval]"],
    "shapley": ["share", "φ [interval]", "Σφ = ", "contrastive effects"],
    "shapley-published": ["share", "φ [interval]", "holds alone", "Σφ = "],
    "responsibility": ["CRS", "lift [interval]", "best proposal number"],
}


@pytest.mark.parametrize("method", METHODS)
def test_every_method_prints_its_own_answer_and_can_be_asked_again(home, bad, method, capsys):
    # Fewer rollouts than by default: what is checked is what is said, and it is said of any number.
    size = ["--rollouts", "320"] if method.startswith("shapley") else ["--draws", "40"]
    given = ["--proposals", str(home / "proposals.json")] if method == "responsibility" else []
    if method == "shapley":  # whose shares stand beside the effects of a profile, where the store has one
        called(capsys, "attribute", bad, "--method", "profile", "--draws", "40")
    code, out, err = called(capsys, "attribute", bad, "--method", method, *size, *given)
    assert code == 0
    for said in SAID[method]:
        assert said in " ".join(out.split()), said
    assert re.match(r"price: at most .* policy calls", err)

    again, shown = [line[2:] for line in out.splitlines() if line.startswith("$ ")]
    assert f"--method {method} " in again
    assert called(capsys, *shlex.split(shown)[1:])[1] == out
    page = called(capsys, *shlex.split(shown)[1:], "--out", "-")[1]
    assert f"Method: <b>{method}</b>" in page

    words = shlex.split(again.rpartition("| ")[2])[1:]
    words = [str(home / "proposals.json") if word == "-" else word for word in words]
    code, repeated, _ = called(capsys, *words, "--json")
    first = json.loads(called(capsys, *shlex.split(shown)[1:], "--json")[1])
    answer = json.loads(repeated)
    assert answer["bill"]["found"] == answer["bill"]["rollouts"] > 0  # every draw was found: nothing was paid twice
    kept = called(capsys, "report", bad, "--result", answer["result_id"], "--json")[1]
    assert json.loads(kept)["finding"] == first["finding"]
    assert json.loads(kept)["scores"] == first["scores"]


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("budget", [Budget(), Budget(rollouts=50), Budget(policy_calls=60)])
def test_no_method_costs_more_than_was_quoted(bad, method, budget):
    """In rollouts to the last one; in policy calls as far as rollouts are as long as the recording."""
    ask = Ask(draws=8, rollouts=96, proposals={int(step): actions for step, actions in PROPOSALS.items()})
    with Store.open() as store:
        case = open_case(bad, store=store, question=Question(budget=budget))
        sampler = METHODS[method](case, ask)
        price = quote_method(sampler, case, ask)
        bought: list[Draw] = []
        while batch := sampler.propose():
            bought += batch
            sampler.enter([_failed(draw, case.steps) for draw in batch])
    calls = sum(_failed(draw, case.steps).policy_calls for draw in bought)
    if budget == Budget():
        assert price.rollouts is None or len(bought) <= price.rollouts
        assert calls <= price.policy_calls * 1.34  # coalitions differ in length, and the pilot's mean stands for them
    assert price.rollouts is None or budget.rollouts is None or price.rollouts <= budget.rollouts
    assert budget.policy_calls is None or price.policy_calls <= budget.policy_calls
    assert "at most" in str(price)
    assert ("stops as soon as" in str(price)) == (method == "search")


def _failed(draw, steps):
    from butfor.attribution.sampling import Coalition, DrawResult, Proposal

    arm = draw.arm
    calls = steps - len(arm.held) if isinstance(arm, Coalition) else steps - arm.step - isinstance(arm, Proposal)
    return DrawResult(outcome=1.0, policy_calls=calls)


def test_the_published_estimator_keeps_to_the_rollouts_that_were_asked_for(bad):
    with Store.open() as store:
        case = open_case(bad, store=store, question=Question())
        for rollouts in (96, 500, 2048):
            plan = METHODS["shapley-published"](case, Ask(rollouts=rollouts)).propose()
            assert 0.9 * rollouts <= len(plan) <= rollouts
