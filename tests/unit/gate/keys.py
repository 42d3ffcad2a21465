"""Keys of tests: made from fixed bytes, so that signatures are the same in every run."""

from datetime import UTC, datetime

from butfor.gate.signing.signatures import Role, Signer
from butfor.gate.signing.trust import TrustedKey, TrustFile

START, NOW, END = (datetime(2026, month, 1, tzinfo=UTC) for month in (1, 6, 12))
GATE, APPROVER, STRANGER = (Signer(bytes([n]) * 32) for n in (1, 2, 3))


def entry(signer: Signer, role: Role, **changes: datetime | None) -> TrustedKey:
    times = {"valid_from": START, "valid_until": END, "revoked_at": None, **changes}
    start = times["valid_from"]
    assert start is not None
    return TrustedKey(
        id=signer.key_id,
        name=f"the {role} of tests",
        public=signer.public,
        role=role,
        valid_from=start,
        valid_until=times["valid_until"],
        revoked_at=times["revoked_at"],
    )


TRUST = TrustFile.of([entry(GATE, "gate"), entry(APPROVER, "approver")])
