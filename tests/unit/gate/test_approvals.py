"""Permits: one exact call, for a while, so many times, by a key that counts now."""

import dataclasses
from datetime import UTC, datetime, timedelta

import pytest

from butfor.errors import CorruptRecord, InputError, NotRecordable
from butfor.gate.action import Action
from butfor.gate.approvals import NotPermitted, Permit, Terms, Used, grant, lasting, use
from butfor.gate.ledger.chain import Entry, Ledger
from butfor.gate.signing.signatures import Signer
from butfor.gate.signing.trust import TrustedKey, TrustFile
from butfor.store import MemoryStore, Store

NOON = datetime(2026, 11, 30, 12, tzinfo=UTC)
HOUR = timedelta(hours=1)
ADA, GATE = Signer(bytes(range(32))), Signer(bytes(32))


def key(signer: Signer, role, **changes) -> TrustedKey:
    return TrustedKey(
        id=signer.key_id, name=role, public=signer.public, role=role, valid_from=NOON - 24 * HOUR, **changes
    )


TRUST = TrustFile.of([key(ADA, "approver"), key(GATE, "gate")])
CALL = Action(tool="restart", arguments={"node": 7}).digest


class Clock:
    def __init__(self) -> None:
        self.now = NOON

    def __call__(self) -> datetime:
        return self.now


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture(params=["disk", "memory"])
def ledger(request, tmp_path, clock):
    with Store.open(tmp_path) if request.param == "disk" else MemoryStore() as store:
        yield Ledger(store.ledger(), clock=clock)


def terms(**changes) -> Terms:
    begins, ends = lasting(NOON, 3600)
    plain = Terms(
        kind="approval",
        call=CALL,
        tool="restart",
        reason="the disk is full",
        uses=1,
        valid_from=begins,
        valid_until=ends,
    )
    return dataclasses.replace(plain, **changes)


def allow(ledger, signer=ADA, **changes):
    return grant(ledger, Permit.sign(terms(**changes), signer), TRUST)


def reason(ledger, call=CALL, kind="approval", trust=TRUST) -> str:
    found = use(ledger, kind, call, agent="a", trust=trust)
    return found.reason if isinstance(found, NotPermitted) else "used"


@pytest.mark.parametrize("kind", ["approval", "bypass"])
def test_a_call_may_run_as_often_as_was_allowed(ledger, kind):
    assert isinstance(allow(ledger, kind=kind, uses=2), Entry)
    first, second = (use(ledger, kind, CALL, agent="a", trust=TRUST) for _ in range(2))
    assert isinstance(first, Used)
    assert isinstance(second, Used)
    assert (first.use, second.use) == (1, 2)
    assert reason(ledger, kind=kind) == "used_up"
    assert [each.payload["event"] for each in ledger.entries()] == ["granted", "used", "used"]


def test_an_approval_is_no_bypass(ledger):
    allow(ledger)
    assert reason(ledger, kind="bypass") == "none"


def test_another_call_is_not_allowed(ledger):
    allow(ledger)
    assert reason(ledger, Action(tool="restart", arguments={"node": 8}).digest) == "none"
    assert reason(ledger, Action(tool="restart", arguments={"node": "7"}).digest) == "none"


def test_two_ids_that_share_a_double_share_no_approval(ledger):
    near = 2**53 - 1
    one, other = (Action(tool="pay", arguments={"id": each}) for each in (near, near - 1))
    assert one.digest != other.digest
    allow(ledger, call=one.digest)
    assert reason(ledger, other.digest) == "none"
    # Beyond, two integers share a double: neither has a digest, so neither can be approved; as text each has its own.
    big, next_ = 2**63 + 1, 2**63 + 2
    assert float(big) == float(next_)
    for each in (big, next_):
        with pytest.raises(NotRecordable):
            _ = Action(tool="pay", arguments={"id": each}).digest
    written = [Action(tool="pay", arguments={"id": str(each)}).digest for each in (big, next_)]
    allow(ledger, call=written[0])
    assert [reason(ledger, each) for each in reversed(written)] == ["none", "used"]


def test_a_permit_holds_in_its_time_only(ledger, clock):
    allow(ledger, valid_from=NOON + HOUR, valid_until=NOON + 2 * HOUR, uses=9)
    assert reason(ledger) == "not_yet_valid"
    clock.now = NOON + HOUR
    assert reason(ledger) == "used"
    clock.now = NOON + 2 * HOUR
    assert reason(ledger) == "expired"


def test_only_an_approvers_signature_counts(ledger):
    for signer in (GATE, Signer(b"x" * 32)):
        found = allow(ledger, signer)
        assert isinstance(found, NotPermitted)
        assert found.reason == "untrusted"
    assert list(ledger.entries()) == []


def test_a_signature_of_another_kind_does_not_count(ledger):
    permit = Permit.sign(terms(), ADA)
    stolen = Permit(terms=terms(kind="bypass"), signature=permit.signature)
    assert isinstance(grant(ledger, stolen, TRUST), NotPermitted)


@pytest.mark.parametrize("changed", [{"revoked_at": NOON}, {"valid_until": NOON + HOUR / 2}])
def test_a_permit_does_not_outlive_its_key(ledger, clock, changed):
    allow(ledger, uses=9)
    assert reason(ledger) == "used"
    clock.now = NOON + HOUR / 2
    later = TRUST.with_key(key(ADA, "approver", **changed))
    assert reason(ledger, trust=later) == "untrusted"


def test_a_permit_that_was_merely_written_into_the_ledger_does_not_count(ledger):
    forged = Permit(terms=terms(uses=9), signature=Permit.sign(terms(), ADA).signature)
    ledger.append("approval", forged.to_json(), subject=CALL)
    assert reason(ledger) == "untrusted"


def test_a_permit_of_another_call_under_this_name_does_not_count(ledger):
    other = Permit.sign(terms(call="sha256:other"), ADA)
    ledger.append("approval", other.to_json(), subject=CALL)
    assert reason(ledger) == "untrusted"


def test_what_was_allowed_can_be_withdrawn_and_stays_so(ledger, clock):
    permit = Permit.sign(terms(uses=5), ADA)
    grant(ledger, permit, TRUST)
    clock.now = NOON + HOUR / 4
    allow(ledger, uses=0, valid_from=clock.now, reason="a mistake")
    assert reason(ledger) == "withdrawn"
    again = grant(ledger, permit, TRUST)
    assert isinstance(again, NotPermitted)
    assert again.reason == "superseded"
    assert reason(ledger) == "withdrawn"


def test_granting_twice_is_granting_once(ledger):
    assert allow(ledger) == allow(ledger)
    assert [reason(ledger) for _ in range(2)] == ["used", "used_up"]


@pytest.mark.parametrize(
    "wrong",
    [
        {"kind": "wish"},
        {"reason": " "},
        {"uses": -1},
        {"uses": True},
        {"uses": 1001},
        {"valid_until": NOON},
    ],
)
def test_terms_that_are_none_are_refused(wrong):
    with pytest.raises(InputError):
        terms(**wrong)


@pytest.mark.parametrize(
    "wrong", [{}, {"terms": {}}, {"terms": 5, "signature": {}}, {"terms": None}, {"terms": {"reason": 5}}]
)
def test_what_is_no_permit_is_named(ledger, wrong):
    ledger.append("approval", wrong, subject=CALL)
    with pytest.raises(CorruptRecord, match="entry 1 of the ledger"):
        use(ledger, "approval", CALL, agent="a", trust=TRUST)
