"""The headline, and how numbers are said."""

from __future__ import annotations

from typing import TYPE_CHECKING

from butfor.confidence import Estimate, Interval
from butfor.report.happenings import in_short

if TYPE_CHECKING:
    from collections.abc import Sequence

    from butfor.attribution import Bill
    from butfor.report.data import ReportData
    from butfor.report.findings import Finding

KIND_WORDS = {
    "decisive": "one decisive step",
    "withheld": "withheld: the budget is too small",
    "always_fails": "always fails: the cause lies before or outside the steps",
    "flaky": "flaky task",
    "no_step_decisive": "no step decisive",
    "not_replayable": "not replayable",
}

QUANTITIES = {
    "v": "v(k): the expected outcome (1 is bad) when everything from step k on is decided again",
    "effect": "effect(k) = y − v(k): what deciding again from step k on would have saved",
    "blame": "blame(k) = v(k+1) − v(k): how much step k itself moved the outcome",
}


def headline(data: ReportData) -> str:
    """Say in one sentence which step decided, how sure that is, and what deciding it again would have saved."""
    finding = data.finding
    if data.scores is not None:
        return data.scores.sentence
    if finding is None:
        return "This run was not attributed yet."
    step = finding.decisive
    if finding.kind == "withheld" and finding.candidates:
        return _set_words(finding)
    if step is None or step >= len(data.run.steps):
        return finding.sentence
    sure = f"{1 - finding.alpha:.0%} confidence"
    said = f"Step {step}, {in_short(data.run.steps[step], 70)}, decided this outcome ({sure}){_saving(finding, step)}."
    return f"{said} {finding.caveat}".strip()


def _set_words(finding: Finding) -> str:
    """Say what a withheld answer does know: the steps of which one is the decisive one."""
    sure = f"with {1 - finding.alpha:.0%} confidence"
    named = steps_words(finding.candidates)
    if len(finding.steps) == len(finding.candidates) > 1:
        said = f"Withheld: the decisive step may be any of the {len(finding.candidates)} steps {named}"
    elif len(finding.candidates) == 1:
        said = f"If any step decided this outcome it is step {finding.candidates[0]} {sure}"
    else:
        said = f"The decisive step is one of {named} {sure}"
    likely = "" if finding.leading is None else f" (most likely step {finding.leading})"
    return f"{said}; the budget was too small to tell more{likely}. {finding.caveat}".strip()


def steps_words(steps: Sequence[int]) -> str:
    """Write a set of steps, with three or more neighbours as a stretch: {1, 4–9}."""
    stretches: list[list[int]] = []
    for step in sorted(steps):
        if stretches and stretches[-1][-1] == step - 1:
            stretches[-1].append(step)
        else:
            stretches.append([step])
    said = (f"{each[0]}–{each[-1]}" if len(each) > 2 else ", ".join(map(str, each)) for each in stretches)
    return "{" + ", ".join(said) + "}"


def price_words(finding: Finding) -> str:
    """Say what a search saved, or did not, against a profile of the same run."""
    calls, whole = finding.policy_calls, finding.profile_calls
    if not whole or not calls:
        return ""
    profile = f"`profile` would make about {whole:,}"
    if finding.kind == "withheld":  # there is no saving in stopping without an answer
        return f"Spent: {amount(calls, 'policy call')}; {profile}."
    if calls < whole:
        return (
            f"Saved: {1 - calls / whole:.0%} of the policy calls; {calls:,} were made, {profile} "
            f"({whole / calls:.1f} times as many)."
        )
    return f"Nothing saved: {amount(calls, 'policy call')} were made, {profile}."


def _saving(finding: Finding, step: int) -> str:
    known = finding.of(step)
    if known is None or not isinstance(known.effect, Estimate):
        return ""
    before, after = number(finding.factual), number(known.v)
    low, high = number_of(known.effect.lower), number_of(known.effect.upper)
    return (
        f"; decided again from there, the expected outcome falls from {before} to {after} "
        f"(saving {number(known.effect)}, between {low} and {high})"
    )


def number(value: Interval, *, signed: bool = False) -> str:
    """Write a point estimate with two decimals; what is undefined says so."""
    if not isinstance(value, Estimate):
        return "undefined"
    return number_of(value.point, signed=signed)


def number_of(value: float, *, signed: bool = False) -> str:
    """Write a number with two decimals, a true minus sign, and no sign on what rounds to zero."""
    text = f"{value:+.2f}" if signed else f"{value:.2f}"
    return "0.00" if text in ("-0.00", "+0.00") else text.replace("-", "−")


def bounds(value: Interval, *, signed: bool = False) -> str:
    """Write bounds as [lower, upper]; what is undefined gives its reason."""
    if not isinstance(value, Estimate):
        return value.reason
    return f"[{number_of(value.lower, signed=signed)}, {number_of(value.upper, signed=signed)}]"


def amount(count: float, word: str, plural: str | None = None) -> str:
    """Write a count with its noun."""
    number_ = f"{count:,.0f}"
    return f"{number_} {word if number_ == '1' else plural or word + 's'}"


def score_words(published: float | None) -> str:
    """Write a published score, which is 0 or 1."""
    return "none" if published is None else f"{published:g}"


def commit_words(finding: Finding) -> str:
    """Say where the commit point is."""
    margin = f"{finding.margins.get('commit', 0.1):.2f}"
    points = finding.commit_points
    if not points:
        return "Commit point: not estimated."
    if points == (None,):
        return f"Commit point at margin {margin}: none, no step's effect is above the margin."
    if finding.commit_point is not None:
        return f"Commit point at margin {margin}: step {finding.commit_point}, the last chance to save the run."
    named = [str(each) for each in points if each is not None]
    steps = f"step {named[0]}" if len(named) == 1 else f"one of steps {', '.join(named[:-1])} and {named[-1]}"
    return f"Commit point at margin {margin}: {steps}{', or none' if None in points else ''}; the bounds do not tell."


def margins_words(finding: Finding) -> str:
    """Name α and the margins."""
    names = {"alpha": "α", "commit": "δ (commit)", "decisive": "δ_d (decisive)", "tie": "δ_tie"}
    return ", ".join(f"{names.get(name, name)} = {value:g}" for name, value in finding.margins.items())


def bill_words(bill: Bill) -> list[tuple[str, str]]:
    """List a bill, line by line."""
    before = f" (of these {bill.found:,} were bought before)" if bill.found else ""
    tokens = f"{bill.prompt_tokens + bill.completion_tokens:,}"
    return [
        ("Rollouts", f"{bill.rollouts:,}{before}"),
        ("Policy calls", f"{bill.policy_calls:,}"),
        ("Tokens", f"{tokens} ({bill.prompt_tokens:,} sent, {bill.completion_tokens:,} answered)"),
        ("Money", "not priced" if bill.money is None else f"{bill.money:,.4f}"),
        ("Seconds", f"{bill.seconds:.1f} from start to end"),
        ("Tool calls in rollouts", answered_words(bill)),
        (
            "Rollouts ended",
            ", ".join(f"{count:,} {status}" for status, count in sorted(bill.statuses.items())) or "none",
        ),
    ]


def answered_words(bill: Bill) -> str:
    """Say who answered the tool calls that were not held."""
    return ", ".join(f"{count:,} {name}" for name, count in bill.tool_calls.items()) or "none"
