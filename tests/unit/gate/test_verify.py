"""What `verify` finds in certificates that are right, and in certificates that are not."""

import dataclasses
import json
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from butfor.canonical import digest_text
from butfor.estimation.columns import Columns
from butfor.gate.certificate.envelope import seal
from butfor.gate.certificate.schema_check import mismatches
from butfor.gate.certificate.schemas import SCHEMAS
from butfor.gate.commitments.commitment import Statement
from butfor.gate.commitments.directory import commit
from butfor.gate.signing.strict_json import canonical_bytes, parse_strict
from butfor.gate.signing.trust import TrustFile
from butfor.gate.verify import WORDS, Given, verify
from tests.unit.gate.certificates import CASES, CONFOUNDED, PLAIN, TRIAL, commitment, make, make_refused
from tests.unit.gate.keys import APPROVER, END, GATE, NOW, STRANGER, TRUST, entry


def statuses(report):
    return {check.name: check.status for check in report.checks}


def failures(report):
    return {check.name: check for check in report.checks if check.status == "failed"}


def given(made, **changes):
    return dataclasses.replace(Given(trust=TRUST, rows=made.rows, call=made.call), **changes)


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    return tmp_path_factory.mktemp("policy")


@pytest.mark.parametrize("verdict", CASES)
def test_a_right_certificate_is_derived_again_from_its_rows(verdict, place):
    made = make(place=place, **CASES[verdict])
    assert made.body["decision"]["verdict"] == verdict
    report = verify(made.data, given(made))
    found = statuses(report)
    assert (found.pop("ledger"), found.pop("policy")) == ("not recomputed", "not recomputed")
    assert set(found.values()) == {"ok"}, report.to_json()
    assert report.level == "rows"
    assert list(statuses(report)) == list(WORDS)


@pytest.mark.parametrize(
    "options",
    [
        {"entry": {"evidence": {"file": "log.csv", "kind": "randomised"}}},
        {"graph": CONFOUNDED, "entry": {"bound_on": "level", "tau_u": 0.1}},
        {"effect": 0.001, "entry": {"experiment": TRIAL}},
        {"trial": True, "graph": CONFOUNDED},
        {"entry": {"cost": 0.9}},
        {"entry": {"max_evidence_age": 3600.0}},
        {"entry": {"risk": {"tau_r": 0.0, "harm_line": 0.5}}},
        {"entry": {"robustness": {"hidden_cause": 0.99}}},
        {"entry": {"outcome": {"name": "Y", "range": [0.0, 1.0], "better": "less"}}, "effect": -0.15},
    ],
)
def test_certificates_of_many_reasons_are_derived_again(options, place):
    made = make(place=place, **options)
    report = verify(made.data, given(made))
    assert failures(report) == {}, (made.body["decision"], report.to_json())
    assert statuses(report)["verdict"] == "ok"


def test_statistics_are_derived_again_from_the_certificate_alone(place):
    made = make(place=place, level="statistics")
    report = verify(made.data, given(made, rows=None))
    assert (report.level, statuses(report)["estimate"], statuses(report)["verdict"]) == ("statistics", "ok", "ok")
    assert failures(report) == {}


def test_statistics_of_a_continuous_outcome_can_be_sealed_and_derived_again(place):
    # Sums of squares then exceed what a double keeps exactly.
    made = make(place=place, level="fine statistics")
    report = verify(made.data, given(made, rows=None))
    assert (report.level, failures(report)) == ("statistics", {})
    assert statuses(report)["estimate"] == "ok"


def test_statistics_can_be_held_against_the_rows_that_they_are_of(place):
    made = make(place=place, level="fine statistics")
    report = verify(made.data, given(made))
    assert (report.level, failures(report)) == ("rows", {})
    coarse = make(place=place, level="statistics")
    report = verify(coarse.data, given(coarse))
    assert (report.level, set(failures(report))) == ("attested", {"evidence"})


def test_without_the_evidence_the_numbers_are_attested_and_the_report_says_so(place):
    made = make(place=place)
    report = verify(made.data, given(made, rows=None))
    assert report.level == "attested"
    assert failures(report) == {}
    assert {statuses(report)[name] for name in ("evidence", "estimate", "verdict")} == {"not recomputed"}


def test_a_refusal_without_evidence_has_nothing_to_derive(place):
    made = make_refused(place)
    report = verify(made.data, given(made, call=None))
    assert (report.level, failures(report), statuses(report)["verdict"]) == ("nothing", {}, "ok")


# ---- the file was changed by somebody without the gate's key ----


@pytest.mark.parametrize("verdict", CASES)
def test_every_part_of_the_body_that_is_changed_is_named(verdict, place):
    made = make(place=place, **CASES[verdict])
    for field, value in made.body.items():
        document = parse_strict(made.data)
        document["body"][field] = "x" if value is None else _changed(value)
        report = verify(canonical_bytes(document), given(made))
        named = failures(report)["fields"].fields
        assert any(each.startswith(f"$.{field}") for each in named), (field, named)
        again = verify(canonical_bytes(document), given(made, original=made.data))
        assert any(each.startswith(f"$.{field}") for each in failures(again)["fields"].fields)


def _changed(value):
    if isinstance(value, dict):
        name = next(iter(value))
        return {**value, name: "other"}
    return [] if isinstance(value, list) else "other"


def test_a_changed_number_is_named_with_both_values_where_the_original_is_at_hand(place):
    made = make(place=place)
    document = parse_strict(made.data)
    lower = document["body"]["estimate"]["lower"]
    document["body"]["estimate"]["lower"] = lower + 0.5
    report = verify(canonical_bytes(document), given(made, original=made.data))
    check = failures(report)["fields"]
    assert check.fields == ("$.estimate.lower",)
    assert repr(lower) in check.sentence
    assert repr(lower + 0.5) in check.sentence
    assert failures(report)["estimate"].fields == ("$.estimate.lower",)


def quick(data, made):
    return verify(data, given(made, rows=None))


@pytest.mark.parametrize("verdict", CASES)
def test_bytes_flipped_here_and_there_are_caught(verdict, place):
    made = make(place=place, **CASES[verdict])
    for at in range(0, len(made.data), 97):
        assert not quick(_flipped(made.data, at, 1), made).ok, at


@pytest.mark.slow
@pytest.mark.parametrize("verdict", CASES)
def test_every_single_byte_flipped_is_caught(verdict, place):
    made = make(place=place, **CASES[verdict])
    for at in range(len(made.data)):
        changed = _flipped(made.data, at, 1 << at % 8)
        report = quick(changed, made)
        assert not report.ok, at
        _names_what_was_changed(made.data, changed, report)


def _flipped(data, at, bit):
    return data[:at] + bytes([data[at] ^ bit]) + data[at + 1 :]


def _names_what_was_changed(data, changed, report):
    """Where the file still has its form, the field of the body that was changed is named."""
    found = failures(report)
    if "bytes" in found or "form" in found:
        return
    one, other = json.loads(data), json.loads(changed)
    fields = [name for name in {*one["body"], *other["body"]} if one["body"].get(name) != other["body"].get(name)]
    for name in fields:
        assert any(path.startswith(f"$.{name}") for path in found["fields"].fields), (name, found)
    if not fields:
        assert "signature" in found or "fields" in found


@pytest.mark.parametrize("change", [b"\n", b" ", b"\x00"])
def test_bytes_added_at_the_end_are_caught(place, change):
    made = make(place=place)
    assert "bytes" in failures(verify(made.data + change, given(made)))
    assert "bytes" in failures(verify(made.data[:-1], given(made)))
    assert "bytes" in failures(verify(b"", given(made)))


def test_a_file_in_another_layout_is_not_canonical_and_everything_else_is_still_looked_at(place):
    made = make(place=place)
    pretty = json.dumps(parse_strict(made.data), indent=2).encode()
    report = verify(pretty, given(made))
    assert set(failures(report)) == {"bytes"}
    assert statuses(report)["estimate"] == "ok"


# ---- whose key it is ----


def trust_of(signer, role="gate", **changes):
    return TrustFile.of([entry(signer, role, **changes), entry(APPROVER, "approver")])


@pytest.mark.parametrize(
    ("trust", "words"),
    [
        (None, "no trust file"),
        (TrustFile.of([entry(APPROVER, "approver")]), "not in the trust file"),
        (trust_of(STRANGER), "not in the trust file"),
        (trust_of(GATE, "approver"), "has the role approver"),
        (trust_of(GATE, revoked_at=NOW + timedelta(days=30)), "was revoked"),
        (trust_of(GATE, valid_until=NOW), "expired"),
        (trust_of(GATE, valid_from=NOW + timedelta(seconds=1)), "not yet valid"),
    ],
)
def test_a_signer_who_does_not_count_is_a_named_failure(trust, words, place):
    made = make(place=place)
    report = verify(made.data, given(made, trust=trust))
    assert words in failures(report)["signature"].sentence
    assert not report.ok


def test_a_key_that_a_certificate_brings_along_is_not_looked_at(place):
    made = make(place=place, signer=STRANGER)
    document = parse_strict(made.data)
    document["keys"] = json.loads(trust_of(STRANGER).to_text())["keys"]
    assert "form" in failures(verify(canonical_bytes(document), given(made)))
    document = parse_strict(made.data)
    document["body"]["keys"] = json.loads(trust_of(STRANGER).to_text())["keys"]
    inside = seal(document["body"], STRANGER)
    assert {"schema", "signature"} <= set(failures(verify(inside, given(made))))


# ---- the gate's own key signed what does not follow ----


def forged(made, change):
    body = parse_strict(canonical_bytes(made.body))
    change(body)
    return seal(body, GATE)


def _set(path, value):
    def change(body):
        *outer, last = path.split(".")
        for name in outer:
            body = body[name]
        body[last] = value

    return change


@pytest.mark.parametrize(
    ("path", "value", "check"),
    [
        ("estimate.lower", 0.5, "estimate"),
        ("estimate.upper", 0.9, "estimate"),
        ("estimate.contrast.point", 0.2, "estimate"),
        ("estimate.tau_u", -1, "estimate"),
        ("risk.bound", 0.001, "estimate"),
        ("risk.cost", 0.01, "estimate"),
        ("robustness.strength.robustness", 0.99, "estimate"),
        ("says", ["it is safe"], "estimate"),
        ("assumptions", [], "estimate"),
        ("provenance.kind", "randomised", "evidence"),
        ("provenance.lineage", "other.csv", "evidence"),
        ("budget.alpha", 0.04, "estimate"),
        ("budget.alpha", 0.04, "budget"),
        ("budget.place", 2, "budget"),
        ("budget.share", "ops", "budget"),
        ("budget.questions", 1, "budget"),
        ("budget", None, "budget"),
        ("action.outcome", "revenue", "estimate"),
        ("policy.entry.tau_u", 0.3, "estimate"),
        ("decision.verdict", "REJECT", "verdict"),
        ("decision.reason", "insufficient_evidence", "verdict"),
        ("decision.missing", ["something"], "verdict"),
        ("decision.evidence_age", 60, "evidence"),
        ("provenance.evidence", digest_text("other rows"), "evidence"),
        ("graph.digest", digest_text("other graph"), "graph"),
        ("graph.document.bidirected", [["T", "Y"]], "graph"),
        ("graph.commitment.commitment.author", "eve", "commitment"),
        ("graph.commitment.commitment.expires_at", "2027-01-01T00:00:00Z", "commitment"),
        ("graph.commitment.approvals", [], "commitment"),
        ("graph.commitment", None, "commitment"),
        ("proof.adjust_for", [], "proof"),
        ("graph.query.outcomes", ["Z"], "proof"),
        ("action.call", digest_text("another call"), "call"),
        ("action.tool", "delete", "call"),
        ("action.to", 0, "call"),
        ("action.stratum", {"Z": 1}, "call"),
        ("graph", None, "estimate"),
        ("estimate", None, "estimate"),
    ],
)
def test_what_the_gates_own_key_signed_is_derived_again_all_the_same(path, value, check, place):
    made = make(place=place)
    report = verify(forged(made, _set(path, value)), given(made))
    found = failures(report)
    assert check in found, report.to_json()
    assert "signature" not in found


def test_a_verdict_that_its_own_numbers_contradict_fails_without_any_evidence(place):
    made = make(place=place)
    for path, value in (("estimate.lower", 0.0), ("estimate.lower", 1e-13), ("risk.bound", 0.99), ("risk.bound", None)):
        report = verify(forged(made, _set(path, value)), given(made, rows=None))
        assert "verdict" in failures(report), path
    report = verify(forged(made, _set("decision.reason", "shown_harmful")), given(made, rows=None))
    assert "verdict" in failures(report)


def test_a_refusal_cannot_be_turned_into_execute(place):
    made = make_refused(place)
    report = verify(forged(made, _set("decision.verdict", "EXECUTE")), given(made))
    assert "verdict" in failures(report)


def test_a_refusal_without_evidence_has_no_numbers(place):
    made = make_refused(place)
    for path, value in (("estimate", {}), ("risk", make(place=place).body["risk"]), ("proof", {"kind": "none"})):
        report = verify(forged(made, _set(path, value)), given(made, call=None))
        assert {"estimate", "schema"} & set(failures(report)), path


def test_changed_statistics_have_another_digest(place):
    made = make(place=place, level="statistics")
    body = parse_strict(canonical_bytes(made.body))
    body["provenance"]["statistics"]["n"][0][0] += 1
    report = verify(seal(body, GATE), given(made, rows=None))
    assert "evidence" in failures(report)


def test_other_rows_are_not_the_evidence(place):
    made = make(place=place)
    other = Columns.of({**made.rows.table, "Y": 1 - made.rows.y}, treatment="T", outcome="Y", covariates=["Z"])
    report = verify(made.data, given(made, rows=other))
    assert "evidence" in failures(report)
    assert report.level == "attested"


def test_another_call_is_not_the_one_that_was_decided_about(place):
    made = make(place=place)
    for call in (made.call.replace(b"api", b"db"), b"not json", made.call.replace(b"restart", b"delete")):
        assert "call" in failures(verify(made.data, given(made, call=call)))


# ---- who committed the graph ----


@pytest.mark.parametrize(
    ("committed", "words"),
    [
        (commitment(PLAIN, approved=False), "approved by nobody"),
        (dataclasses.replace(commitment(PLAIN), expires_at="2026-05-31T23:59:59Z"), "did not sign"),
        (commitment(CONFOUNDED), "another graph"),
    ],
)
def test_a_graph_that_nobody_stands_for_is_named(committed, words, place):
    made = make(place=place, committed=committed)
    assert words in failures(verify(made.data, given(made)))["commitment"].sentence


def test_a_graph_that_had_expired_when_the_decision_was_made_is_named(place):
    made = make(place=place)
    late = forged(made, _set("decision.at", "2026-12-02T00:00:00Z"))
    trust = TrustFile.of([entry(GATE, "gate", valid_until=None), entry(APPROVER, "approver")])
    report = verify(late, given(made, trust=trust))
    assert "expired" in failures(report)["commitment"].sentence


def test_an_approval_that_is_younger_than_the_decision_does_not_count(place):
    made = make(place=place)
    early = forged(made, _set("decision.at", "2026-05-31T22:59:59Z"))
    assert "not approved before" in failures(verify(early, given(made)))["commitment"].sentence


def test_agents_own_runs_take_the_edge_or_a_signed_reason(place):
    own: dict[str, Any] = {"entry": {"evidence": {"file": "log.csv", "kind": "policy-confounded"}}}
    made = make(place=place, **own)
    assert "neither T <-> Y nor" in failures(verify(made.data, given(made)))["commitment"].sentence
    said = (Statement(treatment="T", outcome="Y", reason="the agent sees Z only"),)
    stated = make(place=place, committed=commitment(PLAIN, statements=said), **own)
    assert failures(verify(stated.data, given(stated))) == {}


# ---- the published schemas ----


@pytest.mark.parametrize("verdict", CASES)
def test_real_certificates_are_as_the_published_schema_says(verdict, place):
    made = make(place=place, **CASES[verdict])
    assert mismatches(parse_strict(made.data), SCHEMAS["certificate"]) == []
    assert mismatches(parse_strict(make_refused(place).data), SCHEMAS["certificate"]) == []


def test_the_trust_file_is_as_its_published_schema_says():
    trust = TrustFile.of([entry(GATE, "gate", revoked_at=END), entry(APPROVER, "approver", valid_until=None)])
    document = json.loads(trust.to_text())
    assert mismatches(document, SCHEMAS["trust"]) == []
    document["keys"][0]["role"] = "king"
    assert [path for path, _ in mismatches(document, SCHEMAS["trust"])] == ["$.keys[0].role"]


@pytest.mark.parametrize("name", SCHEMAS)
def test_the_published_files_are_what_verify_holds_certificates_against(name):
    published = Path(__file__).parents[3] / "schemas" / f"{name}.schema.json"
    assert json.loads(published.read_text(encoding="utf-8")) == SCHEMAS[name], "`make docs` writes it again"


def test_a_commitment_file_is_as_its_published_schema_says(tmp_path):
    at, until = NOW - timedelta(days=1), END
    commit(tmp_path, "g", CONFOUNDED, author="ada", reason="why", at=at, expires_at=until)
    document = parse_strict((tmp_path / "g" / "0001.json").read_bytes())
    assert mismatches(document, SCHEMAS["commitment"]) == []
    document["commitment"]["version"] = 0
    assert [path for path, _ in mismatches(document, SCHEMAS["commitment"])] == ["$.commitment.version"]
