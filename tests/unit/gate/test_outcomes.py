"""Outcomes: once, late, never otherwise; and what they say of the promises and as evidence."""

import math
import threading

import numpy as np
import pytest

from butfor.confidence.estimates import Estimate, Undefined
from butfor.errors import CorruptRecord, InputError, NotFound, OutcomeTaken
from butfor.estimation import Columns, estimate
from butfor.estimation.answers import Insufficient
from butfor.estimation.evidence import Roles, read_object
from butfor.gate.calibration import calibrate
from butfor.gate.ledger.chain import Ledger
from butfor.gate.outcomes import followed, tell
from butfor.gate.selected_rows import fails_positivity, gate_rows, selected
from butfor.graphs import Graph
from butfor.identification import Proof, Query, identify
from butfor.store import MemoryStore, Store
from tests.patience import joined
from tests.unit.gate.decisions import NOON, decided


@pytest.fixture(params=["disk", "memory"])
def ledger(request, tmp_path):
    with Store.open(tmp_path) if request.param == "disk" else MemoryStore() as store:
        yield Ledger(store.ledger(), clock=lambda: NOON)


@pytest.fixture
def light():
    return Ledger(MemoryStore().ledger(), clock=lambda: NOON)


def test_an_outcome_is_told_once_however_often(ledger):
    decided(ledger, "d1")
    decided(ledger, "d2")
    first = tell(ledger, "d1", 0.25)
    assert first.new
    again = tell(ledger, "d1", 0.25)
    assert (again.entry, again.new) == (first.entry, False)
    assert sum(1 for _ in ledger.entries()) == 3


def test_another_outcome_is_a_named_error(ledger):
    decided(ledger, "d1")
    tell(ledger, "d1", 0.25)
    with pytest.raises(OutcomeTaken, match=r"value 0\.25 of decision d1 is in the ledger, and this says 0\.75"):
        tell(ledger, "d1", 0.75)
    with pytest.raises(OutcomeTaken, match="ran True of decision d1"):
        tell(ledger, "d1", 0.25, ran=False)
    assert [each.value for each in followed(ledger)] == [0.25]


def test_an_outcome_needs_a_decision(ledger):
    with pytest.raises(NotFound, match="there is no decision 'd9'"):
        tell(ledger, "d9", 1.0)


@pytest.mark.parametrize("value", [math.nan, math.inf, True])
def test_an_outcome_is_a_finite_number(ledger, value):
    decided(ledger, "d1")
    with pytest.raises(InputError, match="is no finite number"):
        tell(ledger, "d1", value)


def test_threads_that_disagree_leave_one_outcome(ledger):
    decided(ledger, "d1")
    said: list[object] = []

    def say(value: float) -> None:
        try:
            said.append(tell(ledger, "d1", value).new)
        except OutcomeTaken:
            said.append("taken")

    threads = [threading.Thread(target=say, args=(float(n),)) for n in range(5)]
    for thread in threads:
        thread.start()
    joined(*threads)
    assert sorted(map(str, said)) == ["True", *["taken"] * 4]


@pytest.mark.parametrize(
    ("verdict", "mode", "ran"),
    [("EXECUTE", "enforce", True), ("REJECT", "enforce", False), ("REJECT", "observe", True)],
)
def test_a_call_ran_where_the_gate_let_it(light, verdict, mode, ran):
    decided(light, "d1", verdict=verdict, mode=mode)
    tell(light, "d1", 1.0)
    assert [each.ran for each in followed(light)] == [ran]


def test_a_call_that_ran_by_a_bypass_is_told_so(light):
    decided(light, "d1", verdict="REJECT")
    tell(light, "d1", 1.0, ran=True)
    assert [each.ran for each in followed(light)] == [True]


def test_a_decision_without_a_certificate_is_named(light):
    light.append("decision", {"verdict": "EXECUTE"}, subject="d1")
    tell(light, "d1", 1.0)
    with pytest.raises(CorruptRecord, match="no readable certificate"):
        list(followed(light))


def told(ledger, values, **changes):
    for n, value in enumerate(values):
        decided(ledger, f"{changes.get('tool', 'd')}{n}", **changes)
        tell(ledger, f"{changes.get('tool', 'd')}{n}", float(value))


def test_promises_that_were_kept(light):
    told(light, np.random.default_rng(1).binomial(1, 0.8, 300))
    (found,) = calibrate(light)
    assert (found.tool, found.outcome, found.executed) == ("restart", "recovered", 300)
    assert found.level is not None
    assert found.risk is not None
    assert (found.level.standing, found.risk.standing) == ("kept", "kept")
    assert (found.level.promised, found.risk.promised) == pytest.approx((0.6, 0.3))
    assert isinstance(found.level.happened, Estimate)
    assert found.level.happened.contains(0.8)
    assert isinstance(found.risk.happened, Estimate)
    assert found.risk.happened.contains(0.2)


def test_promises_that_were_broken(light):
    told(light, np.random.default_rng(1).binomial(1, 0.4, 300))
    (found,) = calibrate(light)
    assert found.level is not None
    assert found.risk is not None
    assert (found.level.standing, found.risk.standing) == ("broken", "broken")


def test_a_kept_promise_at_its_edge_is_rarely_called_broken():
    rng, broken, repetitions = np.random.default_rng(2), 0, 60
    for _ in range(repetitions):
        ledger = Ledger(MemoryStore().ledger(), clock=lambda: NOON)
        told(ledger, rng.binomial(1, 0.6, 40), risk=0.4)
        (found,) = calibrate(ledger)
        assert found.level is not None
        assert found.risk is not None
        broken += "broken" in (found.level.standing, found.risk.standing)
    # 5% at most, 2.5% for each promise; the quantile at 1 − 1e-6.
    assert broken <= 14


def test_fewer_is_better_is_read_upside_down(light):
    # 20% complaints, where the gate was promised at least 60% without one.
    told(light, np.random.default_rng(1).binomial(1, 0.2, 300), better="less")
    (found,) = calibrate(light)
    assert found.level is not None
    assert isinstance(found.level.happened, Estimate)
    assert found.level.happened.contains(0.8)


def test_without_a_range_few_outcomes_say_nothing(light):
    told(light, [1.0] * 9, range=None, harm_line=None)
    (found,) = calibrate(light)
    assert found.level is not None
    assert found.level.standing == "unknown"
    assert isinstance(found.level.happened, Undefined)
    assert found.risk is None
    assert found.to_json()["level"]["happened"] == {
        "undefined": "9 outcomes, and without a declared range a bound takes 10"
    }


def test_without_a_range_many_outcomes_are_bounded_roughly(light):
    told(light, np.random.default_rng(1).normal(0.2, 1.0, 200), range=None, level=0.6)
    (found,) = calibrate(light)
    assert found.level is not None
    assert found.level.standing == "broken"


def test_only_executed_decisions_that_ran_are_held_against_promises(light):
    told(light, [0.0] * 20, verdict="REJECT", mode="observe")
    decided(light, "x")
    tell(light, "x", 0.0, ran=False)
    assert calibrate(light) == []


def test_tools_are_told_apart_and_certificates_without_a_bound_promise_nothing(light):
    told(light, [1.0] * 3, tool="stop", level=None, risk=None)
    told(light, [1.0] * 2)
    assert [(each.tool, each.executed, each.level is None) for each in calibrate(light)] == [
        ("restart", 2, False),
        ("stop", 3, True),
    ]


def selecting(ledger, number=200, **changes):
    """A gate that executes where the load is high, and lets nothing run elsewhere."""
    rng = np.random.default_rng(3)
    for n in range(number):
        load = int(rng.integers(2))
        verdict = "EXECUTE" if load else "REJECT"
        decided(ledger, f"d{n}", verdict=verdict, context={"load": float(load)}, **changes)
        tell(ledger, f"d{n}", float(rng.binomial(1, 0.5 + 0.2 * load)))


def test_decisions_become_rows_with_verdict_policy_and_chance(light):
    decided(light, "d1", context={"load": 3.0, "site": "north"})
    decided(light, "d2", verdict="REJECT", context={"load": 1.0, "site": "south"}, policy="sha256:p2")
    decided(light, "d3", verdict="REJECT", mode="observe", context={"load": 2.0})
    decided(light, "d4", verdict="REJECT", context={"load": 5.0})
    decided(light, "d5", verdict="ABSTAIN", treatment=None)
    for name, ran in (("d1", None), ("d2", None), ("d3", None), ("d4", True), ("d5", None)):
        tell(light, name, 1.0, ran=ran)
    found = gate_rows(light, tool="restart")
    assert found.covariates == ("load",)
    assert found.left_out == {"refused before there was a treatment": 1}
    assert {name: found.table[name] for name in ("decision", "restart", "load", "gate_verdict")} == {
        "decision": ["d1", "d2", "d3", "d4"],
        "restart": [1.0, 0.0, 1.0, 1.0],
        "load": [3.0, 1.0, 2.0, 5.0],
        "gate_verdict": ["EXECUTE", "REJECT", "REJECT", "REJECT"],
    }
    # Where the gate only watched, or was bypassed, nobody knows the chance.
    assert found.table["gate_probability"] == ["1", "0", "unknown", "unknown"]
    assert found.table["gate_policy"][1] == "sha256:p2"
    assert (selected(found.table), selected(found.table, policy="sha256:p2")) == (2, 1)


def test_gate_selected_rows_fail_positivity_for_their_rule(light):
    selecting(light)
    table = gate_rows(light, tool="restart").table
    found = fails_positivity(table, policy="sha256:p1")
    assert isinstance(found, Insufficient)
    assert found.reason_code == "positivity"
    assert "200 of 200 rows were selected by a gate's rule" in found.sentence
    assert fails_positivity(table, policy="sha256:another") is None
    assert fails_positivity({"restart": [0, 1]}) is None


def test_the_estimator_refuses_gate_selected_rows_too(light):
    """By itself, adjusting for the context: no stratum has both arms."""
    selecting(light)
    table = gate_rows(light, tool="restart").table
    graph = Graph.of(
        nodes={"restart": "treatment", "recovered": "outcome", "load": "state"},
        directed=[("load", "restart"), ("load", "recovered"), ("restart", "recovered")],
    )
    query = Query(treatments=("restart",), outcomes=("recovered",))
    proof = identify(graph, query)
    assert isinstance(proof, Proof)
    columns = Columns.of(
        {name: np.array(table[name]) for name in ("restart", "recovered", "load")},
        treatment="restart",
        outcome="recovered",
        covariates=("load",),
    )
    answer = estimate(query, proof, columns, graph=graph)
    assert isinstance(answer, Insufficient)
    assert answer.reason_code == "positivity"


def test_the_rows_can_be_read_as_evidence(light):
    selecting(light, number=40)
    found = gate_rows(light, tool="restart")
    roles = Roles(
        treatment="restart", outcome="recovered", covariates=found.covariates, unit="decision", clusters="agent"
    )
    table = read_object(found.table, roles, kind="policy-confounded")
    assert (table.evidence.rows, table.evidence.kind) == (40, "policy-confounded")


def test_rows_need_outcomes_of_one_question(light):
    with pytest.raises(InputError, match="no decision about 'restart' has an outcome"):
        gate_rows(light, tool="restart")
    told(light, [1.0])
    decided(light, "other", treatment="stop")
    tell(light, "other", 1.0)
    with pytest.raises(InputError, match="ask about several things: recovered of restart, recovered of stop"):
        gate_rows(light, tool="restart")
