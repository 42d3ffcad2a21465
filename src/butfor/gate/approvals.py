"""Approvals and bypasses: an approver's yes to one exact call, for a while and for so many times.

An *approval* is a consent beside the proof: where a policy entry demands one, a call that is proven executes once an
approver consented, and no call that is not proven does. A *bypass* lets the call run whatever the verdict is; the
certificate keeps saying what the gate found. Both are signed by an approver's
key, bound to the digest of the exact call (no rounding: two ids that share a double have two digests), and both being
granted and being used are entries of the ledger.
"""

from __future__ import annotations

import dataclasses
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Literal, Self, TypeAlias

from butfor.canonical import digest_text
from butfor.errors import CorruptRecord, InputError
from butfor.gate.signing.signatures import Signature
from butfor.gate.signing.strict_json import canonical_bytes
from butfor.gate.signing.trust import Distrust, moment, stamp

if TYPE_CHECKING:
    from butfor.canonical import Json
    from butfor.gate.ledger.chain import Entry, Ledger, Pending
    from butfor.gate.signing.signatures import Signer
    from butfor.gate.signing.trust import TrustFile

SCHEMA = "butfor.permit/1"
PermitKind: TypeAlias = Literal["approval", "bypass"]
WhyNot: TypeAlias = Literal["none", "not_yet_valid", "expired", "used_up", "withdrawn", "untrusted", "superseded"]
"""Why a call has no permit."""
_MOST_USES = 1000


@dataclasses.dataclass(frozen=True, kw_only=True)
class Terms:
    """What an approver signs.

    Attributes:
        kind: Approval or bypass.
        call: Digest of the exact call.
        tool: The tool's name, for people; the digest covers it.
        reason: Why, for the record.
        uses: How often, at most; 0 withdraws what was granted for this call before.
        valid_from: From when on.
        valid_until: Until when.

    Raises:
        InputError: There is no reason, the time is no time, or the number of uses is not from 0 to 1000.
    """

    kind: PermitKind
    call: str
    tool: str
    reason: str
    uses: int
    valid_from: datetime
    valid_until: datetime

    def __post_init__(self) -> None:
        if self.kind not in ("approval", "bypass"):
            raise InputError(f"{self.kind!r} is neither approval nor bypass")
        if not self.reason.strip():
            raise InputError(f"no reason for this {self.kind}", fix="say why, for whoever reads the ledger")
        if type(self.uses) is not int or not 0 <= self.uses <= _MOST_USES:
            raise InputError(f"{self.uses} uses are not from 0 to {_MOST_USES}", fix="allow a call once, or so often")
        if not self.valid_from < self.valid_until:
            raise InputError(f"this {self.kind} ends before it begins", fix="give it some time")

    @property
    def payload(self) -> bytes:
        """What is signed."""
        return canonical_bytes(self.to_json())

    @property
    def digest(self) -> str:
        """Its name in the ledger."""
        return digest_text(self.payload)

    def to_json(self) -> dict[str, Json]:
        """Return plain JSON values."""
        return {
            "schema": SCHEMA,
            "kind": self.kind,
            "call": self.call,
            "tool": self.tool,
            "reason": self.reason,
            "uses": self.uses,
            "valid_from": stamp(self.valid_from),
            "valid_until": stamp(self.valid_until),
        }


@dataclasses.dataclass(frozen=True, kw_only=True)
class Permit:
    """Terms and an approver's signature under them.

    Attributes:
        terms: What is allowed.
        signature: Of the terms.
    """

    terms: Terms
    signature: Signature

    @classmethod
    def sign(cls, terms: Terms, signer: Signer) -> Self:
        """Sign terms."""
        return cls(terms=terms, signature=signer.signature(terms.payload, kind=terms.kind))

    def to_json(self) -> dict[str, Json]:
        """Return plain JSON values."""
        return {"event": "granted", "terms": self.terms.to_json(), "signature": self.signature.to_json()}

    @classmethod
    def from_json(cls, document: Json, where: str = "$") -> Self:
        """Read what `to_json` wrote.

        Raises:
            CorruptRecord: A part is missing or malformed.
        """
        try:
            said = document["terms"]
            if said["schema"] != SCHEMA or set(said) != {
                "schema",
                *(field.name for field in dataclasses.fields(Terms)),
            }:
                raise CorruptRecord("this is no permit of a kind that is known", where=where)
            terms = Terms(
                kind=said["kind"],
                call=said["call"],
                tool=said["tool"],
                reason=said["reason"],
                uses=said["uses"],
                valid_from=moment(said["valid_from"], f"{where}.terms.valid_from"),
                valid_until=moment(said["valid_until"], f"{where}.terms.valid_until"),
            )
            return cls(terms=terms, signature=Signature.from_json(document["signature"]))
        except (KeyError, TypeError, AttributeError, InputError) as error:
            raise CorruptRecord(f"this is no permit ({error})", where=where) from None

    def fault(self, trust: TrustFile, now: datetime) -> NotPermitted | None:
        """Say why it does not hold now; None where it does. How often it was used, the ledger knows."""
        # By its time of use: a permit does not outlive the key that signed it.
        counts = trust.check(kind=self.terms.kind, payload=self.terms.payload, signature=self.signature, at=now)
        if isinstance(counts, Distrust):
            return NotPermitted(
                reason="untrusted", sentence=f"this {self.terms.kind} does not count: {counts.sentence}"
            )
        if now < self.terms.valid_from:
            return NotPermitted(reason="not_yet_valid", sentence=f"it begins at {stamp(self.terms.valid_from)}")
        if now >= self.terms.valid_until:
            return NotPermitted(reason="expired", sentence=f"it ended at {stamp(self.terms.valid_until)}")
        if self.terms.uses == 0:
            return NotPermitted(reason="withdrawn", sentence=f"it was withdrawn: {self.terms.reason}")
        return None


@dataclasses.dataclass(frozen=True, kw_only=True)
class Used:
    """A permit that was used, and is one use shorter; this is on disk.

    Attributes:
        permit: Whose it was.
        use: Number of this use, from 1.
        entry: The ledger entry that says so.
    """

    permit: Permit
    use: int
    entry: Entry


@dataclasses.dataclass(frozen=True, kw_only=True)
class NotPermitted:
    """Nobody allowed this call, or not now.

    Attributes:
        reason: Why, from a closed list.
        sentence: Why, in words.
    """

    reason: WhyNot
    sentence: str


def grant(ledger: Ledger, permit: Permit, trust: TrustFile) -> Entry | NotPermitted:
    """Write a permit down. The last one for a call counts, so a narrower one takes a wider one's place.

    Args:
        ledger: Where.
        permit: Signed terms.
        trust: Whose signatures count.

    Raises:
        StoreError: It could not be written: it is not granted.
    """
    with ledger.appending() as pending:
        fault = permit.fault(trust, pending.now)
        if fault is not None and fault.reason not in ("not_yet_valid", "withdrawn"):
            return fault
        found = pending.about(permit.terms.kind, permit.terms.call)
        stands = None if found is None else _of(found)
        if found is not None and stands == permit:
            return found
        if stands is not None and stands.terms.valid_from >= permit.terms.valid_from:
            # Else an old permit, which the ledger shows to everybody, would undo its own withdrawal.
            return NotPermitted(reason="superseded", sentence="a permit of this call that begins later was granted")
        return pending.add(permit.terms.kind, permit.to_json(), subject=permit.terms.call)


def use(ledger: Ledger, kind: PermitKind, call: str, *, agent: str, trust: TrustFile) -> Used | NotPermitted:
    """Use a permit for an exact call: written down, on disk, before the call may run.

    Two processes never use the same use. The signature is checked again each time, so that a permit that was merely
    written into the file does not count, nor one whose key was revoked since.

    Args:
        ledger: Where permits are.
        kind: Approval or bypass.
        call: Digest of the exact call (`Action.digest`).
        agent: Who asks.
        trust: Whose signatures count.

    Raises:
        CorruptRecord: What the ledger holds is no permit.
        StoreError: It could not be written: the call may not run.
    """
    with ledger.appending() as pending:
        return use_pending(pending, kind, call, agent=agent, trust=trust)


def use_pending(
    pending: Pending, kind: PermitKind, call: str, *, agent: str, trust: TrustFile, asked: datetime | None = None
) -> Used | NotPermitted:
    """Use a permit within a transaction, so that what it is used for is written with it, or neither is; see `use`.

    Args:
        pending: The transaction.
        kind: Approval or bypass.
        call: Digest of the exact call.
        agent: Who asks.
        trust: Whose signatures count.
        asked: When the call came, where that was before: the permit must have held then, too.

    Raises:
        CorruptRecord: What the ledger holds is no permit; nothing was added.
    """
    found = pending.about(kind, call)
    if found is None:
        return NotPermitted(reason="none", sentence=f"there is no {kind} of this exact call")
    permit = _of(found)
    terms = permit.terms
    fault = permit.fault(trust, pending.now)
    if fault is None and asked is not None:
        fault = permit.fault(trust, asked)
    if fault is None and (terms.kind, terms.call) != (kind, call):
        fault = NotPermitted(reason="untrusted", sentence=f"entry {found.position} holds the permit of another call")
    if fault is not None:
        return fault
    last = pending.last_of(kind, terms.digest)
    number = 1 if last is None or last.place is None else last.place + 1
    if number > terms.uses:
        return NotPermitted(reason="used_up", sentence=f"its {terms.uses} use{'s' * (terms.uses != 1)} are used up")
    said: dict[str, Json] = {"event": "used", "permit": terms.digest, "tool": terms.tool, "call": call, "agent": agent}
    said["use"] = number
    entry = pending.add(kind, said, scope=terms.digest, place=number)
    return Used(permit=permit, use=number, entry=entry)


def _of(entry: Entry) -> Permit:
    return Permit.from_json(dict(entry.payload), f"entry {entry.position} of the ledger")


def lasting(now: datetime, seconds: float) -> tuple[datetime, datetime]:
    """Return the times from now on for so many seconds, as `Terms` takes them."""
    begins = now.astimezone(UTC)
    return begins, datetime.fromtimestamp(begins.timestamp() + seconds, UTC)
