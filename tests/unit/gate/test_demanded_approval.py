"""A policy that demands an approver's yes: beside the proof and never instead of it, one use a call."""

import dataclasses
import threading
from contextlib import contextmanager
from datetime import timedelta
from typing import Any

import pytest

from butfor.gate.approvals import Permit, Terms, grant
from butfor.gate.certificate.envelope import seal, unseal
from butfor.gate.ledger.chain import Ledger, Pending
from butfor.gate.policy.entry import policy_digest
from butfor.gate.policy.reading import read_policy, read_text
from butfor.gate.signing.signatures import Signer
from butfor.gate.verify import Given, verify
from tests.patience import joined
from tests.unit.gate.places import APPROVER, GATE, NOW, POLICY, place, rows, trusted
from tests.unit.gate.test_gate import call
from tests.unit.gate.test_signed_policies import TRUST

DEMANDING = f"{POLICY}    approval: required\n"


@pytest.fixture
def here(tmp_path):
    return place(tmp_path, policy=DEMANDING)


@pytest.fixture
def gate(here):
    with here.open() as opened:
        yield opened


def approve(
    gate, action, *, signer=APPROVER, uses=1, kind="approval", begins=-60.0, ends=60.0, reason="asked the team"
):
    terms = Terms(
        kind=kind,
        call=action.digest,
        tool=action.tool,
        reason="asked the team",
        uses=uses,
        valid_from=NOW + timedelta(seconds=begins),
        valid_until=NOW + timedelta(seconds=ends),
    )
    permit = Permit.sign(terms, signer)
    return terms, grant(gate.ledger, permit, gate.material.trust())


def kinds(gate):
    return [each.kind for each in gate.ledger.entries()]


def test_a_proven_call_waits_for_its_approval_and_uses_it_once(gate):
    asked = call(service="web")
    waiting = gate.decide(asked)
    assert (waiting.verdict, waiting.reason, waiting.allowed) == ("ABSTAIN", "approval_missing", False)
    assert waiting.decision.lower > 0.05
    assert waiting.missing == ("there is no approval of this exact call",)
    terms, _ = approve(gate, asked)
    assert gate.decide(call(service="db")).reason == "approval_missing"
    ruling = gate.decide(asked)
    assert (ruling.verdict, ruling.allowed, ruling.approval) == ("EXECUTE", True, terms.digest)
    assert (ruling.decision.lower, ruling.decision.alpha) == (waiting.decision.lower, waiting.decision.alpha)
    assert ruling.missing == ()
    again = gate.decide(asked)
    assert (again.reason, again.missing) == ("approval_missing", ("its 1 use are used up",))
    # What it spends, it spends once: two budget entries are the family's epoch and the one level.
    assert kinds(gate).count("budget") == 2


def test_the_approval_is_used_right_before_the_decision_that_used_it(gate):
    approve(gate, call())
    ruling = gate.decide(call())
    entries = list(gate.ledger.entries())
    assert [(each.kind, each.payload.get("event")) for each in entries[-2:]] == [
        ("approval", "used"),
        ("decision", None),
    ]
    assert entries[-1].position == ruling.position


@pytest.mark.parametrize("tier", ["silver", "bronze", "iron"])
def test_no_approval_opens_what_is_not_proven(gate, tier):
    before = gate.decide(call(tier))
    approve(gate, call(tier))
    after = gate.decide(call(tier))
    assert not after.allowed
    assert (after.reason, after.verdict) == (before.reason, before.verdict)
    assert after.approval is None
    assert [each.payload["event"] for each in gate.ledger.entries() if each.kind == "approval"] == ["granted"]


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"kind": "bypass"}, "there is no approval"),
        ({"begins": 30.0}, "it begins at"),
        ({"begins": -60.0, "ends": 0.0}, "there is no approval"),
        ({"uses": 0}, "withdrawn"),
        ({"signer": GATE}, "there is no approval"),
    ],
)
def test_what_is_no_approval_now_opens_nothing(gate, changes, words):
    approve(gate, call(), **changes)
    ruling = gate.decide(call())
    assert (ruling.reason, ruling.decision.verdict) == ("approval_missing", "ABSTAIN")
    assert words in ruling.missing[0]
    assert ruling.allowed == (changes.get("kind") == "bypass")


def test_an_approval_that_was_written_into_the_ledger_by_hand_opens_nothing(gate):
    forged = {"event": "granted", "terms": {"kind": "approval"}, "signature": None}
    gate.ledger.append("approval", forged, subject=call().digest)
    ruling = gate.decide(call())
    assert (ruling.reason, "no permit" in ruling.missing[0]) == ("approval_missing", True)


def test_an_approval_whose_key_was_revoked_or_whose_time_ended_opens_nothing(here):
    second = Signer(b"b" * 32)
    key = trusted(second, "approver")
    (here.path / "trust.json").write_text(TRUST.with_key(key).to_text())
    with here.open() as gate:
        approve(gate, call(), signer=second)
        (here.path / "trust.json").write_text(TRUST.with_key(dataclasses.replace(key, revoked_at=NOW)).to_text())
        ruling = gate.decide(call())
        assert (ruling.reason, "was revoked" in ruling.missing[0]) == ("approval_missing", True)
        (here.path / "trust.json").write_text(TRUST.with_key(key).to_text())
    with here.open(now=NOW + timedelta(seconds=60)) as gate:
        ruling = gate.decide(call())
        assert (ruling.reason, "it ended at" in ruling.missing[0]) == ("approval_missing", True)
    with here.open() as gate:
        assert gate.decide(call()).verdict == "EXECUTE"


def test_several_uses_are_counted(gate):
    approve(gate, call(), uses=2)
    assert [gate.decide(call()).verdict for _ in range(3)] == ["EXECUTE", "EXECUTE", "ABSTAIN"]


def test_two_gates_never_use_the_same_use(here):
    with here.open() as one, here.open() as other:
        one.decide(call())
        approve(one, call(), uses=3)
        found: list[Any] = []

        def ask(gate):
            found.extend(gate.decide(call()) for _ in range(5))

        threads = [threading.Thread(target=ask, args=(gate,)) for gate in (one, other)]
        for each in threads:
            each.start()
        joined(*threads)
        assert sum(each.verdict == "EXECUTE" for each in found) == 3
        assert {each.reason for each in found} == {"bound_met", "approval_missing"}
        uses = [unseal(each.certificate).body["approval"]["use"] for each in found if each.verdict == "EXECUTE"]
        assert sorted(uses) == [1, 2, 3]


class Full(Pending):
    """A transaction whose disk is full when a decision comes to be written."""

    def add(self, kind, payload, **more):
        if kind == "decision":
            raise OSError("the disk is full")
        return super().add(kind, payload, **more)


class Filling(Ledger):
    """A ledger with such transactions."""

    @contextmanager
    def appending(self):
        with self.rows.durable() as transaction:
            yield Full(transaction, NOW)


def test_what_cannot_be_recorded_uses_nothing_and_runs_nothing(here):
    with here.open() as gate:
        approve(gate, call())
        whole = gate.ledger
        gate.ledger = Filling(whole.rows, clock=gate.now)
        ruling = gate.decide(call())
        assert (ruling.verdict, ruling.allowed, ruling.approval) == ("REJECT", False, None)
        gate.ledger = whole
        assert [each.payload["event"] for each in whole.entries() if each.kind == "approval"] == ["granted"]
        assert gate.decide(call()).verdict == "EXECUTE"


def test_a_look_ahead_uses_no_approval(gate):
    approve(gate, call())
    body = unseal(gate.certified(call())).body
    assert body["decision"]["reason"] == "approval_missing"
    assert gate.decide(call()).verdict == "EXECUTE"


def test_observing_blocks_nothing(tmp_path):
    with place(tmp_path, policy=f"mode: observe\n{DEMANDING}").open() as gate:
        ruling = gate.decide(call())
        assert (ruling.reason, ruling.allowed) == ("approval_missing", True)


def test_a_trial_waits_for_the_approval_too(here, tmp_path):
    (tmp_path / "trial.csv").write_text(rows(n=4000, seed=7))
    asked = call("silver")
    here.write(DEMANDING.replace("tau_u: 0.05", "tau_u: -0.2").replace("tau_r: 0.6", "tau_r: 0.9"))
    (here.path / "incidents.csv").write_text(rows(n=300))
    with here.open() as gate:
        ruling = gate.decide(asked)
        assert ruling.request is not None, ruling.in_words()
        found = gate.resolve(ruling.request, tmp_path / "trial.csv")
        assert found.reason == "approval_missing", found.in_words()
        approve(gate, asked)
        assert gate.resolve(ruling.request, tmp_path / "trial.csv").verdict == "EXECUTE"


def test_a_policy_that_demands_none_keeps_its_digest():
    plain, spelt, demanding = (read_text(text).policy for text in (POLICY, f"{POLICY}    approval: none\n", DEMANDING))
    assert plain is not None
    assert spelt is not None
    assert demanding is not None
    # As it was before approvals could be demanded: certificates and budgets from then still name it.
    assert policy_digest(plain) == "sha256:2527848eaf8be1e8f4e944235de9695cc240d5e12f84ab5fe241bdcc317b58c1"
    assert policy_digest(spelt) == policy_digest(plain) != policy_digest(demanding)


# ---- verify ----


@pytest.fixture
def approved(gate):
    approve(gate, call(), uses=2)
    return gate.decide(call())


def failing(data, trust=TRUST):
    return {each.name for each in verify(data, Given(trust=trust, rows=None)).checks if each.status == "failed"}


def changed(ruling, **parts):
    body = dict(unseal(ruling.certificate).body)
    for name, value in parts.items():
        if value is None:
            del body[name]
        else:
            body[name] = {**body[name], **value}
    return seal(body, GATE)


def test_verify_names_who_approved(here, gate, approved):
    table = gate.material.evidence(gate.entries[0], _commitment(gate), NOW).rows
    report = verify(approved.certificate, Given(trust=TRUST, rows=table, policy=read_policy(here.policy)[0]))
    assert report.ok, report.to_json()
    (check,) = (each for each in report.checks if each.name == "approval")
    assert check.sentence == f"approved by {APPROVER.key_id} (approver), use 1 of 2: asked the team"
    waiting = gate.decide(call("gold", service="db"))
    report = verify(waiting.certificate, Given(trust=TRUST, rows=table))
    assert report.ok, report.to_json()
    assert report.level == "rows"
    # Without the approval the same numbers are no EXECUTE, and with it they are no refusal.
    report = verify(changed(approved, approval=None), Given(trust=TRUST, rows=table))
    assert {each.name for each in report.checks if each.status == "failed"} == {"approval", "verdict"}
    both = {"verdict": "EXECUTE", "reason": "bound_met", "missing": []}
    report = verify(changed(waiting, decision=both), Given(trust=TRUST, rows=table))
    assert {each.name for each in report.checks if each.status == "failed"} == {"approval", "verdict"}


def _commitment(gate):
    found = gate.material.commitment(gate.entries[0], NOW)
    assert hasattr(found, "graph")
    return found


def test_verify_refuses_an_approval_of_anything_else(gate, approved):
    assert failing(approved.certificate) == set()
    other, _ = approve(gate, call("silver"))
    body = unseal(approved.certificate).body["approval"]
    for terms in (
        {**body["terms"], "uses": 9},
        {**body["terms"], "call": other.call},
        {**body["terms"], "valid_until": "2026-11-30T12:00:00Z"},
    ):
        assert failing(changed(approved, approval={"terms": terms})) == {"approval"}
    assert failing(changed(approved, approval={"use": 3})) == {"approval"}
    revoked = dataclasses.replace(TRUST.keys[APPROVER.key_id], revoked_at=NOW)
    assert "approval" in failing(approved.certificate, TRUST.with_key(revoked))


def test_every_changed_byte_of_the_approval_is_caught(approved):
    data = approved.certificate
    start = data.index(b'"approval":{')
    end = data.index(b'"assumptions"', start)
    for at in range(start, end, 5):
        assert not verify(data[:at] + bytes([data[at] ^ 1]) + data[at + 1 :], Given(trust=TRUST)).ok, at


def test_calls_that_ran_by_a_persons_yes_have_no_known_chance(gate, approved):
    from butfor.gate.outcomes import tell
    from butfor.gate.selected_rows import PROBABILITY, gate_rows

    waiting = gate.decide(call("gold", service="db"))
    for each in (approved, waiting):
        tell(gate.ledger, each.id, 1.0)
    made = gate_rows(gate.ledger, tool="restart_service")
    assert set(made.table[PROBABILITY]) == {"unknown"}
