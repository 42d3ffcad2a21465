"""`butfor gate init` and `lint`: a policy to start from, and what is wrong with one."""

import json
from datetime import UTC, datetime

import pytest

from butfor.cli.main import main
from butfor.errors import CorruptRecord, InputError, NotFound
from butfor.gate.policy import read_text
from butfor.gate.policy.lint import lint
from butfor.gate.policy.starter import Draft, blamed_step, drafts_of_attribution, drafts_of_run, starter
from butfor.runs import Run, Step, ToolCall
from butfor.store import Store
from tests.unit.gate.places import HIDDEN, NOW, POLICY, place, rows

RUN = Run(
    run_id="r1",
    steps=(
        Step(index=0, parts=(ToolCall(call_id="a", name="look_up"),)),
        Step(index=1, parts=(ToolCall(call_id="b", name="refund"), ToolCall(call_id="c", name="look_up"))),
        Step(index=2, parts=()),
    ),
)


@pytest.mark.parametrize(
    "draft", [Draft(tool="restart"), Draft(tool="odd: name #1"), Draft(tool="refund", agent="*", note="a\nb")]
)
def test_a_starter_is_a_policy_without_a_mistake(draft):
    found = read_text(starter([draft]))
    assert found.mistakes == ()
    assert found.policy is not None
    assert list(found.policy.tools) == [draft.tool]
    assert found.policy.mode == "observe"


def test_a_starter_without_a_tool_says_what_to_do():
    with pytest.raises(InputError, match="--tool"):
        starter([])


def test_a_run_gives_one_entry_for_each_tool_it_called():
    assert [draft.tool for draft in drafts_of_run(RUN)] == ["look_up", "refund"]


def test_an_attribution_gives_the_entry_of_the_call_it_blames(tmp_path):
    with Store.open(tmp_path) as store:
        store.save_run(RUN)
        store.save_result("x", "r1", "search", "{}", json.dumps({"answer": {"leading": 1}}))
        store.save_result("y", "r1", "search", "{}", json.dumps({"answer": {"leading": 2}}))
        store.save_result("z", "r1", "search", "{}", json.dumps({"answer": {"leading": None, "steps": []}}))
        drafts = drafts_of_attribution(store, "x")
        assert [draft.tool for draft in drafts] == ["refund", "look_up"]
        assert "step 1 of run r1" in drafts[0].note
        for result, words in (("y", "called no tool"), ("z", "names no step")):
            with pytest.raises(InputError, match=words):
                drafts_of_attribution(store, result)
        with pytest.raises(NotFound):
            drafts_of_attribution(store, "absent")


def test_the_blamed_step_is_the_leading_one_or_that_with_the_largest_value():
    values = [{"step": 0, "value": {"point": 0.1}}, {"step": 4, "value": {"point": 0.7}}]
    assert blamed_step(json.dumps({"answer": {"leading": 3, "steps": values}})) == 3
    assert blamed_step(json.dumps({"method": "shapley", "steps": values})) == 4
    assert blamed_step("{}") is None
    with pytest.raises(CorruptRecord):
        blamed_step("not JSON")


def findings(path, old="", new="", **changes):
    made = place(path, policy=POLICY.replace(old, new) if old else POLICY, **changes)
    return lint(made.policy.read_text(), path, now=NOW)


def test_a_sound_policy_says_how_its_effect_is_identified(tmp_path):
    (only,) = findings(tmp_path)
    assert (only.severity, only.line) == ("note", 6)
    assert "3000 rows of observational evidence" in only.sentence


@pytest.mark.parametrize(
    ("old", "new", "severity", "line", "words"),
    [
        ("cost: 0.1", "cost: 0.9", "mistake", 12, "nothing runs"),
        ("reversible: true", "reversible: false", "warning", 15, "needs reversible: true"),
        (", time: seen_at", "", "mistake", 16, "needs the time of the units"),
        ("tau_r: 0.6", "tau_r: 6", "warning", 13, "a probability"),
        ("graph: restart", "graph: another", "mistake", 6, "butfor graph commit"),
        ("incidents.csv", "absent.csv", "mistake", 7, "absent.csv"),
        ("name: recovered", "name: recovery", "mistake", 4, "no node 'recovery'"),
        ("tau_u: 0.05", "tau_u: x", "mistake", 11, "must be a number"),
    ],
)
def test_each_mistake_is_found_where_it_stands(tmp_path, old, new, severity, line, words):
    found = [(each.severity, each.line) for each in findings(tmp_path, old, new) if words in each.sentence]
    assert found == [(severity, line)]


def test_an_unidentified_effect_is_a_warning_with_its_reason(tmp_path):
    (only,) = findings(tmp_path, graph=HIDDEN)
    assert only.severity == "warning"
    assert "restarted <-> recovered" in only.sentence or "recovered <-> restarted" in only.sentence


def test_init_and_lint_from_the_shell(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)

    def butfor(*words):
        with pytest.raises(SystemExit) as stop:
            main(["gate", *words])
        return stop.value.code, capsys.readouterr()

    assert butfor("init", "--tool", "restart")[0] == 0
    code, said = butfor("init")
    assert (code, "already" in said.err) == (2, True)
    code, said = butfor("lint")
    assert code == 1
    assert "gate.yaml:" in said.out
    assert butfor("lint", "absent.yaml")[0] == 2
    assert json.loads(butfor("lint", "--schema")[1].out)["title"] == "butfor policy file"
    assert butfor("init", "--out", "-")[1].out.startswith("# A gate policy")


def test_evidence_whose_times_are_still_to_come_is_a_mistake(tmp_path):
    ahead = rows(newest=datetime(2027, 5, 1, tzinfo=UTC))
    found = findings(tmp_path, evidence=ahead)
    assert any(each.severity == "mistake" and "impossible" in each.sentence for each in found)
