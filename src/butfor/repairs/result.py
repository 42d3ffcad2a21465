"""A repair, and everything that was tried on the way to it, as plain data."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

from butfor.attribution import Bill
from butfor.repairs.edits import Edit
from butfor.repairs.proposal import Proposal
from butfor.repairs.verdict import Verdict

if TYPE_CHECKING:
    from butfor.canonical import Json

RepairKind: TypeAlias = Literal["validated", "predicted"]

ONE_MINIMAL = "1-minimal (deterministic tail)"
NO_SMALLER = "no smaller edit was accepted at this budget"
ONE_PIECE = "one hunk: there is nothing smaller but the factual action"
NOT_SHRUNK = "not shrunk"


@dataclass(frozen=True, kw_only=True)
class Repair:
    """One step's action, and what should have stood in its place.

    Attributes:
        run_id: The run.
        step: k.
        outcome: What counted as bad, as the user wrote it.
        factual: The recorded action, in short form.
        repaired: The new one.
        proposal: Where it came from; that of the larger repair, where it was shrunk.
        verdict: What was shown about it; None for a predicted one, about which nothing was.
        edit: How large it is.
        shrunk_from: The larger repair that was accepted first; None where this is it.
        minimality: What is claimed about smaller ones.
        kind: `validated` by rollouts; `predicted` by a model, never validated, never exported.
        predicted: The predictor's P(success), for a predicted one.
    """

    run_id: str
    step: int
    outcome: str
    factual: Json
    repaired: Json
    proposal: Proposal
    verdict: Verdict | None
    edit: Edit
    shrunk_from: Json = None
    minimality: str = NOT_SHRUNK
    kind: RepairKind = "validated"
    predicted: float | None = None

    @property
    def exportable(self) -> bool:
        """Whether anything may be learnt from it: shown by rollouts, and without a literal of the verifier's."""
        return (
            self.kind == "validated" and self.verdict is not None and self.verdict.accepted and not self.proposal.leaks
        )

    def to_json(self) -> dict[str, Any]:
        """Return plain JSON values."""
        return {
            "run_id": self.run_id,
            "step": self.step,
            "outcome": self.outcome,
            "factual": self.factual,
            "repaired": self.repaired,
            "proposal": self.proposal.to_json(),
            "verdict": None if self.verdict is None else self.verdict.to_json(),
            "edit": self.edit.to_json(),
            "shrunk_from": self.shrunk_from,
            "minimality": self.minimality,
            "kind": self.kind,
            "predicted": self.predicted,
        }

    @classmethod
    def from_json(cls, document: dict[str, Any]) -> Repair:
        """Read what `to_json` gave."""
        verdict = document["verdict"]
        return cls(
            **document
            | {
                "proposal": Proposal.from_json(document["proposal"]),
                "verdict": None if verdict is None else Verdict.from_json(verdict),
                "edit": Edit.from_json(document["edit"]),
            }
        )


@dataclass(frozen=True, kw_only=True)
class Tried:
    """One candidate that was held against the null arm.

    Attributes:
        proposal: The candidate.
        verdict: What was shown.
        distance: Its edit distance.
    """

    proposal: Proposal
    verdict: Verdict
    distance: int

    def to_json(self) -> dict[str, Any]:
        """Return plain JSON values."""
        return {"proposal": self.proposal.to_json(), "verdict": self.verdict.to_json(), "distance": self.distance}

    @classmethod
    def from_json(cls, document: dict[str, Any]) -> Tried:
        """Read what `to_json` gave."""
        return cls(
            proposal=Proposal.from_json(document["proposal"]),
            verdict=Verdict.from_json(document["verdict"]),
            distance=document["distance"],
        )


FUNNEL = ("proposed", "no-ops", "duplicates", "unusable", "leaking", "failed screening", "tested", "accepted", "shrunk")
"""What became of proposals, in order."""


@dataclass(frozen=True, kw_only=True)
class RepairAnswer:
    """What `repair` answers.

    Attributes:
        result_id: Its name in the store.
        run_id: The run.
        steps: The steps that were to be repaired.
        located: How they were found, in a sentence.
        repairs: Accepted repairs, the smallest edit first.
        tried: Every candidate that was tested, in order.
        funnel: What became of the proposals, by the names of `FUNNEL`.
        bill: What it cost.
        notes: What a reader must know.
        stopped: Why it ended early; None where it did not.
        settings: What it was asked with.
    """

    result_id: str
    run_id: str
    steps: tuple[int, ...]
    located: str
    repairs: tuple[Repair, ...]
    tried: tuple[Tried, ...]
    funnel: dict[str, int]
    bill: Bill
    notes: tuple[str, ...] = ()
    stopped: str | None = None
    settings: dict[str, Any] = field(default_factory=dict)

    @property
    def sentence(self) -> str:
        """The answer in words."""
        if self.repairs:
            best = self.repairs[0]
            what = f"Step {best.step} is repaired by an edit of {_counted(best.edit)}"
            return f"{what}. {best.verdict.sentence if best.verdict else 'It is predicted, not validated.'}"
        if not self.steps:
            return f"No repair: {self.located}"
        if self.stopped:
            return f"No repair yet: {self.stopped}."
        if not self.tried:
            return "No repair: no proposal was left to test. " + _left(self.funnel)
        undecided = sum(each.verdict.decision == "undecided" for each in self.tried)
        if undecided:
            return (
                f"No repair was shown: {undecided} of {len(self.tried)} tested proposals stayed undecided; "
                "more draws or a lower target may decide them."
            )
        return f"No repair: all {len(self.tried)} tested proposals are rejected."

    def to_json(self) -> dict[str, Any]:
        """Return plain JSON values."""
        return {
            "result_id": self.result_id,
            "run_id": self.run_id,
            "sentence": self.sentence,
            "steps": list(self.steps),
            "located": self.located,
            "repairs": [each.to_json() for each in self.repairs],
            "tried": [each.to_json() for each in self.tried],
            "funnel": dict(self.funnel),
            "bill": self.bill.to_json(),
            "notes": list(self.notes),
            "stopped": self.stopped,
            "settings": self.settings,
        }

    @classmethod
    def from_json(cls, document: dict[str, Any]) -> RepairAnswer:
        """Read what `to_json` gave."""
        plain = {name: value for name, value in document.items() if name != "sentence"}
        return cls(
            **plain
            | {
                "steps": tuple(document["steps"]),
                "repairs": tuple(Repair.from_json(each) for each in document["repairs"]),
                "tried": tuple(Tried.from_json(each) for each in document["tried"]),
                "bill": Bill.from_json(document["bill"]),
                "notes": tuple(document["notes"]),
            }
        )


_WORDS = {"token": ("token", "tokens"), "ast": ("syntax node", "syntax nodes"), "json": ("JSON path", "JSON paths")}


def _counted(edit: Edit) -> str:
    one, many = _WORDS[edit.kind]
    return f"{edit.distance} {one if edit.distance == 1 else many}"


def _left(funnel: dict[str, int]) -> str:
    said = [f"{funnel[name]} {name}" for name in FUNNEL if funnel.get(name)]
    return f"({', '.join(said)})" if said else "Nothing was proposed."
