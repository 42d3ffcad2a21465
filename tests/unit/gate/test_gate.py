"""The whole way of a call: certificate, ledger, budget, observation, bypass, and every fault closed."""

import asyncio
import dataclasses
import json
from datetime import timedelta

import pytest

from butfor.errors import ActionRefused, InputError, NotFound, StoreError
from butfor.gate import Action
from butfor.gate.approvals import Permit, Terms, grant
from butfor.gate.certificate.envelope import unseal
from butfor.gate.gate import Gate
from butfor.gate.signing.trust import Trusted
from tests.unit.gate.places import APPROVER, GATE, GRAPH, HIDDEN, NOW, POLICY, place, rows


def call(tier="gold", agent="default", **arguments):
    return Action(tool="restart_service", arguments={"tier": tier, **arguments}, agent=agent)


@pytest.fixture
def here(tmp_path):
    return place(tmp_path)


@pytest.fixture
def gate(here):
    with here.open() as opened:
        yield opened


@pytest.mark.parametrize(
    ("tier", "reason"),
    [("gold", "bound_met"), ("silver", "insufficient_reversible"), ("bronze", "shown_harmful")],
)
def test_each_stratum_gets_its_verdict(gate, tier, reason):
    ruling = gate.decide(call(tier))
    assert ruling.reason == reason
    assert ruling.allowed == (reason == "bound_met")


def test_the_certificate_is_signed_and_recorded_before_it_is_returned(here, gate):
    ruling = gate.decide(call(service="web"))
    sealed = unseal(ruling.certificate)
    trust = gate.material.trust()
    found = trust.check(kind="certificate", payload=sealed.payload, signature=sealed.signature, at=NOW)
    assert isinstance(found, Trusted)
    assert sealed.changed() == []
    with here.open() as other:
        entry = other.ledger.about("decision", ruling.id)
        assert entry is not None
        assert (entry.position, entry.payload["reason"]) == (ruling.position, "bound_met")
        assert other.ledger.attachment(entry.position) == ruling.certificate


def test_the_certificate_holds_every_field_and_both_estimates(gate):
    body = unseal(gate.decide(call()).certificate).body
    assert set(body) == {
        "schema", "decision", "action", "policy", "graph", "assumptions", "proof", "hedge", "estimate", "risk",
        "robustness", "provenance", "budget", "says",
    }  # fmt: skip
    assert body["estimate"]["level"]["target"] == "level"
    assert body["estimate"]["contrast"]["target"] == "contrast"
    assert body["estimate"]["bound_on"] == "contrast"
    assert body["estimate"]["lower"] == body["estimate"]["contrast"]["lower"] > body["estimate"]["tau_u"]
    assert body["risk"]["bound"] <= body["risk"]["tau_r"]
    assert body["hedge"] is None
    assert {each["code"] for each in body["assumptions"]} >= {"graph_correct", "consistency", "positivity"}
    assert body["robustness"]["falsification"]["refuted"] == []
    assert body["robustness"]["strength"]["odds_factor"] > 1.0
    assert body["budget"]["alpha"] < 0.05


def test_a_refusal_gets_a_certificate_with_what_is_missing(gate):
    for action in (call("bronze"), call("iron"), Action(tool="other", arguments={})):
        ruling = gate.decide(action)
        body = unseal(ruling.certificate).body
        assert body["decision"]["missing"] == list(ruling.missing) != []
        assert ruling.position is not None


def test_asking_again_costs_no_error_budget(here):
    with here.open() as gate:
        first, again = gate.decide(call()), gate.decide(call(service="web"))
    with here.open() as gate:
        later = gate.decide(call())
        other = gate.decide(call("silver"))
    budgets = [unseal(each.certificate).body["budget"] for each in (first, again, later, other)]
    assert budgets[0] == budgets[1] == budgets[2]
    assert budgets[3]["place"] == 2


def test_an_agent_that_asks_without_end_spends_its_own_share(tmp_path):
    budget = "    max_evidence_age: 90d\n    budget: {shares: {loop: 0.2, ops: 0.6}}\n"
    made = place(tmp_path, policy=POLICY.replace("    max_evidence_age: 90d\n", budget))
    with made.open() as gate:
        for i in range(30):
            gate.decide(call(f"tier {i}", agent="loop"))
        ruling = gate.decide(call(agent="ops"))
    assert ruling.decision.alpha == pytest.approx(0.6 * 0.05 * 0.6079, rel=1e-3)
    assert ruling.verdict == "EXECUTE"


def test_only_the_declared_hypotheses_are_asked(tmp_path):
    budget = "    max_evidence_age: 90d\n    budget: {hypotheses: [{to: 1, stratum: {tier: gold}}]}\n"
    made = place(tmp_path, policy=POLICY.replace("    max_evidence_age: 90d\n", budget))
    with made.open() as gate:
        assert gate.decide(call()).decision.alpha == 0.05
        assert gate.decide(call("silver")).reason == "budget_exhausted"


def test_paper_settings_spend_no_budget(tmp_path):
    made = place(tmp_path, policy=f"preset: paper\n{POLICY}")
    with made.open() as gate:
        ruling = gate.decide(call())
    body = unseal(ruling.certificate).body
    assert (ruling.verdict, body["budget"], body["policy"]["preset"]) == ("EXECUTE", None, "paper")
    assert "OLS" in body["estimate"]["contrast"]["estimator"]


def test_an_unidentified_effect_asks_for_a_trial(tmp_path):
    with place(tmp_path, graph=HIDDEN).open() as gate:
        ruling = gate.decide(call())
    assert ruling.reason == "not_identified_reversible"
    assert ruling.request is not None
    assert ruling.request.blocked_by == ("recovered <-> restarted",) or ruling.request.blocked_by == (
        "restarted <-> recovered",
    )
    assert ruling.request.size.per_arm > 100
    assert ruling.request.remedies
    body = unseal(ruling.certificate).body
    assert body["proof"] is None
    assert body["hedge"]["blocking"]
    assert body["budget"] is None  # no outcome was looked at


@pytest.mark.parametrize(
    ("old", "new", "reason"),
    [
        ("cost: 0.1", "cost: 0.9", "cost_exceeded"),
        ("max_evidence_age: 90d", "max_evidence_age: 1h", "stale"),
        ("graph: restart", "graph: another", "not_committed"),
        ("incidents.csv", "absent.csv", "error"),
        ("name: recovered, range: [0, 1]", "name: recovered, range: [0, 0.5]", "error"),
        ("{argument: tier}", "{command: [./absent]}", "context_unavailable"),
        ("{argument: tier}", '{callable: "json:absent"}', "opening"),
        ("harm_line: 0.5, tau_r: 0.6", "harm_line: 0.5, tau_r: 0.1", "risk_exceeded"),
    ],
)
def test_whatever_is_missing_fails_closed(tmp_path, old, new, reason):
    made = place(tmp_path, policy=POLICY.replace(old, new))
    if reason == "opening":
        with pytest.raises(InputError, match="cannot be imported"):
            made.open()
        return
    with made.open() as gate:
        ruling = gate.decide(call())
    assert (ruling.reason, ruling.allowed) == (reason, False)
    assert ruling.position is not None


def test_a_graph_counts_only_while_it_is_committed(here):
    with here.open(now=NOW + timedelta(days=31)) as gate:
        assert gate.decide(call()).reason == "not_committed"
    with here.open() as gate:
        assert gate.decide(call()).verdict == "EXECUTE"
        (here.path / "trust.json").write_text('{"schema": "butfor.trust/1", "keys": []}')
        assert gate.decide(call()).reason == "not_committed"


def test_a_new_version_of_the_graph_is_used_at_once(here):
    with here.open() as gate:
        assert gate.decide(call()).verdict == "EXECUTE"
        here.commit(HIDDEN)
        assert gate.decide(call()).reason == "not_identified_reversible"


def test_a_drawing_that_is_not_the_committed_version_is_refused(tmp_path):
    from butfor.graphs import write_yaml

    made = place(tmp_path, policy=POLICY.replace("graph: restart", "graph: restart.graph.yaml"))
    (tmp_path / "restart.graph.yaml").write_text(write_yaml(GRAPH))
    with made.open() as gate:
        assert gate.decide(call()).verdict == "EXECUTE"
        (tmp_path / "restart.graph.yaml").write_text(write_yaml(HIDDEN))
        assert gate.decide(call()).reason == "not_committed"


def test_new_evidence_is_read_at_once(here):
    with here.open() as gate:
        before = gate.decide(call())
        (here.path / "incidents.csv").write_text(rows(seed=2))
        after = gate.decide(call())
    assert before.decision.lower != after.decision.lower


def test_an_approval_that_was_edited_in_place_is_read_again(here):
    (approval,) = (here.path / "graphs" / "restart").glob("*.approval.*.json")
    data = approval.read_bytes()
    with here.open() as gate:
        assert gate.decide(call()).allowed
        folder = approval.parent.stat().st_mtime_ns
        approval.write_bytes(data.replace(b'"at":"2026-11-28', b'"at":"2026-11-27'))
        assert approval.parent.stat().st_mtime_ns == folder
        assert gate.decide(call()).reason == "not_committed"
        approval.write_bytes(data)
        assert gate.decide(call()).allowed


def test_a_version_that_was_edited_in_place_is_read_again(here):
    version = here.path / "graphs" / "restart" / "0001.json"
    data = version.read_bytes()
    with here.open() as gate:
        assert gate.decide(call()).allowed
        version.write_bytes(data.replace(b"drawn with the team", b"drawn by the intern"))
        assert gate.decide(call()).reason == "not_committed"


def test_evidence_of_agents_own_runs_needs_a_statement(tmp_path):
    made = place(tmp_path, policy=POLICY.replace("kind: observational", "kind: policy-confounded"))
    with made.open() as gate:
        ruling = gate.decide(call())
    assert ruling.reason == "not_committed"
    assert "signed statement" in ruling.missing[0]


def test_a_ledger_that_cannot_be_written_executes_nothing(here):
    with here.open() as gate:
        gate.ledger.close()
        gate.ledger = Broken()
        ruling = gate.decide(call("silver"))
        assert (ruling.reason, ruling.allowed, ruling.certificate) == ("error", False, b"")
        ruling = gate.decide(call())
    assert (ruling.verdict, ruling.allowed) == ("REJECT", False)


class Broken:
    """A ledger whose disk is full."""

    def close(self):
        pass

    def __getattr__(self, name):
        def fail(*_args, **_kwargs):
            raise StoreError("the disk is full")

        return fail


def test_a_broken_clock_executes_nothing(here):
    def clock():
        raise OSError("no clock")

    with here.open() as gate:
        gate.now = clock
        assert gate.decide(call()).reason == "error"


def test_observing_lets_everything_pass_and_says_so(tmp_path):
    with place(tmp_path, policy=f"mode: observe\n{POLICY}").open() as gate:
        ruling = gate.decide(call("bronze"))
        assert (ruling.verdict, ruling.allowed, ruling.mode) == ("REJECT", True, "observe")
        assert unseal(ruling.certificate).body["decision"]["mode"] == "observe"
        assert "only observes" in ruling.in_words()


def test_a_bypass_is_for_one_exact_call_and_is_recorded(gate):
    allowed, other = call("bronze", service="web"), call("bronze", service="db")
    terms = Terms(
        kind="bypass",
        call=allowed.digest,
        tool="restart_service",
        reason="incident 12",
        uses=1,
        valid_from=NOW - timedelta(minutes=1),
        valid_until=NOW + timedelta(minutes=1),
    )
    grant(gate.ledger, Permit.sign(terms, APPROVER), gate.material.trust())
    assert not gate.decide(other).allowed
    ruling = gate.decide(allowed)
    assert (ruling.verdict, ruling.allowed, ruling.bypass) == ("REJECT", True, terms.digest)
    assert not gate.decide(allowed).allowed
    forged = dataclasses.replace(terms, uses=5, reason="again")
    grant(gate.ledger, Permit.sign(forged, GATE), gate.material.trust())
    assert not gate.decide(allowed).allowed


def test_sixty_four_bit_ids_that_share_a_double_share_nothing(gate):
    rulings = [gate.decide(call(id=2**53 + i)) for i in (0, 1)]
    assert [each.reason for each in rulings] == ["unusable_call"] * 2
    as_text = [gate.decide(call(id=str(2**53 + i))) for i in (0, 1)]
    calls = {unseal(each.certificate).body["action"]["call"] for each in as_text}
    assert len(calls) == 2


def test_sync_and_async_decide_alike(gate):
    one = gate.decide(call())
    other = asyncio.run(gate.adecide(call()))
    assert (one.reason, one.decision.lower) == (other.reason, other.decision.lower)


def test_a_guarded_tool_runs_only_where_it_may(gate):
    ran = []

    @gate.guard
    def restart_service(tier, service="web"):
        ran.append((tier, service))
        return "done"

    @gate.guard(name="restart_service", agent="ops")
    async def restart_later(tier):
        ran.append(tier)
        return "done later"

    assert restart_service("gold", service="db") == "done"
    assert asyncio.run(restart_later("gold")) == "done later"
    with pytest.raises(ActionRefused, match="shown_harmful") as refusal:
        restart_service("bronze")
    with pytest.raises(ActionRefused):
        asyncio.run(restart_later("bronze"))
    assert ran == [("gold", "db"), "gold"]
    assert unseal(refusal.value.certificate).body["decision"]["id"] == refusal.value.decision


def test_threads_decide_side_by_side(gate):
    async def many():
        return await asyncio.gather(*(gate.adecide(call(n=i)) for i in range(20)))

    rulings = asyncio.run(many())
    assert {each.verdict for each in rulings} == {"EXECUTE"}
    assert len({each.position for each in rulings}) == 20


def test_a_gate_without_a_policy_or_a_key_does_not_open(tmp_path):
    with pytest.raises(NotFound, match="gate init"):
        Gate.open(tmp_path / "gate.yaml", signer=GATE)
    place(tmp_path)
    with pytest.raises(NotFound, match="gate key"):
        Gate.open(tmp_path / "gate.yaml", keys=tmp_path / "no keys", store=tmp_path / "store")
    with pytest.raises(InputError, match="folder"):
        Gate.open(tmp_path, signer=GATE)


def test_a_ruling_is_plain_json(gate):
    for tier in ("gold", "silver", "bronze"):
        json.dumps(gate.decide(call(tier)).to_json(), allow_nan=False)


def trial(path, *, effect=0.3, n=600, tier="silver"):
    """A trial of restarting in one tier."""
    import numpy as np

    rng = np.random.default_rng(5)
    t = rng.integers(0, 2, n)
    y = (rng.random(n) < 0.4 + effect * t).astype(int)
    lines = ["restarted,recovered,tier", *(f"{a},{b},{tier}" for a, b in zip(t, y, strict=True))]
    path.write_text("\n".join(lines) + "\n")
    return path


@pytest.mark.parametrize(("effect", "verdict"), [(0.3, "EXECUTE"), (0.0, "EXPERIMENT"), (-0.3, "REJECT")])
def test_a_trial_decides_what_the_graph_could_not(tmp_path, effect, verdict):
    made = place(tmp_path, graph=HIDDEN)
    with made.open() as gate:
        asked = gate.decide(call("silver")).request
        assert asked is not None
        ruling = gate.resolve(asked, trial(tmp_path / "rct.csv", effect=effect))
    assert ruling.verdict == verdict
    body = unseal(ruling.certificate).body
    assert (body["proof"]["kind"], body["provenance"]["kind"]) == ("randomised", "randomised")
    assert body["action"]["call"] == call("silver").digest
    assert "assigned_at_random" in {each["code"] for each in body["assumptions"]}
    assert "graph_correct" not in {each["code"] for each in body["assumptions"]}


def test_a_request_is_read_back_and_held_against_its_decision(tmp_path):
    from butfor.gate.experiment import Request

    made = place(tmp_path, graph=HIDDEN)
    with made.open() as gate:
        asked = gate.decide(call("silver")).request
        assert asked is not None
        assert Request.read(json.dumps(asked.to_json()).encode()) == asked
        data = trial(tmp_path / "rct.csv")
        for changed in (
            dataclasses.replace(asked, stratum={"tier": "gold"}),
            dataclasses.replace(asked, call=call("gold").digest),
            dataclasses.replace(asked, decision="another"),
            dataclasses.replace(asked, entry="another"),
        ):
            assert gate.resolve(changed, data).verdict == "ABSTAIN"
        assert gate.resolve(asked, tmp_path / "absent.csv").reason == "error"
    for text in (b"{}", b"[]", b"x", b'{"schema": "butfor.experiment/1"}'):
        with pytest.raises(InputError):
            Request.read(text)
