"""Checks of what the verdict stands on: call, graph, commitment, proof."""

from __future__ import annotations

from typing import TYPE_CHECKING

from butfor.errors import ButforError
from butfor.gate.action import Action
from butfor.gate.certificate.body import RANDOMISED_SCHEMA
from butfor.gate.commitments.commitment import Commitment, NotCommitted, graph_of
from butfor.gate.context.reading import Reading, read_one
from butfor.gate.context.sources import argument_source, from_argument
from butfor.gate.policy.model import FromArgument
from butfor.gate.verify.checks import failed, ok, unknown
from butfor.gate.verify.comparing import same
from butfor.gate.verify.inputs import answer_of, entry_of, query_of, rules_in
from butfor.gate.worst_case import WORST_CASE_SCHEMA
from butfor.identification import Hedge, Query, check, in_words

if TYPE_CHECKING:
    from butfor.canonical import Json
    from butfor.gate.policy.model import Entry
    from butfor.gate.verify.case import Case
    from butfor.gate.verify.checks import Check


def check_call(case: Case) -> Check:
    """Derive the call's digest from the call, where it is at hand; t* and stratum from it and the policy entry."""
    stated = case.body["action"]
    if stated["call"] is None:
        return ok("call", "the call could not be named, and was refused")
    entry = None if case.body["policy"]["entry"] is None else entry_of(case.body)
    action = None if case.given.call is None else Action.read(case.given.call)
    if action is not None and action.digest != stated["call"]:
        return failed("call", f"the call that was given has the digest {action.digest}", "$.action.call")
    if action is not None and action.tool != stated["tool"]:
        return failed("call", f"the call is of the tool {action.tool!r}", "$.action.tool")
    if entry is not None and (wrong := _not_of_the_entry(case, entry, action)):
        return failed("call", "it is not what the policy entry makes of the call", wrong)
    if action is None:
        return unknown("call", "the certificate holds the call's digest only: give --call FILE to derive it")
    return ok("call", f"{action.tool} {stated['call']}")


def _not_of_the_entry(case: Case, entry: Entry, action: Action | None) -> str | None:
    """Return the field of the action that does not follow from the entry and, where it is at hand, the call."""
    stated = case.body["action"]
    if stated["tool"] != (entry.tool or case.body["policy"]["name"]):
        return "$.action.tool"
    if stated["to"] is None:
        return None
    to: Json = entry.treatment.to
    if isinstance(to, FromArgument):
        to = stated["to"] if action is None else from_argument(to.argument, action.arguments)
    if not _equal(stated["to"], to):
        return "$.action.to"
    if stated["stratum"] and set(stated["stratum"]) != set(entry.strata):
        return "$.action.stratum"
    for name, value in stated["stratum"].items():
        # The rows of a trial have their stratum from the request, and no context is read for them.
        read = stated["context"].get(name, {}).get("value", value)
        variable = entry.context[name]
        if variable.argument is not None and action is not None:
            source = argument_source(variable.argument, timeout=variable.timeout, text=variable.text)
            found = read_one(name, source, action.arguments, lambda: case.at)
            read = found.value if isinstance(found, Reading) else None
        if not _equal(value, read):
            return f"$.action.stratum.{name}"
    return None


def _equal(stated: Json, found: Json) -> bool:
    return same(stated, float(found) if isinstance(found, bool) else found)


def check_graph(case: Case) -> Check:
    """Derive the graph's digest again."""
    stated = case.body["graph"]
    if stated is None:
        return ok("graph", "the call was refused before any graph was looked at")
    try:
        graph = graph_of(stated["document"], "$.graph.document")
    except ButforError as error:
        return failed("graph", str(error), "$.graph.document")
    if graph.digest != stated["digest"]:
        return failed("graph", f"the graph in the file has the digest {graph.digest}", "$.graph")
    return ok("graph", graph.digest)


def check_commitment(case: Case) -> Check:
    """Ask whose approval the graph has, whether it had expired, and whether it admits the kind of evidence."""
    stated = case.body["graph"]
    if stated is None:
        return ok("commitment", "the call was refused before any graph was looked at")
    if stated["commitment"] is None:
        return failed("commitment", "nobody committed this graph", "$.graph.commitment")
    if case.given.trust is None:
        return unknown("commitment", "no trust file says whose approval counts")
    graph = graph_of(stated["document"])
    found = Commitment.from_json(stated["commitment"], graph, "$.graph.commitment")
    approver = found.approver(case.given.trust, by=case.at)
    if isinstance(approver, NotCommitted):
        return failed("commitment", approver.sentence, "$.graph.commitment.approvals")
    if found.is_expired(case.at):
        return failed("commitment", f"it expired at {found.expires_at}", "$.graph.commitment")
    kind, query = case.body["provenance"].get("kind"), query_of(case.body)
    if kind is not None:
        refusal = found.admits(kind, treatment=query.treatments[0], outcome=query.outcomes[0])
        if refusal is not None:
            return failed("commitment", refusal.sentence, "$.graph.commitment")
    return ok(
        "commitment", f"{found.name} version {found.version}, approved by {approver.key.id} ({approver.key.name})"
    )


def check_proof(case: Case) -> Check:
    """Run the independent checker on the proof or the hedge; it knows m-separation and nothing of the search."""
    body = case.body
    if body["graph"] is None:
        return ok("proof", "the call was refused before anything was asked of a graph")
    graph, query, entry = graph_of(body["graph"]["document"]), query_of(body), entry_of(body)
    asked = Query.effect(entry.treatment.name, entry.outcome.name, within=entry.strata, measured=query.measured)
    if query != asked:
        return failed("proof", "the query is not what the policy entry asks", "$.graph.query")
    schema = None if body["proof"] is None else body["proof"].get("schema")
    if schema == RANDOMISED_SCHEMA:
        if body["provenance"].get("kind") != "randomised":
            return failed("proof", "it stands on random assignment, and the evidence is not randomised", "$.proof")
        return ok("proof", "the treatment was assigned at random, as the evidence says of itself")
    claim = answer_of(body, graph, query, rules_in(body))
    assert isinstance(claim, Hedge) or hasattr(claim, "argument")
    found = check(graph, query, claim)  # type: ignore[arg-type]
    field = "$.hedge" if body["hedge"] is not None else "$.proof"
    if not found.ok:
        return failed("proof", f"the checker refuses it: {found.reason}", field)
    words = in_words(graph, claim)  # type: ignore[arg-type]
    return ok("proof", f"a worst-case bound; {words}" if schema == WORST_CASE_SCHEMA else words)
