"""Is this the certificate that the ledger has?"""

from __future__ import annotations

from typing import TYPE_CHECKING

from butfor.canonical import digest_text
from butfor.errors import NotRecordable
from butfor.gate.signing.trust import Distrust
from butfor.gate.verify.checks import failed, ok, unknown

if TYPE_CHECKING:
    from butfor.gate.ledger.segment import Segment
    from butfor.gate.verify.case import Case
    from butfor.gate.verify.checks import Check


def check_ledger(case: Case) -> Check:
    """Find the certificate's digest in the chain, follow the chain, and ask who signed its end."""
    segment = case.given.segment
    if segment is None:
        return unknown("ledger", "no ledger is at hand: give a bundle, or run it beside the store")
    try:
        broken = segment.broken()
    except (NotRecordable, TypeError, KeyError):
        broken = "an entry is malformed"
    if broken is not None:
        return failed("ledger", broken)
    return _included(case, segment)


def _included(case: Case, segment: Segment) -> Check:
    decision, digest = case.body["decision"]["id"], digest_text(case.data)
    held = [link for link in segment.links if link["kind"] == "decision" and link["subject"] == decision]
    if not held:
        return failed("ledger", f"the ledger has no decision {decision!r}", "$.decision.id")
    if all(link["attachment"] != digest for link in held):
        return failed("ledger", f"entry {held[-1]['position']} has another certificate for this decision")
    place = next(link["position"] for link in held if link["attachment"] == digest)
    if segment.checkpoint is None:
        return ok("ledger", f"entry {place}; no checkpoint has been signed since, so its end could be missing")
    if case.given.trust is None:
        return failed("ledger", "a checkpoint is there, and no trust file says whose signature counts")
    found = segment.checkpoint.trusted(case.given.trust)
    if isinstance(found, Distrust):
        return failed("ledger", f"the checkpoint does not count: {found.sentence}")
    return ok("ledger", f"entry {place}, under the checkpoint of entry {segment.checkpoint.position}")
