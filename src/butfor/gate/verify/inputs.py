"""From a certificate back to what it was decided from."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from butfor.errors import CorruptRecord, InputError
from butfor.estimation.questions import Randomised
from butfor.gate.certificate.body import RANDOMISED_SCHEMA
from butfor.gate.certificate.sums import cells_in
from butfor.gate.commitments.commitment import graph_of
from butfor.gate.evidence import upright
from butfor.gate.inputs import Inputs, Sample, answer_for
from butfor.gate.policy.entry import rules_of
from butfor.gate.policy.model import Entry
from butfor.gate.worst_case import WORST_CASE_SCHEMA
from butfor.identification import Hedge, Proof, Query

if TYPE_CHECKING:
    from collections.abc import Mapping

    from butfor.canonical import Json
    from butfor.estimation.columns import Columns
    from butfor.gate.inputs import Answer
    from butfor.gate.rules import Rules
    from butfor.graphs import Graph


def inputs_of(body: Mapping[str, Json], rows: Columns | None) -> Inputs | None:
    """Return what the decision was made from; robustness is left out, to be examined again.

    Args:
        body: The certificate's body, as its schema has it.
        rows: The evidence's rows, with the digest that the body names; None where the body has the statistics.

    Returns:
        The inputs; None where neither rows nor statistics are at hand.

    Raises:
        CorruptRecord: The body's parts do not fit together.
    """
    try:
        sample = sample_of(body, rows)
        if sample is None:
            return None
        graph, query = graph_of(body["graph"]["document"]), query_of(body)
        rules = rules_in(body)
        return Inputs(
            graph=graph,
            query=query,
            answer=answer_of(body, graph, query, rules),
            sample=sample,
            rules=rules,
            within={name: _value(value) for name, value in body["action"]["stratum"].items()},
            alpha=None if body["budget"] is None else float(body["budget"]["alpha"]),
        )
    except (InputError, KeyError, TypeError, ValueError, AttributeError) as error:
        raise CorruptRecord(f"the parts of the body do not fit together ({error})", where="$.body") from None


def entry_of(body: Mapping[str, Json]) -> Entry:
    """Return the policy entry that the body carries."""
    # As JSON text, since lists stand for tuples there and nowhere else.
    return Entry.model_validate_json(json.dumps(body["policy"]["entry"]))


def rules_in(body: Mapping[str, Json]) -> Rules:
    """Return what EXECUTE takes, from the policy entry and not from the numbers beside the verdict."""
    return rules_of(entry_of(body), body["policy"]["preset"], _value(body["action"]["to"]))


def query_of(body: Mapping[str, Json]) -> Query:
    """Return the query that the body carries."""
    found = body["graph"]["query"]
    measured = found["measured"]
    return Query(
        treatments=tuple(found["treatments"]),
        outcomes=tuple(found["outcomes"]),
        given=tuple(found["given"]),
        measured=None if measured is None else tuple(measured),
    )


def answer_of(body: Mapping[str, Json], graph: Graph, query: Query, rules: Rules) -> Answer:
    """Return proof, hedge or random assignment as the body has it; a worst-case bound stands on a hedge found again."""
    proof, hedge = body["proof"], body["hedge"]
    if hedge is not None:
        return Hedge.from_json(hedge)
    if proof is None or proof.get("schema") == WORST_CASE_SCHEMA:
        return answer_for(graph, query, randomised=False, instrument=None)
    if proof.get("schema") == RANDOMISED_SCHEMA:
        return Randomised(adjust_for=tuple(proof["adjust_for"]))
    del rules
    return Proof.from_json(proof)


def sample_of(body: Mapping[str, Json], rows: Columns | None) -> Sample | None:
    """Return the evidence: the statistics that the body holds, or the rows that are at hand."""
    provenance = body["provenance"]
    named = {"kind": provenance["kind"], "digest": provenance["evidence"], "age": body["decision"]["evidence_age"]}
    if provenance["statistics"] is not None:
        harmed = provenance["harmed"]
        return Sample(
            data=cells_in(provenance["statistics"]),
            harmed=None if harmed is None else cells_in(harmed),
            levels={name: tuple(texts) for name, texts in provenance["levels"].items()},
            **named,
        )
    return None if rows is None else Sample(data=upright(entry_of(body), rows), **named)


def _value(value: Json) -> float | str:
    return value if isinstance(value, str) else float(value)
