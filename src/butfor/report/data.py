"""What a report is drawn from: one value, so that a page and a terminal tell the same story."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping

    from butfor.attribution import Bill
    from butfor.report.examples import Example
    from butfor.report.findings import Finding
    from butfor.report.repairs import RepairsView
    from butfor.report.scores import Scores
    from butfor.runs import Run

SCHEMA = "butfor-report/1"


@dataclass(frozen=True, kw_only=True)
class Reproduction:
    """How to get the same numbers again.

    Attributes:
        commands: Command lines, in order.
        facts: What else must be equal, by name: fingerprint, versions, settings.
    """

    commands: tuple[str, ...] = ()
    facts: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, kw_only=True)
class ReportData:
    """A run, and what is known about it.

    Attributes:
        run: The recorded run.
        finding: The answer of a profile or a search; None where another method answered, or nothing was asked yet.
        scores: The answer of a method that gives each step one number: Shapley values, responsibility.
        result_id: The stored answer's name.
        bill: What the answer cost; None without an answer.
        notes: What a reader must know before trusting the answer, in sentences.
        assumptions: What must hold for the intervals, in sentences.
        methods: How the intervals were computed.
        examples: Rollouts to show beside the original: one a step, and those asked for.
        reproduction: How to get the same numbers again.
        repairs: What the last repair of the run answered.
    """

    run: Run
    finding: Finding | None = None
    scores: Scores | None = None
    result_id: str | None = None
    bill: Bill | None = None
    notes: tuple[str, ...] = ()
    assumptions: tuple[str, ...] = ()
    methods: tuple[str, ...] = ()
    examples: tuple[Example, ...] = ()
    reproduction: Reproduction = Reproduction()
    repairs: RepairsView | None = None

    def examples_of(self, step: int) -> tuple[Example, ...]:
        """Return the rollouts that show what else could have happened from a step on."""
        return tuple(each for each in self.examples if each.step == step)

    def to_json(self) -> dict[str, Any]:
        """Return plain JSON values; the run is in its own canonical form."""
        return {
            "schema": SCHEMA,
            "run_id": self.run.run_id,
            "result_id": self.result_id,
            "finding": None if self.finding is None else self.finding.to_json(),
            "scores": None if self.scores is None else self.scores.to_json(),
            "bill": None if self.bill is None else self.bill.to_json(),
            "notes": list(self.notes),
            "assumptions": list(self.assumptions),
            "methods": list(self.methods),
            "repairs": None if self.repairs is None else dataclasses.asdict(self.repairs),
            "examples": [each.to_json() for each in self.examples],
            "reproduce": {"commands": list(self.reproduction.commands), **self.reproduction.facts},
        }
