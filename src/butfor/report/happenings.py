"""What a step did and what it was told, in lines that a reader can compare."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING

from butfor import canonical
from butfor.report.visible import compact, cut, one_line, readable, readable_json, visible
from butfor.runs import Observation, Text, ToolCall

if TYPE_CHECKING:
    from butfor.canonical import Json
    from butfor.runs import Run, Step

WHO_ANSWERED = {
    "held": "served from the recording",
    "live": "answered live",
    "simulated": "answered by a simulator",
    "recorded": "answered from the recording",
    "forced": "set by the intervention",
    "policy": "decided by the policy",
}


@dataclass(frozen=True, kw_only=True)
class Line:
    """One thing that a step did, or one thing that it was told.

    Attributes:
        label: What it is: `says`, `calls refund`, `refund returned`.
        text: What was said, called with, or returned.
        answered: Who answered, for observations.
        is_error: Whether a tool reported a failure.
    """

    label: str
    text: str
    answered: str = ""
    is_error: bool = False


@dataclass(frozen=True, kw_only=True)
class Happening:
    """A step as it happened.

    Attributes:
        step: k.
        action: What the policy decided.
        observations: What the tools returned.
    """

    step: int
    action: tuple[Line, ...]
    observations: tuple[Line, ...]


def happening(step: Step) -> Happening:
    """Write a step's parts as lines."""
    names = {call.call_id: call.name for call in step.tool_calls}
    return Happening(
        step=step.index,
        action=tuple(_action(part) for part in step.parts if not isinstance(part, Observation)),
        observations=tuple(_observation(part, names) for part in step.observations),
    )


def _action(part: Text | ToolCall) -> Line:
    if isinstance(part, ToolCall):
        return Line(label=f"calls {one_line(part.name, 60)}", text=cut(readable(part.arguments)))
    words = {"reasoning": "thinks", "final_answer": "answers"}
    return Line(label=words.get(part.kind.value, "says"), text=cut(readable(part.content)))


def _observation(part: Observation, names: dict[str, str]) -> Line:
    extra = part.extra.get()
    known = extra if isinstance(extra, dict) else {}
    tool = str(known.get("tool") or names.get(part.call_id or "") or "the environment")
    verb = "failed" if part.is_error else "returned"
    return Line(
        label=f"{one_line(tool, 60)} {verb}",
        text=cut(readable(part.content)),
        answered=_who(known.get("answered")),
        is_error=part.is_error,
    )


def _who(answered: Json) -> str:
    return WHO_ANSWERED.get(str(answered), one_line(str(answered), 30)) if answered else ""


def in_short(step: Step, limit: int = 60) -> str:
    """Say on one line what a step decided: its calls, else what it said."""
    calls = [f"{call.name}({_arguments(call.arguments.get(), limit)})" for call in step.tool_calls]
    said = [compact(text.content, limit) for text in step.texts if text.kind.value != "reasoning"]
    return one_line(" + ".join(calls) or " ".join(said) or "(nothing)", limit)


def _arguments(arguments: Json, limit: int) -> str:
    """Write arguments as in a call: the picture has room for some thirty characters."""
    if isinstance(arguments, dict) and all(isinstance(key, str) for key in arguments):
        pairs = (f"{key}={_quoted(value)}" for key, value in arguments.items())
        return one_line(", ".join(pairs), limit)
    return one_line(readable_json(arguments, indent=None), limit)


def _quoted(value: Json) -> str:
    return (
        json.dumps(visible(value), ensure_ascii=False) if isinstance(value, str) else readable_json(value, indent=None)
    )


def action_key(step: Step) -> str:
    """What makes two actions the same: text and calls, without ids."""
    said = [text.content.get() for text in step.texts if text.kind.value != "reasoning"]
    return canonical.canonical([said, [[call.name, call.arguments.get()] for call in step.tool_calls]])


def observation_key(step: Step) -> str:
    """What makes two steps' observations the same."""
    return canonical.canonical([[part.content.get(), part.is_error] for part in step.observations])


def output_of(run: Run) -> str:
    """What the agent returned, on the page."""
    return cut(readable_json(run.output.get()), 4_000)
