"""Outcomes from what a source says of itself: scores, rewards and labels."""

from __future__ import annotations

from typing import TYPE_CHECKING

from butfor.importers.fields import kept, printable, real
from butfor.runs import Outcome

if TYPE_CHECKING:
    from butfor.canonical import Json
    from butfor.importers.tally import Ignored

# Inspect's letters (correct, incorrect, partial, no answer) and words that mean the same.
_WORDS = {
    "c": 1.0,
    "i": 0.0,
    "p": 0.5,
    "n": 0.0,
    "true": 1.0,
    "false": 0.0,
    "pass": 1.0,
    "fail": 0.0,
    "passed": 1.0,
    "failed": 0.0,
    "correct": 1.0,
    "incorrect": 0.0,
    "yes": 1.0,
    "no": 0.0,
}


LABELS = ("reward", "score", "success", "resolved", "is_correct", "correct", "passed")
"""The usual names of a label beside a conversation; high is good in each."""


def goodness(score: Json) -> float | None:
    """Read a score as a number in [0, 1] where 1 is good; None where it is on another scale."""
    if isinstance(score, bool):
        return float(score)
    if isinstance(score, str) and score.strip().lower() in _WORDS:
        return _WORDS[score.strip().lower()]
    number = real(score)
    return number if number is not None and 0 <= number <= 1 else None


def outcome_of(score: Json, rule: str, ignored: Ignored, detail: Json = None) -> Outcome | None:
    """Return y = 1 − score (1 = bad), None where there is no score, or none on a scale of 0 to 1.

    Args:
        score: A number, boolean, letter or word; higher is better.
        rule: The scorer's name.
        ignored: Where a score on another scale is counted.
        detail: What else the source says of it.
    """
    good = goodness(score)
    if good is None:
        if score is not None:
            ignored.add(f"score {rule} (not on a scale of 0 to 1)")
        return None
    return Outcome(value=1.0 - good, rule=printable(rule)[:200], source="label", detail=kept(detail))


def first_outcome(record: dict[str, Json], ignored: Ignored) -> Outcome | None:
    """Return the outcome from the usual names of a label beside a conversation."""
    for name in LABELS:
        if record.get(name) is not None:
            return outcome_of(record[name], name, ignored)
    return None
