"""The answers that an attribution can give, and how they are said."""

from __future__ import annotations

from enum import Enum
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence


class AnswerKind(Enum):
    """What an attribution answers. Only the first names a step; all are ordinary answers."""

    DECISIVE = "decisive"
    WITHHELD = "withheld"
    ALWAYS_FAILS = "always_fails"
    FLAKY = "flaky"
    NO_STEP_DECISIVE = "no_step_decisive"
    NOT_REPLAYABLE = "not_replayable"


class Role(Enum):
    """What one step did to the outcome."""

    DECISIVE = "decisive"
    CONTRIBUTES = "contributes"
    MECHANICAL = "mechanical"
    HELPED = "helped"
    NO_EFFECT = "no effect"
    RULED_OUT = "ruled out"
    INCONCLUSIVE = "inconclusive"
    NOT_REPLAYABLE = "not replayable"


ROLE_WORDS = {
    Role.DECISIVE: "the failure was decided here",
    Role.CONTRIBUTES: "it made the failure more likely",
    Role.MECHANICAL: "decided again it comes out the same: it executes what an earlier step decided",
    Role.HELPED: "it made the failure less likely",
    Role.NO_EFFECT: "it did not change the outcome by more than the margin",
    Role.RULED_OUT: "shown not to be the decisive step; how much it contributed was not settled",
    Role.INCONCLUSIVE: "too few draws to tell",
    Role.NOT_REPLAYABLE: "it cannot be decided again from what was recorded",
}


def sentence(
    kind: AnswerKind,
    *,
    candidates: Sequence[int],
    leading: int | None,
    alpha: float,
    unsupported: Mapping[str, int],
    rollouts: int,
) -> str:
    """Say an answer in one or two sentences.

    Args:
        kind: The answer.
        candidates: The steps that may still be decisive.
        leading: The step with the largest estimated blame.
        alpha: Error level of the set.
        unsupported: Tool to the number of rollouts that it left unanswered.
        rollouts: Rollouts in all.
    """
    said = _sentence(kind, candidates, leading, alpha)
    if unsupported and kind in (AnswerKind.WITHHELD, AnswerKind.NOT_REPLAYABLE):
        tool, count = max(unsupported.items(), key=lambda item: item[1])
        share = sum(unsupported.values()) / max(rollouts, 1)
        said += (
            f" {share:.0%} of the rollouts could not be answered, {count} of them for the tool {tool!r}: "
            "register a simulator for it."
        )
    return said


def _sentence(kind: AnswerKind, candidates: Sequence[int], leading: int | None, alpha: float) -> str:
    sure = f"{1 - alpha:.0%}"
    match kind:
        case AnswerKind.DECISIVE:
            return f"Step {candidates[0]} is the decisive step ({sure} confidence)."
        case AnswerKind.WITHHELD:
            most = "" if leading is None else f" (most likely step {leading})"
            where = f"between steps {candidates[0]} and {candidates[-1]}" if candidates else "among all steps"
            return f"Withheld: the budget is too small; the decisive step lies {where}{most}."
        case AnswerKind.ALWAYS_FAILS:
            return "The run fails whatever is decided: the cause lies before the steps or outside them."
        case AnswerKind.FLAKY:
            return "The task is flaky: deciding everything again often succeeds, yet no single step is decisive."
        case AnswerKind.NO_STEP_DECISIVE:
            return "No step is decisive: none moved the outcome by as much as the margin."
        case AnswerKind.NOT_REPLAYABLE:
            return "Not replayable: no rollout gave an outcome."
