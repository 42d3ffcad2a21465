"""Repairs as a reader sees them: what changes, word by word, and what was shown about both arms."""

from __future__ import annotations

from dataclasses import dataclass
from difflib import SequenceMatcher
from typing import TYPE_CHECKING

from butfor.confidence import Estimate, Interval
from butfor.repairs import FUNNEL, Repair, RepairAnswer, answers_of
from butfor.repairs.edits import readable, tokens
from butfor.repairs.verdict import number
from butfor.report.visible import cut, one_line
from butfor.report.wording import amount

if TYPE_CHECKING:
    from butfor.repairs import Proposal, Tried, Verdict
    from butfor.store import Storage

Pieces = tuple[tuple[str, bool], ...]
"""(text, whether it is on this side only), in order."""


@dataclass(frozen=True, kw_only=True)
class ArmView:
    """One arm's line in a table and a picture.

    Attributes:
        name: Which arm.
        interval: P(success).
        said: The interval in words.
        draws: How it was bought.
    """

    name: str
    interval: Interval
    said: str
    draws: str

    @property
    def bar(self) -> tuple[float, float, float] | None:
        """(lower, point, upper) in percent of the axis; None where there is no interval."""
        found = self.interval
        return (100 * found.lower, 100 * found.point, 100 * found.upper) if isinstance(found, Estimate) else None


@dataclass(frozen=True, kw_only=True)
class RepairView:
    """A repair as a page and a terminal show it."""

    title: str
    before: Pieces
    after: Pieces
    arms: tuple[ArmView, ...]
    lines: tuple[str, ...]
    step: int


@dataclass(frozen=True, kw_only=True)
class RepairsView:
    """What a repair answered.

    Attributes:
        sentence: The answer in words.
        located: How the steps were found.
        repairs: Accepted ones.
        tried: (source, what, verdict) of every tested candidate.
        funnel: (name, count) of what became of the proposals.
        notes: What a reader must know.
        price: What it cost.
    """

    sentence: str
    located: str
    repairs: tuple[RepairView, ...]
    tried: tuple[tuple[str, str, str], ...]
    funnel: tuple[tuple[str, int], ...]
    notes: tuple[str, ...]
    price: str


def read_repairs(store: Storage, run_id: str) -> RepairsView | None:
    """Read the last answer about a run's repair; None where none was asked for."""
    answers = answers_of(store, run_id)
    return view_of(answers[-1]) if answers else None


def view_of(answer: RepairAnswer) -> RepairsView:
    """Make an answer ready to be shown."""
    return RepairsView(
        sentence=answer.sentence,
        located=answer.located,
        repairs=tuple(_view(each) for each in answer.repairs),
        tried=tuple(_tried(each) for each in answer.tried),
        funnel=tuple((name, answer.funnel[name]) for name in FUNNEL if answer.funnel.get(name)),
        notes=answer.notes,
        price=str(answer.bill),
    )


def _view(repair: Repair) -> RepairView:
    before, after = _pieces(readable(repair.factual), readable(repair.repaired))
    kind = "" if repair.kind == "validated" else " (predicted by a model, validated by nothing)"
    return RepairView(
        title=f"Step {repair.step}: what should have been decided{kind}",
        before=before,
        after=after,
        arms=() if repair.verdict is None else _arms(repair.verdict),
        lines=tuple(_lines(repair)),
        step=repair.step,
    )


def _arms(verdict: Verdict) -> tuple[ArmView, ...]:
    proven = verdict.deterministic
    return (
        ArmView(
            name="repaired",
            interval=verdict.success,
            said=_said(verdict.success),
            draws="1 rollout, proven deterministic" if proven else amount(verdict.draws, "rollout"),
        ),
        ArmView(
            name="decided again",
            interval=verdict.null,
            said=_said(verdict.null),
            draws=amount(verdict.null_draws, "rollout"),
        ),
    )


def _lines(repair: Repair) -> list[str]:
    edit, verdict = repair.edit, repair.verdict
    unit = {"token": "token", "ast": "syntax node", "json": "JSON path"}[edit.kind]
    size, hunks = amount(edit.distance, unit), amount(len(edit.hunks), "hunk")
    score = "not defined" if edit.positional is None else f"{edit.positional:.2f}"
    lines = [f"Edit: {size} in {hunks}. {repair.minimality[0].upper()}{repair.minimality[1:]}."]
    if repair.shrunk_from is not None:
        lines.append(f"Shrunk from: {one_line(readable(repair.shrunk_from), 300)}")
    lines.append(f"Published positional score, for comparison: {score}.")
    lines.append(f"Proposed by: {source_words(repair.proposal)}.")
    if verdict is not None:
        lines.append(
            f"Lift {_said(verdict.lift, signed=True)}; hypothesis {verdict.hypothesis} of this failure, tested at "
            f"level {verdict.level:.2g} so that all of them together err with probability at most {verdict.alpha:g}."
        )
    if repair.predicted is not None:
        lines.append(f"Predicted P(success) {repair.predicted:.2f}: a model's guess, never exported.")
    if repair.proposal.leaks:
        lines.append(f"Contains what only the verifier knows: {', '.join(repair.proposal.leaks)}. It is not exported.")
    return lines


def source_words(proposal: Proposal) -> str:
    """Say where a proposal came from."""
    origin = proposal.origin
    match proposal.source:
        case "resample":
            return f"the policy itself, in {origin.get('drawn', '?')} of its own draws"
        case "model":
            return f"the model {origin.get('model')}, asked with the template {origin.get('template')}"
        case "argument_edit":
            return f"a structured edit of the tool call ({origin.get('rule')})"
        case "user":
            return f"the user ({origin.get('from', 'given')})"
        case _:
            return proposal.source.replace("_", " ")


def _tried(tried: Tried) -> tuple[str, str, str]:
    what = f"step {tried.proposal.step}: {one_line(readable(tried.proposal.action), 120)}"
    return source_words(tried.proposal), what, tried.verdict.sentence


def _pieces(before: str, after: str) -> tuple[Pieces, Pieces]:
    """Split both texts into what they share and what only one of them has."""
    left, right = tokens(cut(before)), tokens(cut(after))
    ours: list[tuple[str, bool]] = []
    theirs: list[tuple[str, bool]] = []
    for tag, i, j, x, y in SequenceMatcher(None, left, right, autojunk=False).get_opcodes():
        if i < j:
            ours.append(("".join(left[i:j]), tag != "equal"))
        if x < y:
            theirs.append(("".join(right[x:y]), tag != "equal"))
    return tuple(ours), tuple(theirs)


def _said(interval: Interval, *, signed: bool = False) -> str:
    if not isinstance(interval, Estimate):
        return f"unknown ({interval.reason})"
    point, lower, upper = (number(each, signed=signed) for each in (interval.point, interval.lower, interval.upper))
    return point if interval.lower == interval.upper else f"{point} [{lower}, {upper}]"
