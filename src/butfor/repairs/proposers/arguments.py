"""Structured edits of a step's tool calls: another value, a flag turned, another tool for the same arguments."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from butfor import canonical
from butfor.repairs.edits import key_of, path_distance, same_action
from butfor.repairs.edits.actions import is_call
from butfor.repairs.proposal import Proposal

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from butfor.canonical import Json
    from butfor.repairs.proposal import Failure

# Values from the history that are tried in one argument.
MOST_VALUES = 4
LONGEST_VALUE = 200

_TYPES: dict[str, tuple[type, ...]] = {
    "string": (str,),
    "integer": (int,),
    "number": (int, float),
    "boolean": (bool,),
    "array": (list,),
    "object": (dict,),
}


class ArgumentEdits:
    """Edits of tool calls, the smallest first. They need no model and know no gold answer.

    What is tried for a call: another offered tool that takes its arguments; every other value of an argument's
    enumeration; a boolean turned; an optional argument left out; a value of the same type from the task or from what
    tools returned before; and, where the step makes several calls, one call less.
    """

    def propose(self, failure: Failure, step: int, count: int) -> Sequence[Proposal]:
        """Return up to `count` edits of a step's calls; a step without a call has none."""
        factual = failure.actions[step]
        parts = factual if isinstance(factual, list) else [factual]
        found: dict[str, Proposal] = {}
        for position, part in enumerate(parts):
            if is_call(part):
                for edited, rule in _edits(part, failure, step):
                    kept = [*parts[:position], *([] if edited is None else [edited]), *parts[position + 1 :]]
                    if not kept:
                        continue
                    action = kept[0] if len(kept) == 1 else kept
                    if not same_action(action, factual):
                        proposal = Proposal(step=step, action=action, source="argument_edit", origin={"rule": rule})
                        found.setdefault(key_of(action), proposal)
        return sorted(found.values(), key=lambda each: path_distance(factual, each.action))[:count]


def _edits(call: dict[str, Json], failure: Failure, step: int) -> Iterator[tuple[Json, str]]:
    arguments = call.get("arguments", {})
    if not isinstance(arguments, dict):
        return
    for name, schema in failure.tools.items():
        if name != call["tool"] and (fitting := _fitting(arguments, schema)) is not None:
            yield {"tool": name, "arguments": fitting}, "another tool"
    schema = failure.tools.get(call["tool"], {})
    for name, value in arguments.items():
        for new, rule in _values(name, value, schema, failure, step):
            yield {"tool": call["tool"], "arguments": arguments | {name: new}}, f"{rule} of {name}"
        if isinstance(schema, dict) and schema and name not in schema.get("required", []):
            rest = {key: kept for key, kept in arguments.items() if key != name}
            yield {"tool": call["tool"], "arguments": rest}, f"{name} left out"
    yield None, "one call less"


def _values(name: str, value: Json, schema: Json, failure: Failure, step: int) -> Iterator[tuple[Json, str]]:
    told = _property(schema, name)
    yield from ((each, "another choice") for each in told.get("enum", []) if each != value)
    if isinstance(value, bool):
        yield not value, "the other truth value"
        return
    if isinstance(value, str | int | float) and "enum" not in told:
        seen = [each for each in _leaves(_history(failure, step)) if type(each) is type(value) and each != value]
        allowed = [each for each in dict.fromkeys(seen) if _is_allowed(each, told)]
        # What was seen last is nearest to the decision.
        yield from ((each, "a value seen before, instead") for each in allowed[::-1][:MOST_VALUES])


def _fitting(arguments: Mapping[str, Json], schema: Json) -> dict[str, Json] | None:
    """Keep the arguments that another tool takes; None where it needs one that is not there."""
    if not isinstance(schema, dict) or "properties" not in schema:
        return None
    known = schema["properties"]
    fitting = {name: value for name, value in arguments.items() if name in known and _is_allowed(value, known[name])}
    enough = all(name in fitting for name in schema.get("required", []))
    return fitting if enough and fitting else None


def _property(schema: Json, name: str) -> dict[str, Any]:
    properties = schema.get("properties", {}) if isinstance(schema, dict) else {}
    told = properties.get(name, {})
    return told if isinstance(told, dict) else {}


def _is_allowed(value: Json, told: Json) -> bool:
    """Check a value against the parts of a JSON Schema that matter here: type, enum, pattern."""
    if not isinstance(told, dict):
        return True
    kinds = _TYPES.get(str(told.get("type")))
    if kinds and (not isinstance(value, kinds) or (isinstance(value, bool) and bool not in kinds)):
        return False
    if "enum" in told and value not in told["enum"]:
        return False
    pattern = told.get("pattern")
    return not (isinstance(pattern, str) and isinstance(value, str)) or re.search(pattern, value) is not None


def _history(failure: Failure, step: int) -> Json:
    """Return what was there before a step decided: the task, and what tools had returned."""
    return [failure.task, [list(each) for each in failure.observations[:step]]]


def _leaves(value: Json) -> Iterator[Json]:
    if isinstance(value, dict):
        for inner in value.values():
            yield from _leaves(inner)
    elif isinstance(value, list | tuple):
        for inner in value:
            yield from _leaves(inner)
    elif isinstance(value, str):
        yield from _of_text(value)
    elif isinstance(value, int | float):
        yield value


def _of_text(text: str) -> Iterator[Json]:
    """Yield a short text itself, what JSON in it holds, and the numbers and codes that it names."""
    if text[:1] in ("{", "["):
        try:
            yield from _leaves(canonical.decode(text))
        except ValueError:
            pass
        else:
            return
    if len(text) <= LONGEST_VALUE:
        yield text
    for word in re.findall(r"[A-Za-z]*\d[\w-]*(?:\.\d+)?", text):
        yield word
        if re.fullmatch(r"-?\d{1,15}", word):
            yield int(word)
        elif re.fullmatch(r"-?\d{1,15}\.\d+", word):
            yield float(word)
