"""Reading a policy file: what it says, and every mistake with its place."""

import json
from pathlib import Path

import pytest

from butfor.errors import InputError, NotFound
from butfor.gate.policy import policy_schema, read_policy, read_text
from butfor.gate.policy.durations import seconds

GOOD = """\
schema: butfor.policy/1
tools:
  restart_service:
    outcome: {name: recovered, range: [0, 1], two_valued: true}
    treatment: {name: restarted, to: 1, against: 0}
    graph: restart.graph.yaml
    evidence: {file: incidents.csv, kind: observational, time: seen_at}
    context:
      tier: {argument: tier}
      load: {command: [./load, "{service}"], timeout: 2s, max_age: 1m}
    strata: [tier]
    tau_u: 0.05
    cost: 0.1
    risk: {harm_line: 0.5, tau_r: 0.3}
    reversible: true
    experiment: {arms: [0, 1], most_units: 1000, effect: 0.1}
    max_evidence_age: 90d
"""


def test_a_policy_says_what_it_says():
    found = read_text(GOOD)
    assert found.mistakes == ()
    assert found.policy is not None
    entry = found.policy.tools["restart_service"]
    assert (entry.tau_u, entry.max_evidence_age, entry.treatment.to) == (0.05, 90 * 86400.0, 1.0)
    assert entry.context["load"].timeout == 2.0
    assert (found.policy.preset, found.policy.mode) == ("default", "enforce")


@pytest.mark.parametrize(
    ("old", "new", "line", "column", "words"),
    [
        ("tau_u: 0.05", "tau_u: yes", 12, 5, "must be a number"),
        ("    cost: 0.1\n", "", 3, 3, "'cost' is missing"),
        ("reversible", "reversable", 15, 5, "did you mean 'reversible'"),
        ("1m}", "1 parsec}", 10, 59, "no length of time"),
        ("kind: observational", "kind: obs", 7, 37, "'obs' is not one of"),
        ("[0, 1], two", "[1, 0], two", 4, 5, "is empty"),
        ("tools:", "mode: enforce\nmode: observe\ntools:", 3, 1, "there twice"),
        ("{argument: tier}", "{argument: tier, http: x}", 9, 7, "not from argument and http"),
        ("tau_r: 0.3}", "tau: 0.3}", 14, 28, "there is no 'tau' here"),
        ("strata: [tier]", "strata: [teir]", 3, 3, "'teir' has no source"),
        ("tools:", "tools: [", 4, 12, "not YAML"),
        ("to: 1,", "to: {arg: x},", 5, 39, "there is no 'arg' here"),
        ("cost: 0.1", "cost: .nan", 13, 11, "no number here"),
        ("cost: 0.1", "cost: &a 1\n    alpha: *a", 13, 11, "alias"),
        ("butfor.policy/1", "butfor.policy/9", 1, 1, "is not one of"),
        ("arms: [0, 1]", "arms: [1, 2]", 3, 3, "must contain against"),
        ("tau_u: 0.05", "tau_u: !!python/object:os.system x", 12, 12, "cannot be read"),
    ],
)
def test_each_mistake_is_named_with_its_place(old, new, line, column, words):
    assert old in GOOD
    found = read_text(GOOD.replace(old, new, 1))
    assert found.policy is None
    assert any((m.line, m.column) == (line, column) and words in m.sentence for m in found.mistakes), found.mistakes


def test_every_mistake_is_listed_in_the_order_of_the_file():
    found = read_text(GOOD.replace("tau_u: 0.05", "tau_u: x").replace("cost: 0.1", "cost: y"))
    assert [m.line for m in found.mistakes] == [12, 13]


@pytest.mark.parametrize(
    "text",
    [
        "",
        "[]",
        "1",
        "a: b: c",
        "\x00",
        "? [a]\n: b",
        "tools: {}\nschema: butfor.policy/1",
        'x: !!int ""',
        "x: !!float _",
        "x: !!timestamp a",
        "x: !!binary é",
    ],
)
def test_what_is_no_policy_is_a_mistake_and_never_an_exception(text):
    assert read_text(text).mistakes


def test_a_missing_file_says_how_to_start(tmp_path):
    with pytest.raises(NotFound, match="gate init"):
        read_policy(tmp_path / "gate.yaml")
    (tmp_path / "gate.yaml").write_text(GOOD.replace("0.05", "x"))
    with pytest.raises(InputError, match="line 12, column 5"):
        read_policy(tmp_path / "gate.yaml")


@pytest.mark.parametrize(("text", "expected"), [("90d", 7776000.0), ("1.5h", 5400.0), (30, 30.0), ("250ms", 0.25)])
def test_lengths_of_time(text, expected):
    assert seconds(text) == expected


@pytest.mark.parametrize("text", ["", "d", "-1d", "0s", 0, True, None, float("nan"), "1y"])
def test_no_length_of_time(text):
    with pytest.raises(InputError):
        seconds(text)


def test_the_published_schema_is_the_one_that_is_read():
    published = Path(__file__).parents[3] / "schemas" / "policy.schema.json"
    assert json.loads(published.read_text(encoding="utf-8")) == policy_schema(), "`make docs` writes it again"
