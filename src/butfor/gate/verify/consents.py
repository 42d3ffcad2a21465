"""Checks of what people consented to: the policy, and the call where the policy demands it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from butfor.gate.approvals import Permit
from butfor.gate.policy.signatures import NotSigned, PolicySignature, Signatures, counting, names_of
from butfor.gate.signing.trust import Distrust, stamp
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


def check_approval(case: Case) -> Check:
    """Ask whose approval of this exact call was used, where the entry demands one. How often, the ledger knows."""
    stated, demanded = case.body.get("approval"), _demands(case)
    decision = case.body["decision"]
    if stated is None:
        if not demanded:
            return ok("approval", "the policy demands none")
        if decision["verdict"] == "EXECUTE":
            return failed("approval", "the policy demands an approval, and none was used", "$.approval")
        return ok("approval", "none was used, and nothing was executed")
    if not demanded or decision["verdict"] != "EXECUTE":
        return failed("approval", "an approval was used where none opens anything", "$.approval")
    permit = Permit.from_json({name: stated[name] for name in ("terms", "signature")}, "$.approval")
    terms = permit.terms
    if (terms.kind, terms.call, terms.tool) != ("approval", case.body["action"]["call"], case.body["action"]["tool"]):
        return failed("approval", "it approves another call", "$.approval.terms")
    if not 1 <= stated["use"] <= terms.uses:
        return failed("approval", f"use {stated['use']} of {terms.uses} was not approved", "$.approval.use")
    if not terms.valid_from <= case.at < terms.valid_until:
        times = f"from {stamp(terms.valid_from)} until {stamp(terms.valid_until)}"
        return failed("approval", f"it holds {times}, and the decision is of {stamp(case.at)}", "$.approval.terms")
    if case.given.trust is None:
        return unknown("approval", "no trust file says whose approval counts")
    found = case.given.trust.check(kind="approval", payload=terms.payload, signature=permit.signature, at=case.at)
    if isinstance(found, Distrust):
        return failed("approval", found.sentence, "$.approval.signature")
    used = f"use {stated['use']} of {terms.uses}"
    return ok("approval", f"approved by {found.key.id} ({found.key.name}), {used}: {terms.reason}")


def _demands(case: Case) -> bool:
    return case.body["policy"]["entry"] is not None and entry_of(case.body).approval == "required"
