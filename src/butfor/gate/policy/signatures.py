"""Who signed a policy: one file an approver beside it, each under the digest of exactly this policy.

::

    gate.yaml
    gate.yaml.signed.<digest>.<key>.json    16 digits of the policy's digest, 32 of the approver's key

Nothing is overwritten. A policy that was edited has another digest, so what was signed before no longer counts; one
that was only laid out anew has the same. Which file counts, its signed content says, never its name.
"""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING, Self

from butfor.errors import ButforError, CorruptRecord, InputError
from butfor.gate.signing.new_file import write_new
from butfor.gate.signing.signatures import Signature
from butfor.gate.signing.strict_json import canonical_bytes, parse_canonical
from butfor.gate.signing.trust import Distrust, Trusted, moment, stamp

if TYPE_CHECKING:
    from collections.abc import Iterable
    from datetime import datetime
    from pathlib import Path

    from butfor.canonical import Json
    from butfor.gate.signing.signatures import Signer
    from butfor.gate.signing.trust import TrustFile

SCHEMA = "butfor.approval-of-policy/1"
_DIGITS = 16
_FIELDS = {"at", "reason", "signature"}


@dataclasses.dataclass(frozen=True, kw_only=True)
class PolicySignature:
    """An approver's signature under one policy.

    Attributes:
        policy: Digest of the policy.
        at: When it was signed.
        reason: Why, in the approver's words; may be empty.
        signature: Of `payload`.
    """

    policy: str
    at: str
    reason: str
    signature: Signature

    @property
    def payload(self) -> bytes:
        """What is signed."""
        return _payload(self.policy, self.at, self.reason)

    @classmethod
    def of(cls, policy: str, *, signer: Signer, at: datetime, reason: str = "") -> Self:
        """Sign a policy by its digest."""
        time = stamp(at)
        signature = signer.signature(_payload(policy, time, reason), kind="policy")
        return cls(policy=policy, at=time, reason=reason, signature=signature)

    def to_json(self) -> dict[str, Json]:
        """Return plain JSON values, as a certificate carries them beside the policy's digest."""
        return {"at": self.at, "reason": self.reason, "signature": self.signature.to_json()}

    @classmethod
    def from_json(cls, document: Json, policy: str, where: str = "$") -> Self:
        """Read what `to_json` wrote, for the policy of this digest.

        Raises:
            CorruptRecord: A field is missing, surplus or malformed.
        """
        if not isinstance(document, dict) or set(document) != _FIELDS or not isinstance(document["reason"], str):
            raise CorruptRecord("expected a policy's signature {at, reason, signature}", where=where)
        signature = Signature.from_json(document["signature"], f"{where}.signature")
        try:
            known = stamp(moment(document["at"], f"{where}.at")) == document["at"]
        except InputError as error:
            raise CorruptRecord(error.what, where=error.where) from None
        if not known:
            raise CorruptRecord(f"{document['at']!r} is not how a time is written", where=f"{where}.at")
        return cls(policy=policy, at=document["at"], reason=document["reason"], signature=signature)


@dataclasses.dataclass(frozen=True, kw_only=True)
class Signatures:
    """The signatures under one policy.

    Attributes:
        found: Those that could be read; whether they count, a trust file says.
        faults: What is wrong with each that could not, in words.
    """

    found: tuple[PolicySignature, ...]
    faults: tuple[str, ...] = ()


NOBODY = Signatures(found=())


@dataclasses.dataclass(frozen=True, kw_only=True)
class Counting:
    """The signatures that count.

    Attributes:
        signatures: They themselves, the first signed first.
        approvers: Who made each.
        faults: Why the others do not count, in words.
    """

    signatures: tuple[PolicySignature, ...]
    approvers: tuple[Trusted, ...]
    faults: tuple[str, ...]

    def by(self, at: datetime) -> Counting | NotSigned:
        """Leave only what was signed by a time; say why where nothing was."""
        times = [moment(each.at, "$.at") for each in self.signatures]
        late = [f"it was signed at {each.at}" for each, time in zip(self.signatures, times, strict=True) if time > at]
        if len(late) < len(times):
            kept = len(times) - len(late)
            return dataclasses.replace(self, signatures=self.signatures[:kept], approvers=self.approvers[:kept])
        return NotSigned(sentence="; ".join((*self.faults, *late)) or "nobody signed this policy")


@dataclasses.dataclass(frozen=True, kw_only=True)
class NotSigned:
    """No signature counts.

    Attributes:
        sentence: Why, in words.
    """

    sentence: str


def write_signature(path: Path, signature: PolicySignature) -> Path:
    """Write a signature beside its policy file, and return where.

    Raises:
        InputError: The key has signed this policy already, or the file cannot be written.
    """
    key = signature.signature.key.partition(":")[2]
    file = path.with_name(f"{_prefix(path, signature.policy)}{key}.json")
    write_new(file, canonical_bytes({"schema": SCHEMA, "policy": signature.policy, **signature.to_json()}))
    return file


def read_signatures(path: Path, policy: str) -> Signatures:
    """Read the signatures beside a policy file; one that is damaged does not keep another from counting.

    Args:
        path: The policy file.
        policy: The policy's digest.
    """
    prefix, found, faults = _prefix(path, policy), [], []
    try:
        names = sorted(each.name for each in path.parent.iterdir())
    except OSError as error:
        return Signatures(found=(), faults=(f"the folder of the policy cannot be read ({error.strerror})",))
    for name in names:
        if name.startswith(prefix) and name.endswith(".json"):
            try:
                found.append(_read(path.with_name(name), policy))
            except ButforError as error:
                faults.append(str(error))
    return Signatures(found=tuple(found), faults=tuple(faults))


def counting(signatures: Signatures, trust: TrustFile) -> Counting:
    """Check every signature once, whenever it was made; `Counting.by` holds the times against a decision's.

    Args:
        signatures: What is beside the policy, or in a certificate.
        trust: Whose signatures count.
    """
    good: list[tuple[datetime, PolicySignature, Trusted]] = []
    faults = list(signatures.faults)
    for each in signatures.found:
        at = moment(each.at, "$.at")
        found = trust.check(kind="policy", payload=each.payload, signature=each.signature, at=at)
        if isinstance(found, Distrust):
            faults.append(found.sentence)
        else:
            good.append((at, each, found))
    good.sort(key=lambda one: one[0])
    return Counting(
        signatures=tuple(each for _, each, _ in good),
        approvers=tuple(trusted for _, _, trusted in good),
        faults=tuple(faults),
    )


def names_of(approvers: Iterable[Trusted]) -> str:
    """Name approvers, as the trust file calls them."""
    return " and ".join(f"{each.key.name} ({each.key.id})" for each in approvers)


def _prefix(path: Path, policy: str) -> str:
    return f"{path.name}.signed.{policy.partition(':')[2][:_DIGITS]}."


def _payload(policy: str, at: str, reason: str) -> bytes:
    return canonical_bytes({"schema": SCHEMA, "policy": policy, "at": at, "reason": reason})


def _read(path: Path, policy: str) -> PolicySignature:
    try:
        document = parse_canonical(path.read_bytes())
    except OSError as error:
        raise CorruptRecord(f"the signature cannot be read ({error.strerror})", where=str(path)) from None
    except InputError as error:
        raise CorruptRecord(error.what, where=f"{path}, {error.where}", fix="sign the policy again") from None
    if not isinstance(document, dict) or document.get("schema") != SCHEMA:
        raise CorruptRecord(f"expected the schema {SCHEMA}", where=str(path), fix="sign the policy again")
    if document.get("policy") != policy:
        raise CorruptRecord("this is the signature of another policy", where=str(path), fix="sign this policy")
    rest = {name: value for name, value in document.items() if name not in ("schema", "policy")}
    return PolicySignature.from_json(rest, policy, f"{path}, $")
