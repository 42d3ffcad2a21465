"""Decisions with known outcomes as evidence for later decisions, and why they must not be trusted alone.

The agent chose what to ask, so the rows are policy-confounded. The gate chose what ran: where it enforces, its rule
makes the treatment a function of the context, so within a context only one arm was seen. Such rows say nothing about
the other arm, and evidence that has them fails positivity for the rule that selected them.
"""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING, Any

from butfor.errors import InputError
from butfor.estimation.answers import Insufficient
from butfor.gate.outcomes import followed

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from butfor.gate.ledger.chain import Ledger
    from butfor.gate.outcomes import Followed

VERDICT, POLICY, PROBABILITY = "gate_verdict", "gate_policy", "gate_probability"
UNKNOWN = "unknown"
NOTE = (
    "policy-confounded: an agent chose the calls and a gate chose which of them ran; rows whose gate_probability is 0 "
    "or 1 were selected by the rule in gate_policy, and fail positivity for it"
)


@dataclasses.dataclass(frozen=True, kw_only=True)
class GateRows:
    """Decisions as a table of units.

    Attributes:
        table: Columns by name, rows in the order of telling.
        treatment: Name of the treatment column.
        outcome: Name of the outcome column.
        covariates: Names of the context columns that every row has.
        left_out: Why decisions gave no row, with counts.
    """

    table: Mapping[str, list[Any]]
    treatment: str
    outcome: str
    covariates: tuple[str, ...]
    left_out: Mapping[str, int]


def gate_rows(ledger: Ledger, *, tool: str) -> GateRows:
    """Make one row of each decision about a tool whose outcome is known.

    Besides treatment, outcome and context: `decision`, `told_at`, `agent` (the cluster), `gate_verdict`, `gate_policy`
    (its digest) and `gate_probability`: the chance that the gate's rule let this call run, "1" or "0" where it
    enforces, "unknown" where it only watched and the agent did as it liked.

    Raises:
        InputError: No decision about the tool has an outcome, or they ask about several treatments or outcomes.
        CorruptRecord: A certificate cannot be read.
    """
    found = [each for each in followed(ledger) if each.body["action"]["tool"] == tool]
    usable = [each for each in found if each.body["action"]["treatment"] is not None]
    names = {(each.body["action"]["treatment"], each.body["action"]["outcome"]) for each in usable}
    if not names:
        raise InputError(
            f"no decision about {tool!r} has an outcome", fix="tell one: butfor gate outcome DECISION VALUE"
        )
    if len(names) > 1:
        several = ", ".join(f"{outcome} of {treatment}" for treatment, outcome in sorted(names))
        raise InputError(f"the decisions about {tool!r} ask about several things: {several}", fix="keep them apart")
    treatment, outcome = names.pop()
    covariates = _shared_context(usable)
    rows = [_row(each, treatment, outcome, covariates) for each in usable]
    left_out = {"refused before there was a treatment": len(found) - len(usable)}
    return GateRows(
        table={name: [row[name] for row in rows] for name in rows[0]},
        treatment=treatment,
        outcome=outcome,
        covariates=covariates,
        left_out={why: n for why, n in left_out.items() if n},
    )


def selected(table: Mapping[str, Sequence[Any]], *, policy: str | None = None) -> int:
    """Count the rows that a gate's deterministic rule selected (of one policy, where its digest is given)."""
    if PROBABILITY not in table:
        return 0
    policies = table.get(POLICY, [None] * len(table[PROBABILITY]))
    rows = zip(table[PROBABILITY], policies, strict=True)
    return sum(str(chance) in ("0", "1") and policy in (None, rule) for chance, rule in rows)


def fails_positivity(table: Mapping[str, Sequence[Any]], *, policy: str | None = None) -> Insufficient | None:
    """Say why evidence with gate-selected rows bounds nothing for the rule that selected them; None where it has none.

    Args:
        table: Columns by name, such as the evidence's.
        policy: Digest of the policy that would use it; None: any gate's rule counts.
    """
    n = selected(table, policy=policy)
    if not n:
        return None
    whole = len(table[PROBABILITY])
    return Insufficient(
        reason_code="positivity",
        sentence=f"{n} of {whole} rows were selected by a gate's rule: in their context the other arm had no chance",
        diagnostics={"gate_selected": float(n), "rows": float(whole)},
    )


def _shared_context(usable: Iterable[Followed]) -> tuple[str, ...]:
    contexts = [
        {name for name, read in each.body["action"]["context"].items() if _value(read) is not None} for each in usable
    ]
    return tuple(sorted(set.intersection(*contexts)))


def _row(each: Followed, treatment: str, outcome: str, covariates: tuple[str, ...]) -> dict[str, Any]:
    action, decision = each.body["action"], each.body["decision"]
    enforced = decision["mode"] == "enforce"
    return {
        "decision": decision["id"],
        "told_at": each.told_at,
        "agent": action["agent"],
        treatment: action["to"] if each.ran else action["against"],
        outcome: each.value,
        **{name: _value(action["context"][name]) for name in covariates},
        VERDICT: decision["verdict"],
        POLICY: each.body["policy"]["digest"],
        PROBABILITY: _probability(each, enforced=enforced),
    }


def _probability(each: Followed, *, enforced: bool) -> str:
    # Whether a person approved a call is no rule of the gate's, and nobody knows its chance.
    if each.body["decision"]["reason"] == "approval_missing" or each.body.get("approval") is not None:
        return UNKNOWN
    executed = each.body["decision"]["verdict"] == "EXECUTE"
    # Where what ran is not what the rule says, somebody bypassed it, and nobody knows with what chance.
    if not enforced or executed != each.ran:
        return UNKNOWN
    return "1" if executed else "0"


def _value(read: Any) -> Any:
    return read.get("value") if isinstance(read, dict) else read
