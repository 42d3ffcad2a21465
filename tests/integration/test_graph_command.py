"""`butfor graph` as a user meets it."""

import json
import xml.etree.ElementTree as ET

import pytest

from butfor.cli.main import main

BOW = "dag {\n T [exposure] Y [outcome]\n T -> Y\n T <-> Y\n}\n"
BACK_DOOR = "nodes: {T: treatment, Y: outcome, Z: state}\nedges: [Z -> T, Z -> Y, T -> Y]\n"


def run(capsys, *arguments):
    with pytest.raises(SystemExit) as stop:
        main(["graph", *map(str, arguments)])
    output = capsys.readouterr()
    return stop.value.code, output.out, output.err


def test_an_identified_effect(tmp_path, capsys):
    (tmp_path / "g.yaml").write_text(BACK_DOOR)
    code, out, _ = run(capsys, "identify", tmp_path / "g.yaml")
    assert code == 0
    assert "Σ_{Z} [P(Y | T, Z) P(Z)]" in out
    assert "accepted by the independent checker" in out


def test_an_unidentified_effect_exits_with_3_and_says_what_would_help(tmp_path, capsys):
    (tmp_path / "g.txt").write_text(BOW)
    code, out, _ = run(capsys, "identify", tmp_path / "g.txt", "--json", "--svg", tmp_path / "g.svg")
    document = json.loads(out)
    assert code == 3
    assert (document["identified"], document["checked"]) == (False, True)
    assert [each["kind"] for each in document["remedies"]] == ["measure", "randomise"]
    picture = (tmp_path / "g.svg").read_text()
    assert "#c22f2f" in picture
    ET.fromstring(picture)


def test_the_question_may_be_asked_by_hand(tmp_path, capsys):
    (tmp_path / "g.yaml").write_text(BACK_DOOR)
    code, out, _ = run(capsys, "identify", tmp_path / "g.yaml", "-t", "Z", "-y", "Y", "-s", "T")
    assert code in (0, 3)
    code, out, _ = run(capsys, "identify", tmp_path / "g.yaml", "--measured", "T, Y", "--cost", "Z=2.5")
    assert code == 3
    assert "Measure Z" in out
    assert "cost 2.5" in out
    code, _, err = run(capsys, "identify", tmp_path / "g.yaml", "--cost", "Z=cheap")
    assert (code, err.count("\n")) == (2, 1)


def test_the_adjustment_sets_follow_the_users_wishes(tmp_path, capsys):
    edges = "[A -> T, A -> B, B -> Y, T -> Y, C -> Y]"
    (tmp_path / "g.yaml").write_text(
        f"nodes: {{T: treatment, Y: outcome, A: state, B: state, C: state}}\nedges: {edges}"
    )
    costs = ("--cost", "A=1", "--cost", "B=3")
    sets = json.loads(run(capsys, "identify", tmp_path / "g.yaml", "--json", *costs)[1])["adjustment_sets"]
    assert sets == {"minimal": ["B"], "cheapest": ["A"], "most precise": ["B", "C"]}
    (tmp_path / "h.yaml").write_text(
        "nodes: {T: treatment, Y: outcome, Z: state, W: state}\nedges: [Z -> T, Z -> Y, T -> Y, W -> Z, W <-> Y]"
    )
    unclear = json.loads(run(capsys, "identify", tmp_path / "h.yaml", "--json")[1])["adjustment_sets"]
    assert set(unclear) == {"minimal", "cheapest", "precise, not claimed the most"}
    wishes = ("--require", "C", "--forbid", "B")
    sets = json.loads(run(capsys, "identify", tmp_path / "g.yaml", "--json", *costs, *wishes)[1])["adjustment_sets"]
    assert (sets["minimal"], sets["cheapest"]) == (["A", "C"], ["A", "C"])
    assert "minimal adjustment set: B" in run(capsys, "identify", tmp_path / "g.yaml")[1]


def test_check_and_show(tmp_path, capsys):
    (tmp_path / "g.yaml").write_text("nodes: [A, B, C]\nedges: [A -> B, B -> C]\n")
    code, out, _ = run(capsys, "check", tmp_path / "g.yaml")
    assert (code, "C ⊥ A | B" in out) == (0, True)
    code, out, _ = run(capsys, "show", tmp_path / "g.yaml", "--json")
    assert json.loads(out)["graph"]["directed"] == [["A", "B"], ["B", "C"]]
    code, out, _ = run(capsys, "show", tmp_path / "g.yaml")
    assert "A -> B" in out


def test_a_mistake_is_one_sentence_with_a_line_and_exit_code_2(tmp_path, capsys):
    (tmp_path / "g.yaml").write_text("nodes: [A]\nedges:\n - A -> B\n")
    code, _, err = run(capsys, "check", tmp_path / "g.yaml")
    assert (code, err.count("\n")) == (2, 1)
    assert "g.yaml, line 3" in err
    assert run(capsys, "check", tmp_path / "nothing")[0] == 2
