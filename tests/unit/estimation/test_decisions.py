"""From runs to evidence: each column counted by hand, and the graph that assumes least."""

from datetime import UTC, datetime

import pytest

from butfor import runs
from butfor.errors import InputError
from butfor.estimation.evidence import Roles, decision_rows, read_object, starter_graph
from butfor.estimation.evidence.decisions import FEATURES, NOTE
from butfor.identification import Hedge, Query, identify, implied_independences
from butfor.runs import Observation, Outcome, Run, Sampling, Step, Text, ToolCall, Value

AT = datetime(2026, 5, 1, 12, tzinfo=UTC)


def call(name, place=0, **arguments):
    return ToolCall(call_id=f"c{place}", name=name, arguments=Value.of(arguments))


def answer(*, is_error=False):
    return Observation(call_id="c0", content=Value.of("x"), is_error=is_error)


def run(run_id, *parts, outcome=1.0, model="m", at=AT):
    chain = runs.RequestChain()
    steps = [
        Step(
            index=i,
            request=chain.add({"messages": ["x" * 10**i]}),
            sampling=Sampling(model=model),
            parts=each,
            started_at=at,
        )
        for i, each in enumerate(parts)
    ]
    return Run(
        run_id=run_id, steps=tuple(steps), outcome=None if outcome is None else Outcome(value=outcome, rule="failed")
    )


FIRST = run(
    "first",
    (call("look", order=7), answer(is_error=True)),
    (call("look", order=7), call("ask", 1), answer()),
    (call("refund", amount=3), answer()),
    (Text(content=Value.of("done")),),
)
SECOND = run(
    "second", (call("refund", amount=3), answer()), (Text(content=Value.of("no")),), outcome=0.0, model="other"
)


def test_each_decision_is_a_row_counted_by_hand():
    found = decision_rows([FIRST, SECOND])
    table = found.table
    assert table["treatment"] == ["look", "ask+look", "refund", "none", "refund", "none"]
    assert table["outcome"] == [1.0, 1.0, 1.0, 1.0, 0.0, 0.0]
    assert table["run"] == ["first"] * 4 + ["second"] * 2
    assert table["decision"][3] == "first/3"
    assert table["step"] == [0, 1, 2, 3, 0, 1]
    assert table["calls_before"] == [0, 1, 3, 4, 0, 1]
    assert table["errors_before"] == [0, 1, 1, 1, 0, 0]
    assert table["last_failed"] == [0, 1, 0, 0, 0, 0]
    assert table["last_tool"] == ["none", "look", "ask", "refund", "none", "refund"]
    assert table["repeats_before"] == [0, 0, 1, 1, 0, 0]
    assert table["model"] == ["m"] * 4 + ["other"] * 2
    assert table["request_size"] == sorted(table["request_size"][:4]) + table["request_size"][:2]
    assert table["time"][0] == AT.isoformat()
    # What says nothing is left out, and said to be.
    assert found.left_out == {"agent": "constant", "calls_of_it_before": "constant"}
    assert set(found.roles.covariates) == set(FEATURES) - set(found.left_out)
    assert found.roles.clusters == "run"


def test_a_tool_in_question_is_a_binary_treatment():
    found = decision_rows([FIRST, SECOND], tool="look")
    assert found.table["treatment"] == [1, 1, 0, 0, 0, 0]
    assert found.table["calls_of_it_before"] == [0, 1, 2, 2, 0, 0]


def test_the_rows_are_evidence():
    for tool in (None, "refund"):
        found = decision_rows([FIRST, SECOND], tool=tool)
        table = read_object(found.table, found.roles, kind="policy-confounded", note=NOTE)
        assert table.evidence.rows == found.rows == 6
        assert table.columns.clusters is not None
        assert table.columns.clusters.tolist() == [0, 0, 0, 0, 1, 1]
        assert "policy-confounded" in table.evidence.note


def test_runs_that_cannot_be_used_are_counted():
    found = decision_rows([FIRST, run("third", (call("look"),), outcome=None), run("empty")])
    assert (found.runs, found.left_out["no outcome"], found.left_out["no steps"]) == (1, 1, 1)
    for nothing in ([], [run("third", (call("look"),), outcome=None)]):
        with pytest.raises(InputError, match="no run has both steps and an outcome"):
            decision_rows(nothing)
    without = decision_rows([run("fourth", (call("look"),), (Text(),), at=None)])
    assert without.roles.time is None


def test_the_starter_graph_assumes_nothing_and_identifies_nothing():
    roles = decision_rows([FIRST, SECOND]).roles
    graph = starter_graph(roles)
    assert ("outcome", "treatment") in graph.bidirected or ("treatment", "outcome") in graph.bidirected
    assert implied_independences(graph).independences == ()
    assert isinstance(identify(graph, Query.effect(["treatment"], ["outcome"])), Hedge)
    # Without the hidden common cause, which is for somebody to state, the covariates would do.
    bare = starter_graph(Roles(treatment="t", outcome="y"))
    assert isinstance(identify(bare, Query.effect(["t"], ["y"])), Hedge)
