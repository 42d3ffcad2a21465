"""An intervention compiled against a journal: what is held, what is forced, what is changed on its way."""

from __future__ import annotations

import importlib
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from butfor import canonical
from butfor.errors import CorruptRecord, InputError, NotFound
from butfor.replay import codecs, do, writing
from butfor.replay.session import Served

if TYPE_CHECKING:
    from collections.abc import Callable

    from butfor.canonical import Json
    from butfor.replay.crossings import Crossing
    from butfor.replay.journal import Journal

Address = tuple[str, int]


@dataclass(frozen=True, kw_only=True)
class Plan:
    """What a rollout does at each address.

    Attributes:
        journal: The recording.
        intervention: What it was compiled from.
        hold: Steps below this are held: their actions and observations are served from the journal.
        forced: Answers put in the place of recorded ones, by address.
        edits: Edits of the request, by address.
        policies: From which step on which policy decides, latest first.
    """

    journal: Journal
    intervention: do.Intervention
    hold: int
    forced: dict[Address, Served] = field(default_factory=dict)
    edits: dict[Address, Callable[[Json], Json]] = field(default_factory=dict)
    policies: tuple[tuple[int, Json], ...] = ()


def compile_plan(journal: Journal, intervention: do.Intervention) -> Plan:
    """Compile an intervention.

    Raises:
        InputError: A step or call that the run does not have.
    """
    count = len(journal.steps)
    forced: dict[Address, Served] = {}
    edits: dict[Address, Callable[[Json], Json]] = {}
    policies: list[tuple[int, Json]] = []
    hold = count
    for operation in intervention.operations:
        if operation.step >= count:
            raise NotFound(f"the run has no step {operation.step}", fix=f"its {count} steps are 0 to {count - 1}")
        step = journal.steps[operation.step]
        address = (step.lane, step.occurrence)
        hold = min(hold, operation.step + isinstance(operation, do.Observation))
        match operation:
            case do.Action():
                forced[address] = _forced_action(step, operation)
            case do.Observation():
                tool = _called_tool(journal, operation)
                forced[tool.lane, tool.occurrence] = _in_place_of(tool, operation, operation.value.get())
            case do.Context():
                edits[address] = _edit(operation.edit.get())
            case do.Policy():
                _check_policy(operation.policy.get())
                policies.append((operation.step, operation.policy.get()))
    return Plan(
        journal=journal,
        intervention=intervention,
        hold=hold,
        forced=forced,
        edits=edits,
        policies=tuple(sorted(policies, key=lambda each: -each[0])),
    )


def import_by_name(name: str, *, what: str) -> Any:
    """Import ``module:function``.

    Raises:
        NotFound: There is no such module or function.
    """
    module, colon, path = name.partition(":")
    try:
        found: Any = importlib.import_module(module)
        for part in path.split("."):
            found = getattr(found, part)
    except ModuleNotFoundError as error:
        if error.name is not None and not f"{module}.".startswith(f"{error.name}."):
            raise  # the module is there, and imports one that is not
        raise NotFound(f"cannot import {what} {name!r} ({error})", fix="write it as module:function") from None
    except (ImportError, AttributeError, ValueError) as error:
        raise NotFound(f"cannot import {what} {name!r} ({error})", fix="write it as module:function") from None
    if not colon:
        raise NotFound(f"cannot import {what} {name!r}", fix="write it as module:function")
    return found


def _check_policy(policy: Json) -> None:
    """Import a policy before anything is drawn; one that is not there would fail every rollout."""
    if isinstance(policy, dict) and "call" in policy:
        import_by_name(str(policy["call"]), what="the policy")


def _forced_action(step: Crossing, operation: do.Action) -> Served:
    recorded = canonical.decode(step.response) if step.response else None
    return _in_place_of(step, operation, writing.write_action(recorded, operation.action.get()))


def _in_place_of(crossing: Crossing, operation: do.Operation, value: Json) -> Served:
    """Answer in the type of the recorded answer, which the agent's code goes on with."""
    codec = crossing.codec
    if codecs.is_stream(codec):
        value = value if isinstance(value, list) else [value]
        codec = codecs.stream_like(codec, len(value))
    served = Served(canonical.encode_exact(value), codec)
    try:
        served.deliver()
    except CorruptRecord as error:
        raise InputError(
            f"the value of {operation.name}({operation.step}) cannot stand for the answer of {crossing.name!r} "
            f"({error.what})",
            fix="give the JSON form of that type",
        ) from None
    return served


def _called_tool(journal: Journal, operation: do.Observation) -> Crossing:
    calls = journal.tools_of(operation.step)
    names = [call.name for call in calls]
    wanted = operation.call
    if isinstance(wanted, str):
        calls = [call for call in calls if call.name == wanted]
        wanted = None
    if wanted is None and len(calls) == 1:
        return calls[0]
    if isinstance(wanted, int) and 0 <= wanted < len(calls):
        return calls[wanted]
    made = ", ".join(names) or "none"
    raise InputError(
        f"step {operation.step} has no single tool call {operation.call!r}; its calls are: {made}"
        if operation.call is not None
        else f"step {operation.step} did not make exactly one tool call; its calls are: {made}",
        fix="name one with call=",
    )


def _edit(edit: Json) -> Callable[[Json], Json]:
    if isinstance(edit, dict) and set(edit) == {"call"}:
        function: Callable[[Json], Json] = import_by_name(str(edit["call"]), what="the edit")
        return function
    if isinstance(edit, dict) and set(edit) == {"replace"} and len(edit["replace"]) == 2:
        old, new = edit["replace"]
        return lambda request: _replace(request, str(old), str(new))
    raise InputError(
        f"cannot read the edit {edit!r}", fix='write {"replace": [old, new]} or {"call": "module:function"}'
    )


def _replace(node: Json, old: str, new: str) -> Json:
    if isinstance(node, str):
        return node.replace(old, new)
    if isinstance(node, dict):
        return {key: _replace(value, old, new) for key, value in node.items()}
    if isinstance(node, list):
        return [_replace(value, old, new) for value in node]
    return node
