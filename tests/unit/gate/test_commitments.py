"""Versions of a graph: chained, approved, expiring; and the signed statement that removing T <-> Y takes."""

from datetime import UTC, datetime, timedelta

import pytest

from butfor.errors import CorruptRecord, InputError, NotFound
from butfor.gate.commitments.directory import Commitment, NotCommitted, Statement, approve, commit, committed, history
from butfor.gate.signing.strict_json import canonical_bytes, parse_canonical
from butfor.gate.signing.trust import TrustFile
from butfor.graphs import Graph
from tests.unit.gate.keys import APPROVER, END, GATE, NOW, STRANGER, TRUST, entry

GRAPH = Graph.of(nodes={"T": "treatment", "Y": "outcome", "Z": "state"}, directed=[("Z", "T"), ("Z", "Y"), ("T", "Y")])
CONFOUNDED = Graph.of(nodes={"T": "treatment", "Y": "outcome"}, directed=[("T", "Y")], bidirected=[("T", "Y")])
LATER = datetime(2027, 1, 1, tzinfo=UTC)


def write(folder, graph=GRAPH, name="restart", **changes):
    options = {"author": "ada", "reason": "as drawn in the review", "at": NOW, "expires_at": LATER, **changes}
    return commit(folder, name, graph, **options)


def used(folder, at=NOW, trust=TRUST, name="restart"):
    found = committed(folder, name, at=at, trust=trust)
    return found.version if isinstance(found, Commitment) else found.reason


def test_a_graph_is_used_once_a_trusted_approver_signed_it(tmp_path):
    assert used(tmp_path) == "uncommitted"
    write(tmp_path)
    assert used(tmp_path) == "unapproved"
    made = approve(tmp_path, "restart", signer=APPROVER, at=NOW)
    assert used(tmp_path) == 1
    assert [each.signature.key for each in made.approvals] == [APPROVER.key_id]
    assert made.graph == GRAPH


@pytest.mark.parametrize("signer", [STRANGER, GATE])
def test_the_signature_of_a_stranger_or_of_a_gate_is_no_approval(tmp_path, signer):
    write(tmp_path)
    approve(tmp_path, "restart", signer=signer, at=NOW)
    found = committed(tmp_path, "restart", at=NOW, trust=TRUST)
    assert isinstance(found, NotCommitted)
    assert signer.key_id in found.sentence
    approve(tmp_path, "restart", signer=APPROVER, at=NOW)
    assert used(tmp_path) == 1


def test_an_approval_by_a_key_that_was_revoked_or_had_ended_does_not_count(tmp_path):
    write(tmp_path, expires_at=LATER + timedelta(days=99))
    approve(tmp_path, "restart", signer=APPROVER, at=END)
    assert used(tmp_path, at=END) == "unapproved"
    revoked = TrustFile.of([entry(APPROVER, "approver", valid_until=None, revoked_at=END)])
    assert used(tmp_path, at=END, trust=revoked) == "unapproved"
    assert used(tmp_path, at=END, trust=TrustFile.of([entry(APPROVER, "approver", valid_until=None)])) == 1


def test_an_approval_counts_from_its_time_on(tmp_path):
    write(tmp_path, at=NOW - timedelta(days=2))
    approve(tmp_path, "restart", signer=APPROVER, at=NOW)
    assert used(tmp_path, at=NOW - timedelta(seconds=1)) == "unapproved"
    assert used(tmp_path, at=NOW) == 1


def test_a_change_is_a_new_version_and_a_draft_changes_nothing(tmp_path):
    first = write(tmp_path)
    approve(tmp_path, "restart", signer=APPROVER, at=NOW)
    second = write(tmp_path, CONFOUNDED)
    assert second.previous == first.digest
    assert used(tmp_path) == 1
    approve(tmp_path, "restart", signer=APPROVER, at=NOW)
    assert used(tmp_path) == 2
    assert [each.graph for each in history(tmp_path, "restart")] == [GRAPH, CONFOUNDED]


def test_an_expired_version_is_not_replaced_by_an_older_one(tmp_path):
    write(tmp_path)
    approve(tmp_path, "restart", signer=APPROVER, at=NOW)
    write(tmp_path, CONFOUNDED, expires_at=NOW + timedelta(days=1))
    approve(tmp_path, "restart", signer=APPROVER, at=NOW)
    assert used(tmp_path, at=NOW + timedelta(hours=23)) == 2
    assert used(tmp_path, at=NOW + timedelta(days=1)) == "expired"


def test_an_approval_is_of_one_version_only(tmp_path):
    write(tmp_path)
    approve(tmp_path, "restart", signer=APPROVER, at=NOW)
    write(tmp_path, CONFOUNDED)
    (source,) = (tmp_path / "restart").glob("0001.approval.*")
    source.rename(source.with_name(source.name.replace("0001", "0002")))
    assert used(tmp_path) == "unapproved"


@pytest.mark.parametrize("change", ["flip", "delete", "swap", "pretty", "unlink"])
def test_a_damaged_chain_is_used_by_no_gate(tmp_path, change):
    write(tmp_path)
    write(tmp_path, CONFOUNDED)
    write(tmp_path)
    approve(tmp_path, "restart", signer=APPROVER, at=NOW)
    assert used(tmp_path) == 3
    one, two = (tmp_path / "restart" / f"000{n}.json" for n in (1, 2))
    if change == "flip":
        document = parse_canonical(one.read_bytes())
        document["commitment"]["reason"] = "another"
        one.write_bytes(canonical_bytes(document))
    elif change == "delete":
        two.unlink()
    elif change == "swap":
        one.write_bytes(two.read_bytes())
    elif change == "pretty":
        one.write_bytes(one.read_bytes() + b"\n")
    else:
        one.unlink()
    assert used(tmp_path) == "broken_chain"
    with pytest.raises(CorruptRecord):
        history(tmp_path, "restart")


def test_another_graph_under_a_signed_commitment_is_refused(tmp_path):
    write(tmp_path)
    approve(tmp_path, "restart", signer=APPROVER, at=NOW)
    path = tmp_path / "restart" / "0001.json"
    document = parse_canonical(path.read_bytes())
    path.write_bytes(canonical_bytes({**document, "graph": CONFOUNDED.to_json()}))
    found = committed(tmp_path, "restart", at=NOW, trust=TRUST)
    assert isinstance(found, NotCommitted)
    assert "another graph" in found.sentence


def test_nothing_is_overwritten_and_no_draft_is_left(tmp_path):
    write(tmp_path)
    approve(tmp_path, "restart", signer=APPROVER, at=NOW)
    with pytest.raises(InputError, match="already"):
        approve(tmp_path, "restart", signer=APPROVER, at=NOW)
    assert not list((tmp_path / "restart").glob(".*"))


def test_evidence_from_agents_own_runs_takes_the_edge_or_a_statement(tmp_path):
    with pytest.raises(InputError, match="T <-> Y"):
        write(tmp_path, evidence="policy-confounded")
    for kind in ("observational", "randomised", None):
        write(tmp_path, evidence=kind)
    kept = write(tmp_path, CONFOUNDED, evidence="policy-confounded")
    said = Statement(treatment="T", outcome="Y", reason="the agent sees only Z, which is measured")
    stated = write(tmp_path, evidence="policy-confounded", statements=[said])
    plain = history(tmp_path, "restart")[0]
    assert kept.admits("policy-confounded", treatment="T", outcome="Y") is None
    assert stated.admits("policy-confounded", treatment="T", outcome="Y") is None
    assert plain.admits("observational", treatment="T", outcome="Y") is None
    refused = plain.admits("policy-confounded", treatment="T", outcome="Y")
    assert refused is not None
    assert refused.reason == "confounded"
    # The statement is part of what is signed.
    assert stated.digest != Commitment(**{**vars(stated), "statements": ()}).digest


@pytest.mark.parametrize(
    ("changes", "word"),
    [
        ({"author": " "}, "author"),
        ({"reason": ""}, "reason"),
        ({"expires_at": NOW}, "expired"),
        ({"name": "../x"}, "name"),
        ({"name": ""}, "name"),
        ({"graph": Graph.of(directed=[("A", "B")]), "evidence": "policy-confounded"}, "roles"),
    ],
)
def test_what_cannot_be_committed_is_refused(tmp_path, changes, word):
    with pytest.raises(InputError, match=word):
        write(tmp_path, **changes)
    assert list(tmp_path.iterdir()) == []


def test_a_statement_without_a_reason_is_none():
    with pytest.raises(InputError, match="T <-> Y"):
        Statement(treatment="T", outcome="Y", reason=" ")


def test_only_what_is_there_and_not_expired_can_be_approved(tmp_path):
    with pytest.raises(NotFound):
        approve(tmp_path, "restart", signer=APPROVER, at=NOW)
    write(tmp_path)
    with pytest.raises(NotFound):
        approve(tmp_path, "restart", signer=APPROVER, at=NOW, version=2)
    with pytest.raises(InputError, match="expired"):
        approve(tmp_path, "restart", signer=APPROVER, at=LATER)


def test_a_certificate_carries_a_commitment_without_its_graph():
    made = Commitment(
        name="g",
        version=1,
        graph=GRAPH,
        previous=None,
        author="ada",
        reason="why",
        at="2026-06-01T00:00:00Z",
        expires_at="2027-01-01T00:00:00Z",
    )
    assert Commitment.from_json(made.to_json(), GRAPH) == made
    for field, value in {"version": 0, "at": "now", "author": "", "graph": CONFOUNDED.digest, "statements": 3}.items():
        document = made.to_json()
        document["commitment"][field] = value
        with pytest.raises(CorruptRecord):
            Commitment.from_json(document, GRAPH)
