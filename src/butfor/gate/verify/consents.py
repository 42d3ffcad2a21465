"""Checks of what people consented to: the policy."""

from __future__ import annotations

from typing import TYPE_CHECKING

from butfor.gate.policy.signatures import NotSigned, PolicySignature, Signatures, counting, names_of
from butfor.gate.verify.checks import Check, failed, ok, unknown
from butfor.gate.verify.inputs import entry_of

if TYPE_CHECKING:
    from butfor.gate.verify.case import Case
    from butfor.gate.verify.checks import Status


def check_policy(case: Case) -> Check:
    """Derive the policy's digest again where the file is at hand, and say who signed the digest."""
    derived, signed = _derived(case), _signed(case)
    if "failed" in (derived.status, signed.status):
        wrong = [each for each in (derived, signed) if each.status == "failed"]
        fields = tuple(field for each in wrong for field in each.fields)
        return failed("policy", "; ".join(each.sentence for each in wrong), *fields)
    status: Status = derived.status
    return Check(name="policy", status=status, sentence=f"{derived.sentence}; {signed.sentence}")


def _derived(case: Case) -> Check:
    stated, policy = case.body["policy"], case.given.policy
    if policy is None:
        return unknown("policy", "the certificate holds the entry only: give --policy FILE for the whole policy")
    from butfor.gate.policy.entry import policy_digest

    if policy_digest(policy) != stated["digest"]:
        return failed("policy", "the policy file has another digest", "$.policy.digest")
    entry = policy.tools.get(stated["name"])
    if entry is not None and entry.model_dump(mode="json") != entry_of(case.body).model_dump(mode="json"):
        return failed("policy", f"the policy has another entry {stated['name']!r}", "$.policy.entry")
    return ok("policy", f"entry {stated['name']!r} of {stated['digest']}")


def _signed(case: Case) -> Check:
    """One signature that counts is enough; where some are there and none counts, that is a failure."""
    stated, trust, field = case.body["policy"], case.given.trust, "$.policy.signatures"
    documents = stated.get("signatures", [])
    if not documents:
        words = "nobody signed it"
        return failed("policy", words, field) if case.given.demand_signed_policy else ok("policy", words)
    if trust is None:
        words = "no trust file says whose signatures under it count"
        return failed("policy", words, field) if case.given.demand_signed_policy else unknown("policy", words)
    there = tuple(
        PolicySignature.from_json(each, stated["digest"], f"{field}[{i}]") for i, each in enumerate(documents)
    )
    found = counting(Signatures(found=there), trust)
    standing = found.by(case.at)
    if isinstance(standing, NotSigned):
        return failed("policy", f"no signature under it counts: {standing.sentence}", field)
    others = "".join(f"; not counted: {each}" for each in found.faults)
    return ok("policy", f"signed by {names_of(standing.approvers)}, role approver{others}")
