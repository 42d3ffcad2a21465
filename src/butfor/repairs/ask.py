"""How a repair is to look."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Literal, TypeAlias

from butfor.errors import InputError
from butfor.repairs.candidates import SCREENING
from butfor.repairs.proposers.resamples import DRAWS
from butfor.repairs.standard import Standard

Locate: TypeAlias = Literal["blame", "responsibility"]


@dataclass(frozen=True, kw_only=True)
class RepairAsk:
    """How a repair is to look.

    Attributes:
        steps: The steps to repair; empty: the blamed ones.
        locate: How the blamed ones are found: by the stored attribution or a search; or by responsibility, from the
            proposals themselves.
        most_steps: How many of the blamed steps are tried, the most blamed first.
        standard: What a repair must show.
        proposals: Proposals of each proposer for each step.
        resamples: Draws of the policy that are looked at for proposals; 0 asks it for none.
        argument_edits: Whether structured edits of tool calls are proposed.
        screening: Draws that rank a candidate; 0 ranks by size alone.
        wanted: Accepted repairs after which the search ends.
        shrink_calls: Candidates that shrinking looks at; 0 shrinks nothing.
        secrets: Literals that only the verifier knows, for the leak check.
    """

    steps: tuple[int, ...] = ()
    locate: Locate = "blame"
    most_steps: int = 3
    standard: Standard = field(default_factory=Standard)
    proposals: int = 8
    resamples: int = DRAWS
    argument_edits: bool = True
    screening: int = SCREENING
    wanted: int = 1
    shrink_calls: int = 32
    secrets: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if (
            min(self.most_steps, self.proposals, self.wanted) < 1
            or min(self.resamples, self.screening, self.shrink_calls) < 0
        ):
            raise InputError(
                "a repair needs at least one step, one proposal and one wanted repair, and no negative count",
                fix="raise what is too small",
            )

    def to_json(self) -> dict[str, Any]:
        """Return plain JSON values; the secrets are only counted."""
        return {
            "steps": list(self.steps),
            "locate": self.locate,
            "most_steps": self.most_steps,
            "target": self.standard.target,
            "alpha": self.standard.alpha,
            "most": self.standard.most,
            "graded": self.standard.graded,
            "proposals": self.proposals,
            "resamples": self.resamples,
            "argument_edits": self.argument_edits,
            "screening": self.screening,
            "wanted": self.wanted,
            "shrink_calls": self.shrink_calls,
            "secrets": len(self.secrets),
        }
