"""A policy that the operator wants signed: who may sign it, what breaks it, and that no editor of it gets around it."""

import dataclasses
import json
import sys
from datetime import timedelta

import pytest

from butfor.errors import InputError, NotFound
from butfor.gate.approvals import Permit, Terms, grant
from butfor.gate.certificate.envelope import seal, unseal
from butfor.gate.policy.entry import policy_digest
from butfor.gate.policy.lint import lint
from butfor.gate.policy.reading import read_policy
from butfor.gate.policy.signatures import PolicySignature, read_signatures, write_signature
from butfor.gate.signing.signatures import Signer
from butfor.gate.signing.trust import TrustFile
from butfor.gate.verify import Given, verify
from tests.unit.gate.places import APPROVER, GATE, NOW, POLICY, place, trusted
from tests.unit.gate.test_gate import call

STRANGER = Signer(b"s" * 32)
TRUST = TrustFile.of([trusted(GATE, "gate"), trusted(APPROVER, "approver")])
BEFORE = NOW - timedelta(days=1)


@pytest.fixture
def here(tmp_path):
    (tmp_path / "ops").mkdir()
    (tmp_path / "operator.json").write_text(TRUST.to_text())
    return place(tmp_path / "ops")


@pytest.fixture
def trust(tmp_path):
    return tmp_path / "operator.json"


def digest_of(here):
    return policy_digest(read_policy(here.policy)[0])


def sign(here, signer=APPROVER, at=BEFORE, digest=None):
    made = PolicySignature.of(digest or digest_of(here), signer=signer, at=at, reason="read in the review")
    return write_signature(here.policy, made)


def decided(here, trust, tier="gold", **changes):
    with here.open(trust=trust, **changes) as gate:
        return gate.decide(call(tier))


def assert_refused(ruling, words):
    assert (ruling.verdict, ruling.reason, ruling.allowed) == ("ABSTAIN", "policy_not_signed", False)
    assert words in ruling.missing[0]
    assert unseal(ruling.certificate).body["decision"]["reason"] == "policy_not_signed"


def test_a_signed_policy_decides_and_the_certificate_says_who_signed_it(here, trust):
    sign(here)
    ruling = decided(here, trust)
    assert ruling.allowed
    report = verify(ruling.certificate, Given(trust=TRUST, policy=read_policy(here.policy)[0]))
    (check,) = (each for each in report.checks if each.name == "policy")
    assert check.status == "ok"
    assert f"signed by approver ({APPROVER.key_id}), role approver" in check.sentence


def test_nobodys_policy_decides_nothing(here, trust):
    assert_refused(decided(here, trust), "nobody signed")
    assert decided(here, None).allowed


def test_an_edited_policy_is_to_be_signed_again(here, trust):
    sign(here)
    here.write(POLICY.replace("tau_u: 0.05", "tau_u: -1"))
    assert_refused(decided(here, trust), "nobody signed")
    sign(here)
    assert decided(here, trust).allowed
    here.write(f"# laid out anew\n{POLICY}")
    assert decided(here, trust).allowed


@pytest.mark.parametrize(
    ("edit", "new"),
    [
        ("tools:", "mode: observe\ntools:"),
        ("tools:", "trust: mine.json\ntools:"),
        ("tools:", "trust: mine.json\nmode: observe\ntools:"),
    ],
)
def test_no_editor_of_the_policy_gets_around_the_operator(here, trust, edit, new):
    mine = TrustFile.of([trusted(GATE, "gate"), trusted(STRANGER, "approver")])
    (here.path / "mine.json").write_text(mine.to_text())
    here.write(POLICY.replace(edit, new))
    sign(here, STRANGER)
    ruling = decided(here, trust)
    assert_refused(ruling, "not in the trust file")
    assert ruling.mode == "enforce"
    assert unseal(ruling.certificate).body["decision"]["mode"] == "enforce"


def test_the_operators_trust_file_counts_for_graphs_too(here, trust):
    mine = TrustFile.of([trusted(STRANGER, "approver")])
    (here.path / "trust.json").write_text(mine.to_text())
    sign(here)
    assert decided(here, trust).allowed
    assert decided(here, None).reason == "not_committed"


@pytest.mark.parametrize(
    ("signer", "at", "words"),
    [
        (STRANGER, BEFORE, "not in the trust file"),
        (GATE, BEFORE, "has the role gate"),
        (APPROVER, NOW + timedelta(seconds=1), "it was signed at"),
        (APPROVER, NOW - timedelta(days=400), "is valid from"),
    ],
)
def test_a_signature_that_does_not_count_is_none(here, trust, signer, at, words):
    sign(here, signer, at)
    assert_refused(decided(here, trust), words)
    # Beside it, one that counts is enough: whoever may write into the folder cannot keep the gate shut.
    if signer is not APPROVER:
        sign(here)
        assert decided(here, trust).allowed


def test_a_revoked_key_signed_nothing_also_under_a_running_gate(here, trust):
    sign(here)
    with here.open(trust=trust) as gate:
        assert gate.decide(call()).allowed
        revoked = dataclasses.replace(trusted(APPROVER, "approver"), revoked_at=NOW)
        trust.write_text(TRUST.with_key(revoked).to_text())
        assert_refused(gate.decide(call()), "was revoked")
        trust.unlink()
        assert_refused(gate.decide(call()), "cannot be read")
    trust.write_text(TRUST.with_key(revoked).to_text())
    assert_refused(decided(here, trust), "was revoked")


def test_the_signature_of_another_policy_is_none_of_this_one(here, trust):
    file = sign(here)
    here.write(POLICY.replace("tau_u: 0.05", "tau_u: -1"))
    name = sign(here).name
    here.policy.with_name(name).write_bytes(file.read_bytes())
    assert_refused(decided(here, trust), "the signature of another policy")
    document = json.loads(file.read_bytes())
    document["policy"] = digest_of(here)
    here.policy.with_name(name).write_text(json.dumps(document, sort_keys=True, separators=(",", ":")))
    assert_refused(decided(here, trust), "did not sign this as a policy")


@pytest.mark.parametrize("data", [b"", b"{}", b"[]", b'{"a": 1}', b"\xff"])
def test_a_damaged_signature_is_none(here, trust, data):
    sign(here).write_bytes(data)
    assert_refused(decided(here, trust), "gate.yaml.signed.")
    assert decided(here, None).allowed


def test_every_changed_byte_of_a_signature_file_is_caught(here, trust):
    file = sign(here)
    data = file.read_bytes()
    for at in range(0, len(data), 7):
        file.write_bytes(data[:at] + bytes([data[at] ^ 1]) + data[at + 1 :])
        assert decided(here, trust).reason == "policy_not_signed", at


def test_a_signature_is_never_overwritten(here):
    sign(here)
    with pytest.raises(InputError, match="there already"):
        sign(here, at=NOW)


def test_what_changes_beside_a_running_gate_counts_when_it_is_opened_again(here, trust):
    with here.open(trust=trust) as gate:
        sign(here)
        assert_refused(gate.decide(call()), "nobody signed")
    with here.open(trust=trust) as gate:
        here.write(POLICY.replace("tau_u: 0.05", "tau_u: 0.9"))
        assert gate.decide(call()).allowed
    assert_refused(decided(here, trust), "nobody signed")


def test_an_approver_who_came_later_takes_the_gate_to_be_opened_again(here, trust):
    sign(here, STRANGER)
    with here.open(trust=trust) as gate:
        trust.write_text(TRUST.with_key(trusted(STRANGER, "approver")).to_text())
        assert_refused(gate.decide(call()), "open the gate again")


def test_an_unsigned_policy_runs_no_code_of_its_own(here, trust, monkeypatch):
    (here.path / "planted.py").write_text("def f(**arguments):\n    return 'gold'\n")
    monkeypatch.syspath_prepend(str(here.path))
    here.write(POLICY.replace("{argument: tier}", "{callable: 'planted:f'}"))
    assert decided(here, trust).reason == "policy_not_signed"
    assert "planted" not in sys.modules
    sign(here)
    assert decided(here, trust).allowed
    sys.modules.pop("planted")


def test_the_environment_names_the_operators_file_and_a_wrong_one_opens_nothing(here, trust, monkeypatch):
    monkeypatch.setenv("BUTFOR_TRUST", str(trust))
    assert decided(here, None).reason == "policy_not_signed"
    monkeypatch.setenv("BUTFOR_TRUST", str(trust.parent / "nothing.json"))
    with pytest.raises(NotFound, match="trust file"):
        here.open()
    monkeypatch.setenv("BUTFOR_TRUST", " ")
    with pytest.raises(InputError, match="BUTFOR_TRUST is empty"):
        here.open()
    monkeypatch.setenv("BUTFOR_TRUST", str(here.policy))
    with pytest.raises(InputError):
        here.open()


def test_a_bypass_of_the_operators_approver_still_lets_one_call_run(here, trust):
    asked = call("bronze")
    terms = Terms(
        kind="bypass",
        call=asked.digest,
        tool=asked.tool,
        reason="an emergency",
        uses=1,
        valid_from=NOW - timedelta(minutes=1),
        valid_until=NOW + timedelta(minutes=1),
    )
    with here.open(trust=trust) as gate:
        grant(gate.ledger, Permit.sign(terms, APPROVER), gate.material.trust())
        ruling = gate.decide(asked)
        assert (ruling.reason, ruling.allowed, ruling.bypass) == ("policy_not_signed", True, terms.digest)
        assert not gate.decide(asked).allowed


def test_a_refusal_for_the_signature_is_derived_again(here, trust):
    ruling = decided(here, trust)
    report = verify(ruling.certificate, Given(trust=TRUST))
    assert report.ok, report.to_json()


def test_a_signed_policy_may_only_observe_and_an_unsigned_one_may_not(here, trust):
    def clock():
        raise OSError("no clock")

    here.write(f"mode: observe\n{POLICY}")
    with here.open(trust=trust) as gate:
        assert not gate.decide(call(id=2**60)).allowed
        gate.now = clock
        assert not gate.decide(call()).allowed
    sign(here)
    for asked in (call("bronze"), call(id=2**60), call("iron")):
        with here.open(trust=trust) as gate:
            ruling = gate.decide(asked)
            assert (ruling.allowed, ruling.mode, ruling.verdict == "EXECUTE") == (True, "observe", False)


# ---- verify ----


def resigned(ruling, *signatures):
    body = dict(unseal(ruling.certificate).body)
    policy = {name: value for name, value in body["policy"].items() if name != "signatures"}
    more = {"signatures": [each.to_json() for each in signatures]} if signatures else {}
    return seal({**body, "policy": {**policy, **more}}, GATE)


def policy_check(data, *, trust=TRUST, **given):
    report = verify(data, Given(trust=trust, **given))
    return next(each for each in report.checks if each.name == "policy")


@pytest.mark.parametrize(
    ("signer", "at", "digest", "words"),
    [
        (STRANGER, BEFORE, None, "not in the trust file"),
        (GATE, BEFORE, None, "has the role gate"),
        (APPROVER, NOW + timedelta(seconds=1), None, "it was signed at"),
        (APPROVER, BEFORE, f"sha256:{'0' * 64}", "did not sign this"),
    ],
)
def test_verify_fails_where_no_signature_counts(here, trust, signer, at, digest, words):
    sign(here)
    ruling = decided(here, trust)
    made = PolicySignature.of(digest or digest_of(here), signer=signer, at=at)
    check = policy_check(resigned(ruling, made))
    assert (check.status, check.fields) == ("failed", ("$.policy.signatures",))
    assert words in check.sentence
    good = PolicySignature.of(digest_of(here), signer=APPROVER, at=BEFORE)
    check = policy_check(resigned(ruling, made, good))
    assert check.status != "failed"
    assert "signed by approver" in check.sentence


def test_verify_fails_after_the_approvers_key_was_revoked(here, trust):
    sign(here)
    ruling = decided(here, trust)
    revoked = dataclasses.replace(trusted(APPROVER, "approver"), revoked_at=NOW + timedelta(days=9))
    check = policy_check(ruling.certificate, trust=TRUST.with_key(revoked))
    assert check.status == "failed"
    assert "revoked" in check.sentence


def test_a_policy_that_nobody_signed_is_shown_and_fails_where_it_is_demanded(here):
    ruling = decided(here, None)
    assert "signatures" not in unseal(ruling.certificate).body["policy"]
    check = policy_check(ruling.certificate)
    assert (check.status, "nobody signed it" in check.sentence) == ("not recomputed", True)
    assert policy_check(ruling.certificate, demand_signed_policy=True).status == "failed"
    sign(here)
    signed = decided(here, None, now=NOW)
    assert policy_check(signed.certificate, demand_signed_policy=True).status == "not recomputed"


def test_every_changed_byte_of_the_signatures_in_a_certificate_is_caught(here, trust):
    sign(here)
    data = decided(here, trust).certificate
    start = data.index(b'"signatures":[')
    end = data.index(b"]", start)
    for at in range(start, end, 3):
        changed = data[:at] + bytes([data[at] ^ 1]) + data[at + 1 :]
        assert not verify(changed, Given(trust=TRUST)).ok, at


def test_two_tools_that_ask_the_same_have_certificates_of_their_own(tmp_path):
    entry = POLICY.partition("tools:\n")[2].replace("restart_service:", "reboot_service:")
    text = f"preset: paper\n{POLICY}{entry}".replace("tau_r: 0.6", "tau_r: 0.9")
    with place(tmp_path, policy=text).open() as gate:
        asked = call()
        names = [
            unseal(gate.decide(dataclasses.replace(asked, tool=tool)).certificate).body["policy"]["name"]
            for tool in ("restart_service", "reboot_service")
        ]
    assert names == ["restart_service", "reboot_service"]


# ---- lint ----


def test_lint_says_who_signed(here, trust):
    def said(**more):
        found = lint(here.policy.read_text(), here.path, now=NOW, **more)
        return [(each.severity, each.sentence) for each in found if "sign" in each.sentence]

    assert said() == []
    ((severity, words),) = said(trust=trust)
    assert (severity, "nobody signed this policy" in words, "butfor gate sign" in words) == ("mistake", True, True)
    sign(here, STRANGER)
    assert [severity for severity, _ in said()] == ["note"]
    assert [severity for severity, _ in said(trust=trust)] == ["mistake"]
    sign(here)
    assert said(trust=trust) == [("note", f"this policy is signed by approver ({APPROVER.key_id})")]
    assert said() == said(trust=trust)


def test_another_files_signatures_are_not_read(here):
    sign(here)
    other = here.path / "gate.yaml.signed"
    other.write_text(POLICY)
    assert read_signatures(other, digest_of(here)).found == ()
    assert len(read_signatures(here.policy, digest_of(here)).found) == 1
