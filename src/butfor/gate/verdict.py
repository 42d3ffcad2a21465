"""The published table: every reason, the verdict that it gives, the exit code and what it means."""

from __future__ import annotations

import types
from typing import TYPE_CHECKING, Literal, NamedTuple, TypeAlias

if TYPE_CHECKING:
    from collections.abc import Mapping

Verdict: TypeAlias = Literal["EXECUTE", "REJECT", "EXPERIMENT", "ABSTAIN"]

Reason: TypeAlias = Literal[
    "bound_met",
    "shown_harmful",
    "insufficient_evidence",
    "cost_exceeded",
    "risk_exceeded",
    "positivity",
    "stale",
    "graph_falsified",
    "not_robust",
    "budget_exhausted",
    "error",
    "not_identified_reversible",
    "insufficient_reversible",
    "not_identified",
    "unknown_tool",
    "unusable_call",
    "not_committed",
    "context_unavailable",
    "policy_not_signed",
    "approval_missing",
]

EXIT_CODES: Mapping[Verdict, int] = types.MappingProxyType(
    {"EXECUTE": 0, "REJECT": 10, "EXPERIMENT": 11, "ABSTAIN": 12}
)
"""What `butfor gate decide` exits with; 2 is unusable input, as everywhere."""


class ReasonRow(NamedTuple):
    """One row of the table.

    Attributes:
        verdict: The verdict that the reason gives.
        exit_code: Exit code of `butfor gate decide`.
        sentence: What the reason means.
    """

    verdict: Verdict
    exit_code: int
    sentence: str


def _row(verdict: Verdict, sentence: str) -> ReasonRow:
    return ReasonRow(verdict=verdict, exit_code=EXIT_CODES[verdict], sentence=sentence)


REASONS: Mapping[Reason, ReasonRow] = types.MappingProxyType(
    {
        "bound_met": _row(
            "EXECUTE", "the effect is identified, its lower bound is above τ_u, and cost and risk are within limits"
        ),
        "shown_harmful": _row(
            "REJECT", "the upper bound of the effect is below τ_u: the action is shown to be harmful"
        ),
        "insufficient_evidence": _row("REJECT", "the evidence does not put the lower bound of the effect above τ_u"),
        "cost_exceeded": _row("REJECT", "the declared cost of the action is above τ_c"),
        "risk_exceeded": _row("REJECT", "the bound on the risk is above τ_r, or there is none"),
        "positivity": _row("REJECT", "units like these hardly ever got one of the two treatments"),
        "stale": _row("REJECT", "the evidence is older than the policy allows, or drifts over its window"),
        "graph_falsified": _row("REJECT", "the evidence contradicts an independence that the graph implies"),
        "not_robust": _row("REJECT", "the verdict does not survive a change of the graph that the policy demands"),
        "budget_exhausted": _row("REJECT", "the error budget of this family, or of the agent's share, is used up"),
        "error": _row("REJECT", "something unexpected happened, so nothing was proven"),
        "not_identified_reversible": _row(
            "EXPERIMENT", "the effect is not identified, and a trial of this reversible, cheap action may find it"
        ),
        "insufficient_reversible": _row(
            "EXPERIMENT", "the evidence is too thin, and a trial of this reversible, cheap action may add to it"
        ),
        "not_identified": _row("ABSTAIN", "the effect is not identified and a trial is not allowed: nothing runs"),
        "unknown_tool": _row("ABSTAIN", "the policy has no entry for this tool call"),
        "unusable_call": _row("ABSTAIN", "the tool call has no strict canonical form, or lacks what its entry reads"),
        "not_committed": _row("ABSTAIN", "the graph has no approved and unexpired commitment, or it is another graph"),
        "context_unavailable": _row("ABSTAIN", "a context variable could not be read, was too old or came too late"),
        "policy_not_signed": _row("ABSTAIN", "the operator's trust file has no approver who signed this very policy"),
        "approval_missing": _row("ABSTAIN", "it is proven, and the policy demands an approval of this exact call too"),
    }
)
"""Every reason; anything that is not ``bound_met`` fails closed."""


def reasons_table() -> str:
    """Return the table as Markdown, as docs/gate.md has it."""
    rows = [f"| `{reason}` | {row.verdict} | {row.exit_code} | {row.sentence} |" for reason, row in REASONS.items()]
    return "\n".join(["| reason | verdict | exit code | what it means |", "|---|---|---|---|", *rows])
