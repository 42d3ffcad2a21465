"""What a reader must know before trusting an answer."""

from __future__ import annotations

from typing import TYPE_CHECKING

from butfor.confidence import Estimate
from butfor.report.visible import one_line
from butfor.report.wording import amount
from butfor.runs import Replayability

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from butfor.attribution import Bill
    from butfor.report.findings import Finding
    from butfor.runs import Run


def notes_of(
    run: Run,
    finding: Finding | None,
    bill: Bill | None,
    *,
    told: Sequence[str] = (),
    stopped: str | None = None,
    complete: bool = True,
) -> tuple[str, ...]:
    """Collect the notes, most weighty first.

    Args:
        run: The run.
        finding: The answer, where there is one.
        bill: What it cost.
        told: What the attribution noticed while it worked.
        stopped: Why it ended early.
        complete: Whether everything that was planned was drawn.
    """
    notes = [*_of_grade(run), *_of_outcome(run, finding, told)]
    notes += _of_stopping(complete if finding is None else finding.complete, stopped)
    if finding is not None:
        notes += [*_of_unsupported(finding), *_of_missing(finding)]
    if bill is not None:
        notes += [*_of_calls(bill), *_of_endings(bill)]
    # The grade's fields are said already.
    notes += [_as_sentence(each) for each in told if each not in run.overall_grade.missing]
    return tuple(notes)


def _as_sentence(text: str) -> str:
    shown = one_line(text, 400)
    return shown[:1].upper() + shown[1:] + ("" if shown.endswith((".", "!", "?")) else ".")


def _of_grade(run: Run) -> Iterable[str]:
    grade = run.overall_grade
    if grade.level is Replayability.EXACT:
        return
    missing = "; ".join(one_line(each, 160) for each in grade.missing[:5]) or "content"
    more = f" (and {len(grade.missing) - 5} more)" if len(grade.missing) > 5 else ""
    verb = "cannot be replayed" if grade.level is Replayability.VIEW_ONLY else "may not replay faithfully"
    yield f"The run is graded {grade.level.label}: it {verb}. What is missing or differs: {missing}{more}."


def _of_outcome(run: Run, finding: Finding | None, told: Sequence[str]) -> Iterable[str]:
    if run.outcome is None:
        yield "The run has no outcome: nothing says yet whether it failed."
        return
    if run.outcome.source == "judge" and not any("judge" in each for each in told):
        yield "The outcome comes from a judge: effects are on the judge's score, and its bias is not corrected."
    if finding is not None and isinstance(finding.factual, Estimate) and finding.factual.width > 0:
        low, high = finding.factual.lower, finding.factual.upper
        yield f"The judge is noisy: asked again about the same run its mean score is between {low:.2f} and {high:.2f}."


def _of_stopping(complete: bool, stopped: str | None) -> Iterable[str]:
    if not complete or stopped:
        why = f" ({one_line(stopped, 200)})" if stopped else ""
        yield (
            f"Not everything that was planned was drawn{why}. The bounds hold whatever stopped it; asking again goes "
            "on from here without paying twice."
        )


def _of_unsupported(finding: Finding) -> Iterable[str]:
    for tool, count in sorted(finding.unsupported.items(), key=lambda each: (-each[1], each[0])):
        yield (
            f"{amount(count, 'rollout')} ended at the tool {one_line(tool, 60)!r}, which may not run in a rollout and "
            "which nothing recorded can answer; they count as both 0 and 1. A simulator for it would narrow the bounds."
        )


def _of_missing(finding: Finding) -> Iterable[str]:
    other = sum(each.missing - each.unsupported for each in finding.steps)
    if other > 0:
        yield f"{amount(other, 'rollout')} gave no outcome for another reason; they count as both 0 and 1."


def _of_calls(bill: Bill) -> Iterable[str]:
    if bill.tool_calls.get("live"):
        yield (
            f"{amount(bill.tool_calls['live'], 'tool call')} ran live in rollouts: they show the world as it was then, "
            "not as it was when the run was recorded."
        )
    if bill.tool_calls.get("simulated"):
        calls = amount(bill.tool_calls["simulated"], "tool call")
        yield f"{calls} went to a simulator: the answer is as good as the simulator."


def _of_endings(bill: Bill) -> Iterable[str]:
    words = {"timeout": "reached the time limit", "raised": "ended in an exception of the agent"}
    for status, said in words.items():
        if bill.statuses.get(status):
            yield f"{amount(bill.statuses[status], 'rollout')} {said}; that is a result and was not drawn again."
