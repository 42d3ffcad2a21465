"""Checks of what follows from the evidence: its digest, every number, and the verdict."""

from __future__ import annotations

import dataclasses
import math
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from butfor.canonical import digest as digest_of
from butfor.estimation.cells import Cells
from butfor.estimation.columns import Columns
from butfor.estimation.evidence.row_digest import row_digest
from butfor.gate.budget.answerable import listed
from butfor.gate.budget.reservation import OTHERS
from butfor.gate.certificate.body import Head, body, versions
from butfor.gate.certificate.extract import MOST_ROWS
from butfor.gate.certificate.sums import cells_document, cells_in
from butfor.gate.decide import decide, refused, withheld
from butfor.gate.robustness import examine
from butfor.gate.signing.strict_json import canonical_bytes, parse_strict
from butfor.gate.verdict import REASONS
from butfor.gate.verify.checks import failed, ok, unknown
from butfor.gate.verify.comparing import AGREE, differences, same, told
from butfor.gate.verify.inputs import entry_of, inputs_of, rules_in, sample_of

if TYPE_CHECKING:
    from collections.abc import Mapping

    from butfor.canonical import Json
    from butfor.gate.inputs import Inputs
    from butfor.gate.verify.case import Case
    from butfor.gate.verify.checks import Check, Level

_SHOWN = 5
_DERIVED_PROVENANCE = ("evidence", "kind", "statistics", "harmed", "levels", "versions")
# Refusals that no evidence was looked at for, and that follow from more than the certificate holds.
_BEFORE_EVIDENCE = frozenset({"budget_exhausted", "error"})


def check_evidence(case: Case) -> tuple[Check, Level]:
    """Derive the digest of the evidence again, at the level at which it is here."""
    stated, rows = case.body["provenance"], case.given.rows
    if case.body["graph"] is None or stated.get("evidence") is None:
        return ok("evidence", "the call was refused before any evidence was read"), "nothing"
    if problem := _wrong_age(case):
        return failed("evidence", problem, "$.decision.evidence_age"), "attested"
    if field := _not_as_asked(case.body):
        return failed("evidence", "it is not the evidence that the policy entry names", field), "attested"
    if stated["statistics"] is not None:
        found, words = _statistics_digest(stated), "counts and sums in the certificate itself"
        level: Level = "statistics"
        if rows is not None:
            if cells_document(Cells.of(rows, stated["statistics"]["strata"])) != stated["statistics"]:
                return failed("evidence", "the counts and sums are not those of the rows", "$.provenance"), "attested"
            words, level = f"counts and sums, which are those of {rows.n:,} rows", "rows"
    elif rows is not None:
        found, words, level = row_digest(rows), f"{rows.n:,} rows", "rows"
    else:
        return unknown("evidence", f"the rows are not at hand: {case.given.no_rows}"), "attested"
    if found != stated["evidence"]:
        return failed("evidence", f"{words} have the digest {found}", "$.provenance.evidence"), "attested"
    return ok("evidence", f"{words}: {found}"), level


def check_budget(case: Case) -> Check:
    """Derive the error level again: α/m where the questions can be listed, else the j-th term of the share's series."""
    stated, granted = case.body, case.body["budget"]
    if granted is None:
        if not _spends(stated):
            return ok("budget", "nothing had to be spent")
        return failed("budget", "the evidence was looked at, and no error level was spent", "$.budget")
    entry = entry_of(stated)
    shares, questions = entry.budget.shares, granted["questions"]
    sample = None if entry.budget.hypotheses is not None else sample_of(stated, case.given.rows)
    if sample is not None or entry.budget.hypotheses is not None:
        found = listed(entry, sample, rules_in(stated).to)
        again = None if found is None else len(found)
        if again != questions:
            return failed("budget", told("$.budget.questions", questions, again), "$.budget.questions")
    if questions is not None:
        alpha = entry.alpha / questions
    else:
        left = max(0.0, 1.0 - sum(shares.values()))
        others = left if entry.budget.other_agents is None else entry.budget.other_agents
        share = others if granted["share"] == OTHERS else shares.get(granted["share"], 0.0)
        alpha = 6 * share * entry.alpha / (math.pi * granted["place"]) ** 2
    if not same(granted["alpha"], alpha):
        return failed("budget", told("$.budget.alpha", granted["alpha"], alpha), "$.budget.alpha")
    return ok("budget", f"{alpha:.3g} of {entry.alpha:g}, place {granted['place']} in epoch {granted['epoch']}")


def _spends(stated: Mapping[str, Json]) -> bool:
    """Say whether evidence was looked at for a question that could have come out as EXECUTE."""
    if stated["estimate"] is None:
        return False
    rules = rules_in(stated)
    return rules.preset.spends_budget and (stated["hedge"] is None or rules.may_clear_unidentified)


def check_derived(case: Case, level: Level) -> list[Check]:
    """Decide again, write the body again, and name every field that comes out differently."""
    stated = case.body
    early = _was_early(stated, level)
    inputs = inputs_of(stated, case.given.rows) if stated["graph"] is not None and level != "attested" else None
    if inputs is None and not (early and stated["graph"] is None):
        numbers = unknown("estimate", "without the evidence no number can be derived")
        return [numbers, _by_the_table(stated) if early else _by_stated_numbers(case)]
    found = parse_strict(canonical_bytes(_body_again(stated, inputs, early=early)))
    changed = [each for each in differences(dict(stated), found) if not each[0].startswith("$.provenance.versions")]
    verdict = [each for each in changed if each[0].startswith("$.decision.")]
    rest = [each for each in changed if each not in verdict]
    return [_numbers(stated, rest), _by_the_table(stated) if early else _verdict(found, verdict)]


def _was_early(stated: Mapping[str, Json], level: Level) -> bool:
    """Say whether it is a refusal for which no bound was computed, for a reason that the certificate only states."""
    return level == "nothing" or (stated["estimate"] is None and stated["decision"]["reason"] in _BEFORE_EVIDENCE)


def _body_again(stated: Mapping[str, Json], inputs: Inputs | None, *, early: bool) -> dict[str, Json]:
    decision = stated["decision"]
    if early or inputs is None:
        return body(_head(stated), refused(decision["reason"], *decision["missing"]), inputs)
    inputs = dataclasses.replace(inputs, robustness=_examined(stated, inputs))
    found = decide(inputs)
    if found.verdict == "EXECUTE" and entry_of(stated).approval == "required" and stated.get("approval") is None:
        # Which permit was missing, the ledger knew; that none was used, the certificate says.
        found = withheld(found, *decision["missing"])
    return body(_head(stated), found, inputs)


def _numbers(stated: Mapping[str, Json], changed: list[tuple[str, Json, Json]]) -> Check:
    if changed:
        words = "; ".join(told(*each) for each in changed[:_SHOWN])
        return failed("estimate", f"{words}{_other_versions(stated)}", *(path for path, _, _ in changed))
    estimate = stated["estimate"]
    if estimate is None:
        return ok("estimate", "the call was refused before any bound was computed")
    words = f"{estimate['bound_on']} in [{_number(estimate['lower'])}, {_number(estimate['upper'])}]"
    return ok("estimate", f"{words} at alpha {estimate['alpha']:.3g}, to {AGREE:g}")


def _verdict(found: Mapping[str, Json], changed: list[tuple[str, Json, Json]]) -> Check:
    decision = found["decision"]
    if changed:
        words = "; ".join(told(*each) for each in changed[:_SHOWN])
        return failed("verdict", words, *(path for path, _, _ in changed))
    return ok("verdict", f"{decision['verdict']}: {decision['reason']}")


def _by_the_table(stated: Mapping[str, Json]) -> Check:
    """A refusal without evidence: its reason must give its verdict, and never EXECUTE."""
    decision = stated["decision"]
    row = next((row for reason, row in REASONS.items() if reason == decision["reason"]), None)
    if row is None or row.verdict != decision["verdict"] or row.verdict == "EXECUTE":
        return failed("verdict", f"{decision['reason']!r} does not give {decision['verdict']}", "$.decision.verdict")
    return ok("verdict", f"{row.verdict}: {decision['reason']}, before any evidence was looked at")


def _by_stated_numbers(case: Case) -> Check:
    """Hold the stated verdict against the stated numbers: all that can be done without the evidence."""
    decision, estimate, risk = (case.body[name] for name in ("decision", "estimate", "risk"))
    row = next((row for reason, row in REASONS.items() if reason == decision["reason"]), None)
    if row is None or row.verdict != decision["verdict"]:
        return failed("verdict", f"{decision['reason']!r} does not give {decision['verdict']}", "$.decision.verdict")
    rules = rules_in(case.body)
    if decision["reason"] in ("bound_met", "approval_missing"):
        lower = None if estimate is None else estimate["lower"]
        reach = (
            max(abs(each) for each in (lower, rules.tau_u, estimate["upper"]) if each is not None) if estimate else 0
        )
        if lower is None or not lower - rules.tau_u > AGREE * reach:
            return failed(
                "verdict", f"the stated bound {_number(lower)} is not above τ_u = {rules.tau_u:g}", "$.estimate"
            )
        bound = risk["bound"]
        if rules.preset.bounds_risk and rules.tau_r is not None and not (bound is not None and bound <= rules.tau_r):
            return failed("verdict", f"the stated risk {_number(bound)} is not within {rules.tau_r:g}", "$.risk.bound")
        if not rules.cheap:
            return failed("verdict", "the declared cost is not within its limit", "$.risk.cost")
    return unknown("verdict", f"{decision['verdict']} fits the stated numbers; the evidence was not seen")


def _is_above(lower: float, tau_u: float, upper: float | None) -> bool:
    """Say whether a bound is above τ_u by more than a re-derivation may differ, as the decision does."""
    return lower - tau_u > AGREE * max(abs(each) for each in (lower, tau_u, upper) if each is not None)


def _wrong_age(case: Case) -> str | None:
    """Derive the evidence's age from its window, where that is a time."""
    stated, said = case.body["provenance"], case.body["decision"]["evidence_age"]
    if _is_trial(case.body):
        return None if said == 0 else f"the age of a trial's rows is {said}, and 0 was expected"
    timed = stated["window"] is not None and stated["level"] != "statistics"
    newest = _time(stated["window"][1]) if timed else None
    if newest is None:
        return None if said is None else f"the age {said} follows from no window"
    age = max(0.0, (case.at - newest).total_seconds())
    if said is None or abs(said - age) > AGREE * max(1.0, age):
        return f"the age is {said}, and {age} was expected"
    return None


def _is_trial(body: Mapping[str, Json]) -> bool:
    return bool(body["provenance"]["lineage"] == f"trials of {body['policy']['name']}")


def _not_as_asked(body: Mapping[str, Json]) -> str | None:
    """Return the field in which the evidence is another than the policy entry says; no digest of rows holds these."""
    stated, asked = body["provenance"], entry_of(body).evidence
    if _is_trial(body):
        return None if stated["kind"] == "randomised" else "$.provenance.kind"
    kind = "policy-confounded" if asked.runs is not None else asked.kind
    if kind is not None and stated["kind"] != kind:
        return "$.provenance.kind"
    runs = None if asked.runs is None else f"runs of {asked.runs}"
    if stated["lineage"] not in (asked.file, asked.sql, asked.saved, runs):
        return "$.provenance.lineage"
    many = stated["rows"] > MOST_ROWS and asked.level == "rows"
    return None if stated["level"] == ("attested" if many else asked.level) else "$.provenance.level"


def _time(text: str) -> datetime | None:
    try:
        found = datetime.fromisoformat(text)
    except ValueError:
        return None
    return found if found.tzinfo is not None else found.replace(tzinfo=UTC)


def _statistics_digest(stated: Mapping[str, Json]) -> str:
    """Name the cells as the aggregate query's reader named them."""
    cells = cells_in(stated["statistics"]).to_json()
    found = digest_of({"cells": cells, "levels": stated["levels"]})
    harmed = stated["harmed"]
    return found if harmed is None else digest_of([found, cells_in(harmed).to_json()])


def _examined(stated: Mapping[str, Json], inputs: Inputs) -> Json:
    """Examine the graph again where the certificate says that it was examined."""
    if not isinstance(inputs.sample.data, Columns) or not any(stated["robustness"].values()):
        return None
    return examine(inputs, show=entry_of(stated).robustness.show)


def _head(stated: Mapping[str, Json]) -> Head:
    """Return what no evidence says: it is taken over, and stands under the signature only."""
    decision, action, graph = stated["decision"], stated["action"], stated["graph"]
    evidence = {name: each for name, each in stated["provenance"].items() if name not in _DERIVED_PROVENANCE}
    return Head(
        id=decision["id"],
        at=decision["at"],
        mode=decision["mode"],
        agent=action["agent"],
        tool=action["tool"],
        call=action["call"],
        context=action["context"],
        policy=stated["policy"],
        commitment=None if graph is None else graph["commitment"],
        evidence=evidence if evidence.get("level") is not None else None,
        budget=stated["budget"],
        approval=stated.get("approval"),
    )


def _other_versions(stated: Mapping[str, Json]) -> str:
    said, here = stated["provenance"]["versions"], versions()
    other = [f"{name} {said.get(name)} there, {here.get(name)} here" for name in said if said[name] != here.get(name)]
    return f" (versions differ: {', '.join(other)})" if other else ""


def _number(value: float | None) -> str:
    return "none" if value is None else f"{value:.6g}"
