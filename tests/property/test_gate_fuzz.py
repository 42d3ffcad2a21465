"""Whatever is asked of the gate: no EXECUTE without a proof and a bound, and no exception."""

import json
import math
from collections import Counter
from random import Random
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from butfor.errors import ButforError
from butfor.estimation.questions import Randomised
from butfor.gate import REASONS, Action
from butfor.gate.decide import before_data, decide, judge
from butfor.gate.ledger.chain import Entry, Ledger
from butfor.gate.measure import measure
from butfor.gate.policy import read_text
from butfor.identification import Hedge, check
from butfor.store import MemoryStore
from tests.property.gate_cases import case
from tests.unit.gate.places import APPROVER, GATE, POLICY, place
from tests.unit.gate.test_demanded_approval import approve
from tests.unit.gate.test_policy import GOOD

# Of these 2,000 run every time; the whole is a slow test.
CASES = {"decisions": 70_000, "policies": 25_000, "calls": 4_000, "approvals": 1_000}
QUICK = {"decisions": 1_400, "policies": 500, "calls": 100, "approvals": 100}


def examined(inputs):
    """Decide, with nothing caught that is no error of ours; return the decision that the gate gives."""
    try:
        early = before_data(inputs)
        raised = None
        found = early if early is not None else judge(inputs, measure(inputs))
    except ButforError as error:
        raised, found = error, None
    decision = decide(inputs)
    if found is not None:
        assert (decision.verdict, decision.reason, decision.lower) == (found.verdict, found.reason, found.lower)
    else:
        assert decision.reason == "error", raised
    return decision


def assert_closed(inputs, decision):
    """Hold an EXECUTE against proof, bound, cost, risk and age, by means of its own."""
    assert REASONS[decision.reason].verdict == decision.verdict
    if decision.verdict != "EXECUTE":
        assert decision.missing
        return
    rules, measured = inputs.rules, decision.measured
    if isinstance(inputs.answer, Hedge):
        assert measured.worst is not None
        assert rules.preset.partial
        assert measured.worst.kind == "balke_pearl" or rules.bound_on == "level" or rules.tau_u < 0
    elif isinstance(inputs.answer, Randomised):
        assert inputs.sample.kind == "randomised"
    else:
        assert check(inputs.graph, inputs.query, inputs.answer).ok
    assert math.isfinite(decision.lower)
    assert decision.lower > rules.tau_u
    assert 0 < decision.alpha < 0.5
    assert rules.cost <= (rules.tau_c if rules.preset.name == "default" else rules.tau_r)
    if rules.preset.bounds_risk and rules.tau_r is not None:
        assert measured.risk.upper <= rules.tau_r
    if rules.max_age is not None:
        assert inputs.sample.age <= rules.max_age
    if rules.demands.mutations or rules.demands.robustness is not None or rules.demands.odds_factor is not None:
        assert isinstance(inputs.answer, Randomised) or inputs.robustness is not None


def decisions(seed, n):
    """Decide n random cases, and count the reasons."""
    seen: Counter[str] = Counter()
    for number in range(n):
        inputs = case(Random(f"{seed}:{number}"))
        if inputs is None:
            seen["refused before"] += 1
            continue
        try:
            decision = examined(inputs)
            assert_closed(inputs, decision)
        except Exception as error:
            raise AssertionError(f"case {seed}:{number}: {type(error).__name__}: {error}") from error
        seen[decision.reason] += 1
    return seen


def spoiled(rng, text):
    """Change a policy file in a few places, as a hand or a disk may."""
    for _ in range(rng.randrange(1, 5)):
        at = rng.randrange(len(text))
        piece = rng.choice(
            (
                "",
                " ",
                "\n",
                ":",
                "{",
                "}",
                "[",
                "]",
                "-1",
                ".nan",
                "null",
                "&a",
                "*a",
                "\x00",
                "ü",
                "1e999",
                "yes",
                "'",
                '"',
                "%",
                "!!int",
                "? ",
            )
        )
        text = text[:at] + piece + text[at + rng.randrange(0, 6) :]
    return text


def policies(seed, n):
    """Read n spoiled policy files."""
    for number in range(n):
        rng = Random(f"{seed}:{number}")
        text = spoiled(rng, rng.choice((GOOD, f"{GOOD}    approval: required\n")))
        found = read_text(text)
        assert (found.policy is None) == bool(found.mistakes), text
        assert all(m.line >= 1 and m.column >= 1 and "\n" not in m.sentence for m in found.mistakes), text


def json_value(rng, depth=0):
    kind = rng.randrange(9 if depth < 3 else 7)
    if kind == 7:
        return [json_value(rng, depth + 1) for _ in range(rng.randrange(4))]
    if kind == 8:
        return {rng.choice(("a", "b", "tier", "é", "", "\ud800")): json_value(rng, depth + 1) for _ in range(3)}
    plain = (
        None,
        True,
        "gold",
        "\x00",
        rng.choice((2**53, 2**70, -1, 0)),
        rng.choice((math.nan, 1.5, -0.0, 1e300)),
        "\ud800",
    )
    return plain[kind]


def calls(seed, n, directory):
    """Decide n random calls with a whole gate whose ledger is in memory."""
    made = place(directory)
    with made.open() as gate:
        gate.ledger.close()
        gate.ledger = Ledger(MemoryStore().ledger(), clock=gate.now)
        for number in range(n):
            rng = Random(f"{seed}:{number}")
            tier = rng.choice(("gold", "silver", "bronze", "iron", 1, None))
            arguments = {"tier": tier, "x": json_value(rng)} if rng.random() < 0.8 else {"tier": json_value(rng)}
            tool = rng.choice(("restart_service",) * 9 + ("other", "", "\ud800"))
            ruling = gate.decide(Action(tool=tool, arguments=arguments, agent=rng.choice(("a", "b"))))
            assert ruling.allowed == (ruling.verdict == "EXECUTE")
            if ruling.allowed:
                decision: Any = ruling.decision
                assert (tool, arguments["tier"]) == ("restart_service", "gold")
                assert decision.measured.checked.ok
                assert decision.lower > 0.05
            json.dumps(ruling.to_json(), allow_nan=False)


def approvals(seed, n, directory):
    """Decide n calls under a policy that demands approvals, and grant some; hold what runs against what was granted."""
    made = place(directory, policy=f"{POLICY}    approval: required\n")
    left: Counter[str] = Counter()
    ran = 0
    with made.open() as gate:
        gate.ledger.close()
        gate.ledger = Ledger(MemoryStore().ledger(), clock=gate.now)
        for number in range(n):
            rng = Random(f"{seed}:{number}")
            arguments = {"tier": rng.choice(("gold", "gold", "bronze")), "x": rng.randrange(3)}
            asked = Action(tool="restart_service", arguments=arguments)
            if rng.random() < 0.4:
                signer = rng.choice((APPROVER, APPROVER, GATE))
                uses = rng.randrange(3)
                _, granted = approve(gate, asked, signer=signer, uses=uses, begins=-1000.0 + number)
                if isinstance(granted, Entry):
                    left[asked.digest] = uses
            ruling = gate.decide(asked)
            may = arguments["tier"] == "gold" and left[asked.digest] > 0
            assert ruling.allowed == (ruling.verdict == "EXECUTE") == may, (seed, number, ruling.in_words())
            left[asked.digest] -= ruling.allowed
            ran += ruling.allowed
    return ran


def test_no_decision_executes_without_proof_and_bound():
    seen = decisions("quick", QUICK["decisions"])
    assert seen["bound_met"] >= 20
    assert len(seen) >= 12


def test_no_policy_file_raises():
    policies("quick", QUICK["policies"])


def test_no_call_raises(tmp_path):
    calls("quick", QUICK["calls"], tmp_path)


def test_no_call_executes_without_an_approval_that_is_left(tmp_path):
    assert approvals("quick", QUICK["approvals"], tmp_path) >= 10


@given(st.text(max_size=300))
def test_no_text_at_all_raises(text):
    found = read_text(text)
    assert found.policy is None
    assert found.mistakes


@given(st.binary(max_size=200))
def test_no_bytes_are_a_call_by_accident(data):
    try:
        action = Action.read(data)
    except ButforError:
        return
    assert action.digest.startswith("sha256:")


@pytest.mark.slow
def test_a_hundred_thousand_cases(tmp_path):
    seen = decisions("whole", CASES["decisions"])
    policies("whole", CASES["policies"])
    for name, each in (("calls", calls), ("approvals", approvals)):
        (tmp_path / name).mkdir()
        each("whole", CASES[name], tmp_path / name)
    assert sum(CASES.values()) >= 100_000
    assert seen["bound_met"] >= 1_000
    print(dict(seen))
