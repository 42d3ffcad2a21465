"""The identification benchmark, without peers, and the judge that it trusts."""

import pytest

from butfor.benchmarks import Settings, find
from butfor.benchmarks.identification_cases import known_answers, random_cases, textbook
from butfor.benchmarks.identification_judge import wrong
from butfor.identification import Proof, estimand, identify


def case(name):
    return next(each for each in textbook() if each.name == name)


def test_the_textbook_answers_are_ours():
    answers = {each.name: isinstance(identify(each.graph, each.query), Proof) for each in textbook()}
    assert answers == known_answers()


@pytest.mark.parametrize(
    ("name", "answer", "fault"),
    [
        ("bow", {"identified": True}, "called identified"),
        ("napkin", {"identified": False, "complete": True}, "called not identified"),
        ("napkin", {"identified": False, "sets_only": True}, None),
        ("back-door", {"identified": False, "sets_only": True}, "missed a set"),
        ("back-door", {"identified": True, "adjust_for": ["Z1"]}, "invalid adjustment"),
        ("back-door", {"identified": True, "adjust_for": ["Z1", "Z2"]}, None),
        ("back-door", {"identified": True, "adjust_for": ["Z1", "Z2", "latent 0"]}, "invalid adjustment"),
        ("two front doors", {"identified": True, "mediators": ["M"]}, "invalid front_door"),
        ("instrument", {"identified": False, "instruments": ["Z"]}, None),
        ("bow", {"identified": None, "instruments": ["latent 0"]}, "invalid instrument"),
        ("napkin", {"identified": True, "nodes": [{"p": ["Y"], "given": ["T"]}]}, "wrong estimand"),
        ("M-bias", {"identified": True, "nodes": [{"p": ["Y"], "given": ["T"]}]}, None),
    ],
)
def test_the_judge_tells_right_from_wrong(name, answer, fault):
    assert wrong(case(name), answer, seed=1) == fault


def test_the_judge_accepts_our_formulas():
    for each in textbook():
        answer = identify(each.graph, each.query)
        if isinstance(answer, Proof):
            nodes = [node.to_json() for node in estimand(each.graph, answer).nodes]
            assert wrong(each, {"identified": True, "nodes": nodes}, seed=2) is None


def test_random_cases_depend_on_the_seed_alone():
    one, again, other = (random_cases(20, "medium", 3, seed) for seed in (1, 1, 2))
    assert [each.graph.digest for each in one] == [each.graph.digest for each in again]
    assert one[0].graph.digest != other[0].graph.digest


def test_the_report_without_peers_says_that_they_were_not_run(tmp_path, monkeypatch):
    monkeypatch.setenv("BUTFOR_PEERS", str(tmp_path))
    report = find("speed:identification")(Settings(quick=True, seed=3, options={"peers": "y0"}))
    assert [row["library"] for row in report.rows][-1] == "y0"
    assert "not run" in report.rows[-1]["median ms"]
    checks = {each.name: each for each in report.checks}
    assert checks["no wrong answer of ours"].ok
    assert not any("faster than" in name for name in checks)
