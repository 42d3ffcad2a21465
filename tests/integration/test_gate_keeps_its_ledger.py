"""A real gate on its ledger: every decision, what became of it, its budget, its permits."""

import json
from datetime import timedelta

import numpy as np
import pytest

from butfor.canonical import digest_text
from butfor.confidence.estimates import Estimate
from butfor.gate import Action
from butfor.gate.approvals import NotPermitted, Permit, Terms, grant
from butfor.gate.budget.spending import spending
from butfor.gate.calibration import calibrate
from butfor.gate.ledger.checkpoints import make_checkpoint
from butfor.gate.ledger.checks import verify_log
from butfor.gate.ledger.log import Filter, in_words, selected
from butfor.gate.outcomes import tell
from butfor.gate.selected_rows import fails_positivity, gate_rows
from tests.unit.gate.places import APPROVER, GATE, NOW, POLICY, place

TIERS = ("gold", "silver", "bronze")


def call(tier: str, *, node: int = 1, agent: str = "a") -> Action:
    return Action(tool="restart_service", arguments={"tier": tier, "node": node}, agent=agent)


def test_every_decision_is_recorded_with_its_certificate(tmp_path):
    with place(tmp_path).open() as gate:
        rulings = [gate.decide(call(tier)) for tier in TIERS]
        rulings.append(gate.decide(Action(tool="unheard of", arguments={})))
        rulings.append(gate.decide(Action(tool="restart_service", arguments={"id": 2**60})))
        entries = [each for each in gate.ledger.entries() if each.kind == "decision"]
        assert [each.subject for each in entries] == [each.id for each in rulings]
        assert [each.payload["verdict"] for each in entries] == [each.verdict for each in rulings]
        assert rulings[0].verdict == "EXECUTE"
        for entry, ruling in zip(entries, rulings, strict=True):
            assert gate.ledger.attachment(entry.position) == ruling.certificate
            assert entry.attachment == digest_text(ruling.certificate)
        checkpoint = make_checkpoint(gate.ledger, GATE)
        report = verify_log(gate.ledger, since=checkpoint, trust=gate.material.trust())
        assert (report.ok, report.not_checked) == (True, ())
        (first,) = selected(gate.ledger, Filter(verdict="EXECUTE"))
        assert in_words(first) == f"EXECUTE bound_met: restart_service, asked by a ({rulings[0].id})"


def test_strata_spend_and_asking_again_does_not(tmp_path):
    with place(tmp_path).open() as gate:
        for tier in TIERS:
            gate.decide(call(tier))
        (before,) = spending(gate.ledger)
        again = [gate.decide(call(tier, node=7, agent="another")) for tier in TIERS]
        assert spending(gate.ledger) == [before]
        assert [(each.hypotheses, each.agent) for each in before.shares] == [(3, "")]
        assert before.spent == pytest.approx(0.05)  # an equal part for each tier of the evidence
        assert again[0].verdict == "EXECUTE"


def test_a_looping_agent_leaves_another_its_share(tmp_path):
    shared = POLICY + "    budget: {shares: {loop: 0.5, calm: 0.4}, other_agents: 0.1}\n"
    with place(tmp_path, policy=shared).open() as gate:
        for tier in ("gold", "silver", "bronze"):
            gate.decide(call(tier, agent="loop"))
        (found,) = spending(gate.ledger)
        assert [(each.agent, each.hypotheses) for each in found.shares] == [("loop", 3)]
        assert [each.of for each in found.shares] == pytest.approx([0.025])


def test_a_killed_reservation_keeps_its_level(tmp_path):
    """The same question after a crash is answered at the level that it spent before."""
    made = place(tmp_path)
    with made.open() as gate:
        gate.decide(call("silver"))
        first = gate.decide(call("gold"))
    budget = json.loads(first.certificate)["body"]["budget"]
    assert budget["place"] == 2
    # Another store, which has the reservations and not the decisions.
    (tmp_path / "other").mkdir()
    other = place(tmp_path / "other")
    with other.open() as gate, made.open() as source:
        for entry in source.ledger.entries():
            if entry.kind == "budget":
                gate.ledger.append("budget", entry.payload, subject=entry.subject, scope=entry.scope, place=entry.place)
        again = gate.decide(call("gold"))
        assert json.loads(again.certificate)["body"]["budget"] == budget
        assert again.verdict == first.verdict == "EXECUTE"


def test_outcomes_calibrate_the_gate_and_become_rows(tmp_path):
    rng = np.random.default_rng(4)
    with place(tmp_path).open() as gate:
        for node in range(60):
            tier = TIERS[node % 3]
            ruling = gate.decide(call(tier, node=node))
            tell(gate.ledger, ruling.id, float(rng.random() < (0.7 if ruling.allowed else 0.4)))
        (found,) = calibrate(gate.ledger)
        assert (found.tool, found.outcome, found.executed) == ("restart_service", "recovered", 20)
        for promise in (found.level, found.risk):
            assert promise is not None
            assert promise.standing == "kept"
            assert isinstance(promise.happened, Estimate)
        made = gate_rows(gate.ledger, tool="restart_service")
        assert (made.treatment, made.outcome, made.covariates) == ("restarted", "recovered", ("tier",))
        assert made.table["restarted"] == [1.0 if n % 3 == 0 else 0.0 for n in range(60)]
        assert set(made.table["gate_probability"]) == {"0", "1"}
        assert fails_positivity(made.table, policy=gate.policy_digest) is not None


def test_a_bypass_lets_one_exact_call_run_and_the_ledger_says_so(tmp_path):
    with place(tmp_path).open() as gate:
        wanted = call("bronze", node=9)
        terms = Terms(
            kind="bypass",
            call=wanted.digest,
            tool=wanted.tool,
            reason="an outage",
            uses=1,
            valid_from=NOW,
            valid_until=NOW + timedelta(hours=1),
        )
        assert not isinstance(grant(gate.ledger, Permit.sign(terms, APPROVER), gate.material.trust()), NotPermitted)
        assert not gate.decide(call("bronze", node=8)).allowed
        first, second = gate.decide(wanted), gate.decide(wanted)
        assert (first.verdict, first.allowed, first.bypass) == ("REJECT", True, terms.digest)
        assert (second.verdict, second.allowed, second.bypass) == ("REJECT", False, None)
        assert [in_words(each).split(":")[0] for each in selected(gate.ledger, Filter(kind="bypass"))] == [
            "granted",
            "used by a, time 1",
        ]
