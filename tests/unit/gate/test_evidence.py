"""From a policy entry to the sample that a decision reads."""

from datetime import timedelta
from typing import Any

import numpy as np
import pytest

from butfor.errors import InputError
from butfor.estimation import Cells, Columns
from butfor.estimation.evidence import save_evidence
from butfor.gate import Action
from butfor.gate.decide import decide
from butfor.gate.evidence import load, stamp_of
from butfor.gate.inputs import Inputs, answer_for
from butfor.gate.policy import read_text
from butfor.gate.policy.entry import rules_of
from butfor.identification import Query
from butfor.store import Store
from tests.unit.gate.places import GRAPH, HIDDEN, NOW, POLICY, place

FILE = "{file: incidents.csv, kind: observational, time: seen_at}"


def entry(old=FILE, new=FILE):
    found = read_text(POLICY.replace(old, new))
    assert found.policy is not None, found.mistakes
    return found.policy.tools["restart_service"]


def verdict(one, loaded):
    query = Query.effect("restarted", "recovered", within="tier")
    return decide(
        Inputs(
            graph=GRAPH,
            query=query,
            answer=answer_for(GRAPH, query, randomised=loaded.sample.kind == "randomised"),
            sample=loaded.at(NOW),
            rules=rules_of(one, "default", 1.0),
            within={"tier": "gold"},
        )
    )


def test_a_file_gives_rows_with_their_age(tmp_path):
    place(tmp_path)
    found = load(entry(), tmp_path, GRAPH, now=NOW)
    assert isinstance(found.sample.data, Columns)
    assert found.at(NOW).age == 86400.0
    assert found.at(NOW + timedelta(days=1)).age == 172800.0
    assert found.description.roles.covariates == ("load", "tier")
    assert stamp_of(entry(), tmp_path) is not None


def test_a_query_reads_files_beside_the_policy(tmp_path):
    pytest.importorskip("duckdb")
    place(tmp_path)
    sql = "{sql: \"SELECT * FROM 'incidents.csv'\", kind: observational}"
    found = load(entry(FILE, sql), tmp_path, GRAPH, now=NOW)
    assert found.description.rows == 3000
    assert found.query is not None
    assert found.sample.age is None
    assert stamp_of(entry(FILE, sql), tmp_path) is None


def test_statistics_decide_as_the_rows_do(tmp_path):
    pytest.importorskip("duckdb")
    place(tmp_path)
    one = entry(FILE, "{file: incidents.csv, kind: observational, level: statistics}").model_copy(
        update={"max_evidence_age": None}
    )
    found = load(one, tmp_path, GRAPH, now=NOW)
    assert isinstance(found.sample.data, Cells)
    from_cells = verdict(one, found)
    from_rows = verdict(entry().model_copy(update={"max_evidence_age": None}), load(entry(), tmp_path, GRAPH, now=NOW))
    assert from_cells.verdict == from_rows.verdict == "EXECUTE"
    assert from_cells.lower == pytest.approx(from_rows.lower, abs=0.01)


def test_statistics_of_a_graded_outcome_carry_the_cells_of_harm(tmp_path):
    pytest.importorskip("duckdb")
    rng = np.random.default_rng(2)
    t, z = rng.integers(0, 2, 2000), rng.integers(0, 2, 2000)
    y = np.round(0.4 + 0.2 * t + 0.1 * rng.random(2000), 2)
    lines = [f"{a},{b},{c},gold" for a, b, c in zip(t, y, z, strict=True)]
    (tmp_path / "incidents.csv").write_text("restarted,recovered,load,tier\n" + "\n".join(lines) + "\n")
    graded = POLICY.replace(", two_valued: true", "").replace(
        FILE, "{file: incidents.csv, kind: observational, level: statistics}"
    )
    found = read_text(graded.replace("    max_evidence_age: 90d\n", ""))
    assert found.policy is not None
    one = found.policy.tools["restart_service"]
    loaded = load(one, tmp_path, GRAPH, now=NOW)
    assert loaded.sample.harmed is not None
    decision = verdict(one, loaded)
    assert decision.verdict == "EXECUTE"
    assert decision.measured is not None
    assert decision.measured.risk is not None
    assert (decision.measured.risk.upper or 1.0) < 0.1


def test_saved_evidence_knows_its_kind(tmp_path):
    place(tmp_path)
    first = load(entry(), tmp_path, GRAPH, now=NOW)
    from butfor.estimation.evidence import Table

    assert isinstance(first.sample.data, Columns)
    save_evidence(Table(evidence=first.description, columns=first.sample.data), tmp_path / "incidents.csv")
    found = load(entry(FILE, "{saved: incidents.csv}"), tmp_path, GRAPH, now=NOW)
    assert found.sample.digest == first.sample.digest


def test_an_outcome_of_which_less_is_better_is_read_upside_down(tmp_path):
    # By order of asking: from a list, a question has one level an epoch, and this one is asked of two tables.
    by_order = POLICY + "    budget: {other_agents: 1.0}\n"
    made = place(tmp_path, policy=by_order)
    text = (tmp_path / "incidents.csv").read_text().splitlines()
    flipped = [
        text[0],
        *(",".join((a, str(1 - int(b)), *rest)) for a, b, *rest in (line.split(",") for line in text[1:])),
    ]
    with made.open() as gate:
        plain: Any = gate.decide(Action(tool="restart_service", arguments={"tier": "gold"}))
    (tmp_path / "incidents.csv").write_text("\n".join(flipped) + "\n")
    made.write(by_order.replace("two_valued: true}", "two_valued: true, better: less}"))
    with made.open() as gate:
        turned: Any = gate.decide(Action(tool="restart_service", arguments={"tier": "gold"}))
    assert turned.verdict == plain.verdict == "EXECUTE"
    points = [each.decision.measured.contrast.point for each in (plain, turned)]
    assert points[0] == pytest.approx(points[1], rel=1e-9)


def test_recorded_runs_are_policy_confounded(tmp_path):
    from butfor.runs import Outcome, Run, Step, ToolCall

    with Store.open(tmp_path / "store") as store:
        for i in range(40):
            calls = (ToolCall(call_id="a", name="refund"),) if i % 2 else ()
            steps = (Step(index=0, parts=calls), Step(index=1, parts=()))
            store.save_run(Run(run_id=f"r{i}", steps=steps, outcome=Outcome(value=float(i % 3 == 0), rule="x")))
    text = POLICY.replace(FILE, '{runs: "*"}').replace("restart_service", "refund").replace("restarted", "treatment")
    found = read_text(text.replace("name: recovered", "name: outcome, better: less"))
    assert found.policy is not None, found.mistakes
    loaded = load(
        found.policy.tools["refund"].model_copy(update={"tool": "refund"}),
        tmp_path,
        HIDDEN,
        now=NOW,
        home=tmp_path / "store",
    )
    assert loaded.sample.kind == "policy-confounded"
    assert loaded.lineage == "runs of *"
    assert loaded.description.roles.treatment == "treatment"


@pytest.mark.parametrize(
    ("source", "words"),
    [
        ("{file: absent.csv, kind: observational}", "absent.csv"),
        ("{saved: absent.csv}", "no such file"),
        ("{saved: incidents.csv, level: statistics}", "name file or sql"),
    ],
)
def test_evidence_that_is_not_there_says_so(tmp_path, source, words):
    place(tmp_path)
    with pytest.raises(InputError, match=words):
        load(entry(FILE, source), tmp_path, GRAPH, now=NOW)
