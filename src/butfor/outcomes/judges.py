"""An outcome that asks a model: its score is noisy, and says so."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from butfor import canonical
from butfor.errors import OutcomeError

if TYPE_CHECKING:
    from collections.abc import Callable

    from butfor.replay.trajectory import Trajectory

WARNING = (
    "the outcome is a judge: y is the judge's mean on the factual run, and effects are on the judge's score; without a "
    "labelled set its bias is not corrected"
)

_NUMBER = re.compile(r"(?<![\w.])(?:0(?:\.\d+)?|1(?:\.0+)?)(?![\w.]*\d)")


@dataclass(frozen=True, kw_only=True)
class Judge:
    """A model that scores executions.

    Attributes:
        ask: Takes a prompt, returns the model's text; wrap it with `butfor.model`.
        rubric: What counts as bad, in words.
    """

    ask: Callable[[str], str]
    rubric: str

    butfor_noisy = True

    def __call__(self, trajectory: Trajectory) -> float:
        """Return the judge's score of one execution.

        Raises:
            OutcomeError: The model's answer has no number in [0, 1].
        """
        answer = self.ask(self.prompt(trajectory))
        numbers = _NUMBER.findall(answer)
        if not numbers:
            raise OutcomeError(
                f"the judge answered {answer[:60]!r}, which has no number from 0 to 1",
                fix="tell it in the rubric to end with the number alone",
            )
        return float(numbers[-1])

    def prompt(self, trajectory: Trajectory) -> str:
        """Write what the judge is asked: the rubric, the task, every tool call with its result, the output."""
        calls = "\n".join(
            f"- {call.name}({canonical.encode(call.arguments)}) -> {call.error or canonical.encode(call.result)}"
            for call in trajectory.calls
        )
        return (
            f"Score an agent's run from 0 (good) to 1 (bad).\nWhat counts as bad: {self.rubric}\n\n"
            f"Task: {canonical.encode(trajectory.task)}\nTool calls:\n{calls or '- none'}\n"
            f"Output: {canonical.encode(trajectory.output)}\n\nAnswer with the number alone."
        )


def is_noisy(function: object) -> bool:
    """Say whether an outcome function may give another number when asked again."""
    return bool(getattr(function, "butfor_noisy", False))
