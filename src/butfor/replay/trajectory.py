"""What an outcome looks at: a run or rollout as it happened, read lazily."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

from butfor import canonical
from butfor.replay import reading
from butfor.replay.assemble import assemble

if TYPE_CHECKING:
    from collections.abc import Sequence

    from butfor.canonical import Json
    from butfor.replay.crossings import Crossing
    from butfor.replay.journal import Journal
    from butfor.runs import Run


@dataclass(frozen=True, kw_only=True)
class ToolUse:
    """One tool call that was answered.

    Attributes:
        name: The tool.
        arguments: By parameter name.
        result: What it returned; None where it raised.
        error: What it raised, as text.
        step: The step that it follows.
        answered: Who answered: held, forced, simulated, recorded, live.
    """

    name: str
    arguments: Json
    result: Json
    error: str | None
    step: int
    answered: str


@dataclass(frozen=True, kw_only=True)
class Trajectory:
    """A finished execution.

    Attributes:
        journal: The recording that it is, or starts from.
        crossings: What passed the boundaries, in order of completion.
        task: What the agent was given.
        output: What it returned; None where it failed.
        failure: None, or how it failed: "timeout" or "raised".
        error: The message of what it raised.
    """

    journal: Journal
    crossings: Sequence[Crossing]
    task: Json
    output: Json = None
    failure: str | None = None
    error: str | None = None

    @cached_property
    def calls(self) -> tuple[ToolUse, ...]:
        """The tool calls, in order of completion."""
        return tuple(
            ToolUse(
                name=each.name,
                arguments=canonical.decode(each.middle),
                result=None if each.response is None else canonical.decode(each.response),
                error=each.error[1] if each.error else None,
                step=each.step,
                answered=each.answered,
            )
            for each in self.crossings
            if each.kind == "tool"
        )

    @cached_property
    def texts(self) -> tuple[str, ...]:
        """What the policy said, step by step; only steps with text."""
        readings = (
            reading.read(canonical.decode(each.response))
            for each in self.crossings
            if each.kind == "model" and each.response is not None
        )
        return tuple(each.text for each in readings if each.text)

    @cached_property
    def run(self) -> Run:
        """The whole execution as a `Run`; built when asked for, since a model object a crossing would be dear."""
        return assemble(self.journal, self.crossings, run_id="trajectory", output=self.output)
