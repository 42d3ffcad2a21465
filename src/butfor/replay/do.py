"""The do-operations: what is changed in a run before the rest of it happens again.

``do.resample(3)`` draws step 3 again; ``do.action(3, …)`` replaces what the policy decided there; ``do.observation``
what a tool returned; ``do.context`` what the policy saw; ``do.policy`` who decides from there on. They compose with
``&``, print as they are written, and compare by value. (Operations: Causal Agent Replay, arXiv 2606.08275.)
"""

from __future__ import annotations

import ast
import json
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

from butfor import canonical
from butfor.errors import InputError, NotFound
from butfor.runs import Value

if TYPE_CHECKING:
    from collections.abc import Callable

    from butfor.canonical import Json


@dataclass(frozen=True, kw_only=True)
class Operation:
    """One change at one step.

    Attributes:
        step: The step that it changes, 0-based.
    """

    name: ClassVar[str]
    step: int

    def arguments(self) -> dict[str, Json]:
        """Everything but the step, as JSON."""
        return {}

    def __str__(self) -> str:
        rest = "".join(f", {key}={canonical.encode(value)}" for key, value in self.arguments().items())
        return f"{self.name}({self.step}{rest})"


@dataclass(frozen=True, kw_only=True)
class Resample(Operation):
    """Draw a_k again from the unchanged policy."""

    name = "resample"


@dataclass(frozen=True, kw_only=True)
class Action(Operation):
    """Put another action in the place of a_k."""

    name = "action"
    action: Value

    def arguments(self) -> dict[str, Json]:
        """The action."""
        return {"action": self.action.get()}


@dataclass(frozen=True, kw_only=True)
class Observation(Operation):
    """Put another answer in the place of what a tool returned to step k."""

    name = "observation"
    value: Value
    call: int | str | None = None

    def arguments(self) -> dict[str, Json]:
        """The value, and which call it answers."""
        return {"value": self.value.get()} | ({} if self.call is None else {"call": self.call})


@dataclass(frozen=True, kw_only=True)
class Context(Operation):
    """Edit the history that step k sees, and every later request of that lane that contains it.

    Attributes:
        edit: ``{"replace": [old, new]}`` in all text, or ``{"call": "module:function"}`` on the request.
    """

    name = "context"
    edit: Value

    def arguments(self) -> dict[str, Json]:
        """The edit."""
        return {"edit": self.edit.get()}


@dataclass(frozen=True, kw_only=True)
class Policy(Operation):
    """Let another policy decide from step k on.

    Attributes:
        policy: ``{"set": {field: value}}`` on every request (another model's name), or ``{"call": "module:function"}``
            in place of the model.
    """

    name = "policy"
    policy: Value

    def arguments(self) -> dict[str, Json]:
        """The policy."""
        return {"policy": self.policy.get()}


@dataclass(frozen=True)
class Intervention:
    """Operations that happen together in one rollout; none of them is an untouched replay."""

    operations: tuple[Operation, ...] = ()

    def __and__(self, other: Intervention) -> Intervention:
        """Compose two interventions.

        Raises:
            InputError: Both set the same thing at the same step.
        """
        together = self.operations + other.operations
        places = [_place_of(each) for each in together if not isinstance(each, Resample)]
        for i, place in enumerate(places):
            if place in places[:i]:
                raise InputError(f"two operations set the {place[0]} of step {place[1]}", fix="keep one of them")
        return Intervention(together)

    def __str__(self) -> str:
        return " & ".join(str(each) for each in self.operations) or "nothing"

    def to_json(self) -> list[Json]:
        """Return the operations as JSON values."""
        return [{"op": each.name, "step": each.step, **each.arguments()} for each in self.operations]

    @classmethod
    def from_json(cls, document: list[Json]) -> Intervention:
        """Read what `to_json` gave."""
        result = cls()
        for each in document:
            fields = {key: value for key, value in each.items() if key != "op"}
            result = result & _make(str(each["op"]), fields)
        return result


nothing = Intervention()
"""The untouched replay."""


def resample(step: int) -> Intervention:
    """Draw the action of `step` again from the unchanged policy."""
    return _one(Resample(step=_checked(step)))


def action(step: int, action: Json) -> Intervention:
    """Put another action in the place of what the policy decided at `step`.

    Args:
        step: 0-based.
        action: A string (the policy answers with this text), ``{"tool": name, "arguments": {…}}``, a list of those,
            or a whole response in the recorded format.
    """
    return _one(Action(step=_checked(step), action=Value.of(action)))


def observation(step: int, value: Json, *, call: int | str | None = None) -> Intervention:
    """Put another answer in the place of what a tool returned to `step`.

    Args:
        step: 0-based.
        value: What the tool returns instead.
        call: Which of the step's calls: its position, or the tool's name; may be left out where there is one call.
    """
    return _one(Observation(step=_checked(step), value=Value.of(value), call=call))


def context(step: int, edit: Json | Callable[[Json], Json]) -> Intervention:
    """Edit the request that the policy sees at `step`.

    Args:
        step: 0-based.
        edit: ``{"replace": [old, new]}``, or a function of the request that can be imported by name.
    """
    return _one(Context(step=_checked(step), edit=Value.of(_by_name(edit, "an edit"))))


def policy(step: int, policy: Json | Callable[..., Any]) -> Intervention:
    """Let another policy decide from `step` on.

    Args:
        step: 0-based.
        policy: A model's name, ``{"set": {…}}`` of request fields, or a function that can be imported by name and
            takes what the recorded model took.
    """
    if isinstance(policy, str):
        policy = {"call": policy} if ":" in policy and "/" not in policy else {"set": {"model": policy}}
    return _one(Policy(step=_checked(step), policy=Value.of(_by_name(policy, "a policy"))))


_MAKERS: dict[str, Callable[..., Intervention]] = {
    "resample": resample,
    "action": action,
    "observation": observation,
    "context": context,
    "policy": policy,
}


def parse(text: str, *, folder: Path | None = None) -> Intervention:
    """Read operations as they are written: ``observation(2, @new.json) & resample(4)``.

    Args:
        text: Operations joined by ``&``; values are Python or JSON literals, or ``@FILE`` holding JSON.
        folder: Where ``@FILE`` is looked for; the current folder by default.

    Raises:
        InputError: The text is not an operation; the message says which part.
    """
    source, files = _take_files(text, folder or Path())
    try:
        tree = ast.parse(source.strip(), mode="eval").body
    except SyntaxError:
        raise InputError(f"cannot read the operation {text!r}", fix=_HINT) from None
    result = nothing
    for call in _conjuncts(tree):
        result = result & _from_call(call, files, text)
    return result


_HINT = "write for example 'resample(3)' or 'observation(2, @new.json)'"


def _conjuncts(tree: ast.expr) -> list[ast.expr]:
    if isinstance(tree, ast.BinOp) and isinstance(tree.op, ast.BitAnd):
        return [*_conjuncts(tree.left), *_conjuncts(tree.right)]
    return [tree]


def _from_call(call: ast.expr, files: dict[str, Json], text: str) -> Intervention:
    if not isinstance(call, ast.Call):
        raise InputError(f"cannot read the operation {text!r}", fix=_HINT)
    name = call.func.attr if isinstance(call.func, ast.Attribute) else getattr(call.func, "id", "?")
    if name not in _MAKERS:
        raise NotFound(f"there is no operation {name!r}", fix=f"choose one of {', '.join(_MAKERS)}")
    try:
        positional = [_literal(argument, files) for argument in call.args]
        named = {keyword.arg: _literal(keyword.value, files) for keyword in call.keywords if keyword.arg}
        return _MAKERS[name](*positional, **named)
    except (TypeError, ValueError) as error:
        if isinstance(error, InputError):
            raise
        raise InputError(f"cannot read the arguments of {name} in {text!r} ({error})", fix=_HINT) from None


def _literal(node: ast.expr, files: dict[str, Json]) -> Json:
    if isinstance(node, ast.Name) and node.id in files:
        return files[node.id]
    return ast.literal_eval(_JsonWords().visit(node))


class _JsonWords(ast.NodeTransformer):
    """Reads JSON's three words as Python's, so that a pasted JSON value is a literal."""

    words: ClassVar[dict[str, bool | None]] = {"true": True, "false": False, "null": None}

    def visit_Name(self, node: ast.Name) -> ast.expr:
        return ast.Constant(self.words[node.id]) if node.id in self.words else node


def _take_files(text: str, folder: Path) -> tuple[str, dict[str, Json]]:
    """Replace each ``@FILE`` outside quotes by a name that stands for its JSON content."""
    files: dict[str, Json] = {}
    out: list[str] = []
    quote, i = "", 0
    while i < len(text):
        char = text[i]
        if quote:
            out.append(text[i : i + 2] if char == "\\" else char)
            i += 2 if char == "\\" else 1
            quote = "" if char == quote else quote
            continue
        if char == "@":
            end = i + 1
            while end < len(text) and text[end] not in ",) \t&":
                end += 1
            name = f"_file{len(files)}"
            files[name] = _read_json(folder / text[i + 1 : end])
            out.append(name)
            i = end
            continue
        quote = char if char in "'\"" else ""
        out.append(char)
        i += 1
    return "".join(out), files


def _read_json(path: Path) -> Json:
    try:
        return json.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise NotFound(f"cannot read {path} ({error.strerror})", fix="check the path after @") from None
    except ValueError as error:
        raise InputError(f"{path} is not JSON ({error})") from None


def _make(name: str, fields: dict[str, Json]) -> Intervention:
    if name not in _MAKERS:
        raise NotFound(f"there is no operation {name!r}", fix=f"choose one of {', '.join(_MAKERS)}")
    return _MAKERS[name](**fields)


def _one(operation: Operation) -> Intervention:
    return Intervention((operation,))


def _checked(step: Json) -> int:
    if isinstance(step, bool) or not isinstance(step, int) or step < 0:
        raise InputError(f"a step is a number from 0, not {step!r}")
    return step


def _by_name(thing: Json | Callable[..., Any], what: str) -> Json:
    if not callable(thing):
        return thing
    name = f"{getattr(thing, '__module__', '?')}:{getattr(thing, '__qualname__', '?')}"
    if "<" in name or "?" in name:
        raise InputError(
            f"{what} must be a function that can be imported by name, not {name}", fix="define it at module level"
        )
    return {"call": name}


def _place_of(operation: Operation) -> tuple[str, int, object]:
    return operation.name, operation.step, getattr(operation, "call", None)
